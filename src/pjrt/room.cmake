# The plugin that jaxlib loads; it exports one symbol.
target_compile_definitions(ullage_pjrt PRIVATE ULLAGE_VERSION="${PROJECT_VERSION}")
ullage_shared_library(ullage_pjrt_plugin pjrt ullage_pjrt)
