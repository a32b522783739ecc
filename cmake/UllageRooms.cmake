# One static library per folder of src/ ("room"). Sources are picked up by name, so adding a file needs no edit here.

add_library(ullage_options INTERFACE)
target_include_directories(ullage_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
# No contraction: a value's bits must not depend on what the compiler happens to fuse.
target_compile_options(ullage_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers -ffp-contract=off
  $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>)
if(ULLAGE_SANITIZE)
  target_compile_options(ullage_options INTERFACE -fsanitize=${ULLAGE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(ullage_options INTERFACE -fsanitize=${ULLAGE_SANITIZE})
endif()

function(ullage_room path)
  cmake_parse_arguments(ROOM "" "" "DEPS" ${ARGN})
  string(REPLACE "/" "_" name ${path})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${path}/*.cpp)
  if(sources)
    add_library(ullage_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(ullage_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(ullage_${name} ${scope} ullage_options)
  foreach(dep ${ROOM_DEPS})
    if(dep MATCHES "::")
      target_link_libraries(ullage_${name} ${scope} ${dep})
    else()
      target_link_libraries(ullage_${name} ${scope} ullage_${dep})
    endif()
  endforeach()
  # A room may need more than sources, e.g. to find its libraries.
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/${path}/room.cmake)
    include(${PROJECT_SOURCE_DIR}/src/${path}/room.cmake)
  endif()
endfunction()

# A shared library of a room and all below it, lib/lib<output>.so, that exports what exports.map of
# the room names. Called by the room's room.cmake.
function(ullage_shared_library target room output)
  set(exports ${PROJECT_SOURCE_DIR}/src/${room}/exports.map)
  add_library(${target} SHARED $<TARGET_OBJECTS:ullage_${room}>)
  target_link_libraries(${target} PRIVATE ullage_driver ullage_precompiled)
  target_link_options(${target} PRIVATE LINKER:--version-script=${exports}
    LINKER:--exclude-libs,ALL LINKER:-Bsymbolic LINKER:--no-undefined)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${output}
    LINKER_LANGUAGE CXX
    LINK_DEPENDS ${exports}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
endfunction()

# test/<path>/*_test.cpp become one GoogleTest binary, registered with ctest.
function(ullage_tests path)
  string(REPLACE "/" "_" name ${path})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/${path}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE ullage_${name} ${ARGN} GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/test)
  target_compile_definitions(test_${name} PRIVATE ULLAGE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${path} COMMAND test_${name})
endfunction()
