# Is read by cpack when it makes packages: python3-fovea is one of them if the module is built by then.
file(GLOB module "${CPACK_FOVEA_PYTHON_FOLDER}/_fovea.*.so")
if(module)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
