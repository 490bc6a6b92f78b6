# Installs the library for find_package(fovea), recipes, models, documents and, if it is built, the program. cpack makes
# a Debian package of all that.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY FOVEA_ROOMS)
install(TARGETS ${rooms} fovea_all fovea_options EXPORT fovea ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/fovea)
install(DIRECTORY "${PROJECT_BINARY_DIR}/include/fovea" DESTINATION include)
install(EXPORT fovea NAMESPACE fovea:: FILE fovea-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
configure_package_config_file(cmake/fovea-config.cmake.in "${PROJECT_BINARY_DIR}/fovea-config.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/fovea-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/fovea-config.cmake" "${PROJECT_BINARY_DIR}/fovea-config-version.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
install(DIRECTORY recipes models DESTINATION share/fovea)
install(DIRECTORY docs/ DESTINATION share/doc/fovea)
install(DIRECTORY examples/embed DESTINATION share/doc/fovea/examples)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION share/doc/fovea)

# The man page and the completions are generated from the program's own help.
if(FOVEA_PROGRAM)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  install(TARGETS fovea)
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    file(MAKE_DIRECTORY \"\${prefix}/share/man/man1\" \"\${prefix}/share/bash-completion/completions\")
    foreach(made \"man;share/man/man1/fovea.1\" \"bash;share/bash-completion/completions/fovea\")
      list(GET made 0 what)
      list(GET made 1 where)
      execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/tools/reference.py\"
        \"${PROJECT_BINARY_DIR}/fovea\" \${what} \"\${prefix}/\${where}\" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # an install does not build the tests
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_CONTACT "Fovea's maintainers")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  if(TARGET PkgConfig::rsvg)  # loaded at run time, so that the search for shared libraries does not find it
    set(CPACK_DEBIAN_PACKAGE_DEPENDS librsvg2-2)
  endif()
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-dejavu-core, fonts-wqy-microhei")  # for pictures
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_STRIP_FILES ON)
  include(CPack)
endif()
