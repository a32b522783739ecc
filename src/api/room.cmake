# What C++ programs link: the room and all below it in one shared library.
add_library(ullage_shared SHARED $<TARGET_OBJECTS:ullage_api>)
target_link_libraries(ullage_shared PRIVATE ullage_driver)
target_link_options(ullage_shared PRIVATE
  LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/src/api/exports.map
  LINKER:--exclude-libs,ALL LINKER:-Bsymbolic LINKER:--no-undefined)
set_target_properties(ullage_shared PROPERTIES
  OUTPUT_NAME ullage
  LINKER_LANGUAGE CXX
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/api/exports.map
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
