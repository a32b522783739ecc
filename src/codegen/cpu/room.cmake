# LLVM. llvm-config-22 knows where the distribution keeps it.
find_program(LLVM_CONFIG_PROGRAM NAMES llvm-config-22 llvm-config)
set(llvm_hint "")
if(LLVM_CONFIG_PROGRAM)
  execute_process(COMMAND ${LLVM_CONFIG_PROGRAM} --cmakedir OUTPUT_VARIABLE llvm_hint
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
find_package(LLVM 22.1 CONFIG REQUIRED HINTS ${llvm_hint})
target_include_directories(ullage_codegen_cpu SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
target_compile_definitions(ullage_codegen_cpu PRIVATE ${llvm_definitions})
# Only what is used, from the archives: loading the whole shared library takes longer than compiling
# a small program. What the archives would need for parts that are not used stays out.
llvm_map_components_to_libnames(llvm_libraries ${LLVM_NATIVE_ARCH}codegen ${LLVM_NATIVE_ARCH}desc
  ${LLVM_NATIVE_ARCH}info executionengine runtimedyld core support)
target_link_libraries(ullage_codegen_cpu PRIVATE ${llvm_libraries})
target_link_options(ullage_codegen_cpu INTERFACE LINKER:--as-needed LINKER:--gc-sections)

# LAPACK: OpenBLAS, serial, because threads are Ullage's own.
find_library(ULLAGE_OPENBLAS openblas PATH_SUFFIXES openblas-serial REQUIRED)
target_link_libraries(ullage_codegen_cpu PRIVATE ${ULLAGE_OPENBLAS})
