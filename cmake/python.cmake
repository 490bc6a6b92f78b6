# Finds what the Python module needs: pybind11, and a Python with its headers. Sets FOVEA_BUILDS_PYTHON.
#
# The Python that Python_EXECUTABLE names is taken as it is. Otherwise it is the first of `python3` in the PATH and
# Debian's that has headers and numpy: a Python that was installed beside Debian's often has neither.
set(FOVEA_BUILDS_PYTHON OFF)
set(python_wanted ${FOVEA_PYTHON})
if(python_wanted STREQUAL AUTO AND (NOT PROJECT_IS_TOP_LEVEL OR FOVEA_SANITIZE))
  set(python_wanted OFF)  # a module cannot be loaded by a Python that is not sanitized, too
endif()
if(python_wanted)
  set(PYBIND11_NOPYTHON ON)  # only its headers are needed
  find_package(pybind11 CONFIG QUIET)
  if(NOT Python_EXECUTABLE)
    foreach(candidate python3 /usr/bin/python3)
      execute_process(RESULT_VARIABLE missing OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
        COMMAND ${candidate} -c "import numpy, os, sys, sysconfig
assert os.path.exists(sysconfig.get_path('include') + '/Python.h')
print(sys.executable)")
      if(NOT missing)
        set(Python_EXECUTABLE "${found}" CACHE FILEPATH "The Python that the module is built for")
        break()
      endif()
    endforeach()
  endif()
  if(pybind11_FOUND AND Python_EXECUTABLE)
    find_package(Python COMPONENTS Interpreter Development.Module)
  endif()
  if(pybind11_FOUND AND Python_Development.Module_FOUND)
    set(FOVEA_BUILDS_PYTHON ON)
    message(STATUS "The Python module is built for ${Python_EXECUTABLE} (${Python_VERSION})")
  elseif(python_wanted STREQUAL AUTO)
    message(STATUS "Without the Python module: it needs pybind11-dev, python3-dev and python3-numpy")
  else()
    message(FATAL_ERROR "FOVEA_PYTHON=ON: expected pybind11 (pybind11-dev) and a Python with headers and numpy "
      "(python3-dev, python3-numpy); Python_EXECUTABLE names another Python")
  endif()
endif()
