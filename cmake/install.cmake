# Installs the library for find_package(fovea), recipes, models, documents and, if it is built, the program. cpack makes
# a Debian package of all that, and the package python3-fovea if the Python module is built.
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
    foreach(made \"reference.py;man;share/man/man1/fovea.1\"
        \"completions.py;bash;share/bash-completion/completions/fovea\"
        \"completions.py;zsh;share/zsh/vendor-completions/_fovea\"
        \"completions.py;fish;share/fish/vendor_completions.d/fovea.fish\")
      list(GET made 0 tool)
      list(GET made 1 what)
      list(GET made 2 where)
      get_filename_component(folder \"\${prefix}/\${where}\" DIRECTORY)
      file(MAKE_DIRECTORY \"\${folder}\")
      execute_process(COMMAND \"${Python3_EXECUTABLE}\" -B \"${PROJECT_SOURCE_DIR}/tools/\${tool}\"
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
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME fovea)
  set(CPACK_COMPONENTS_ALL Unspecified)
  if(FOVEA_BUILDS_PYTHON)  # models and recipes are in the package fovea
    math(EXPR next_minor "${Python_VERSION_MINOR} + 1")
    set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-fovea)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
    set(CPACK_DEBIAN_PYTHON_DESCRIPTION "${PROJECT_DESCRIPTION}: the Python module")
    set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next_minor}), python3-numpy")
    if(CPACK_DEBIAN_PACKAGE_DEPENDS)
      string(APPEND CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS ", ${CPACK_DEBIAN_PACKAGE_DEPENDS}")
    endif()
    set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "fovea (= ${PROJECT_VERSION})")
    set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/packages.cmake")
    set(CPACK_FOVEA_PYTHON_FOLDER "${PROJECT_BINARY_DIR}/python/fovea")
  endif()
  set(CPACK_STRIP_FILES ON)
  include(CPack)
endif()
