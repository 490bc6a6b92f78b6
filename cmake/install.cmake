# `cmake --install`: the program, the library for find_package(fovea), recipes and models; and a .deb of all that (cpack).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

get_property(rooms GLOBAL PROPERTY FOVEA_ROOMS)
set_target_properties(fovea_options PROPERTIES EXPORT_NAME options)
install(TARGETS ${rooms} fovea_options EXPORT fovea ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/fovea)
install(DIRECTORY src/ DESTINATION include/fovea FILES_MATCHING PATTERN "*.h" PATTERN "cpu" EXCLUDE PATTERN "cuda" EXCLUDE
  PATTERN "reference" EXCLUDE)
install(FILES src/tensor/cuda.h DESTINATION include/fovea/tensor)
install(EXPORT fovea NAMESPACE fovea:: FILE fovea-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
configure_package_config_file(cmake/fovea-config.cmake.in "${CMAKE_BINARY_DIR}/fovea-config.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/fovea-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/fovea-config.cmake" "${CMAKE_BINARY_DIR}/fovea-config-version.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
install(DIRECTORY recipes models DESTINATION share/fovea)
install(DIRECTORY docs/ DESTINATION share/doc/fovea)
install(DIRECTORY examples/embed DESTINATION share/doc/fovea/examples)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION share/doc/fovea)

# A man page and completions, from what the program says about itself.
install(CODE "
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(MAKE_DIRECTORY \"\${prefix}/share/man/man1\" \"\${prefix}/share/bash-completion/completions\")
  foreach(made \"man;share/man/man1/fovea.1\" \"bash;share/bash-completion/completions/fovea\")
    list(GET made 0 what)
    list(GET made 1 where)
    execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${CMAKE_SOURCE_DIR}/tools/reference.py\"
      \"${CMAKE_BINARY_DIR}/fovea\" \${what} \"\${prefix}/\${where}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "Fovea's maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-dejavu-core, fonts-wqy-microhei")  # for pictures
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
include(CPack)
