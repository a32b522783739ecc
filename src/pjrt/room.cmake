# The plugin that jaxlib loads: the room and all below it in one shared library that exports one
# symbol.
target_compile_definitions(ullage_pjrt PRIVATE ULLAGE_VERSION="${PROJECT_VERSION}")
add_library(ullage_pjrt_plugin SHARED $<TARGET_OBJECTS:ullage_pjrt>)
target_link_libraries(ullage_pjrt_plugin PRIVATE ullage_driver)
target_link_options(ullage_pjrt_plugin PRIVATE
  LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/src/pjrt/exports.map
  LINKER:--exclude-libs,ALL LINKER:-Bsymbolic LINKER:--no-undefined)
set_target_properties(ullage_pjrt_plugin PROPERTIES
  OUTPUT_NAME ullage_pjrt
  LINKER_LANGUAGE CXX
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/pjrt/exports.map
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
