# What a wheel carries beside the Python packages: the plugin beside the module that JAX loads, the command, and for C++ the
# public headers, their library and a CMake package that finds both. The same rules serve `cmake --install`.
include(CMakePackageConfigHelpers)

if(SKBUILD)
  set(package_dir jax_plugins/ullage)
  set(data_dir ullage)
  set(bin_dir ${SKBUILD_SCRIPTS_DIR})
else()
  set(package_dir lib)
  set(data_dir .)
  set(bin_dir bin)
endif()
install(TARGETS ullage_pjrt_plugin LIBRARY DESTINATION ${package_dir} COMPONENT wheel)
install(TARGETS ullage RUNTIME DESTINATION ${bin_dir} COMPONENT wheel)
install(TARGETS ullage_shared LIBRARY DESTINATION ${data_dir}/lib COMPONENT wheel)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${data_dir}/include COMPONENT wheel)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/UllageConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/UllageConfig.cmake INSTALL_DESTINATION ${data_dir}/cmake)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/UllageConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/UllageConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/UllageConfigVersion.cmake
  DESTINATION ${data_dir}/cmake COMPONENT wheel)
