# One static library per folder of src/. A room names its sources and the rooms below it.
#
# The compiler flags below apply to this project's own folders. A program that links a room gets only the public headers
# (cmake/public_headers.cmake), the language standard and the libraries.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(FOVEA_CUDA AND NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 13 has C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
if(NOT EMSCRIPTEN)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ${PROJECT_IS_TOP_LEVEL})

if(PROJECT_IS_TOP_LEVEL)  # the parent project chooses its own compiler launcher
  find_program(FOVEA_CCACHE ccache)
  if(FOVEA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${FOVEA_CCACHE}")
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${FOVEA_CCACHE}")
  endif()
endif()

set(host_options
  -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # g++ 12 warns of an overlap in "text" + std::string that does not exist (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Only kernels that ask for fused multiply-adds get them, so that the reference computes the same on every machine.
  -ffp-contract=off
  $<$<BOOL:${FOVEA_WERROR}>:-Werror>)
set(card_options
  --expt-relaxed-constexpr
  -DFMT_USE_CONSTEXPR=1 -DFMT_CONSTEVAL=  # fmt 9 assumes that nvcc has no constexpr
  --diag-suppress=177  # nvcc reports template constants as unused that other constants use
  -Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers
  $<$<BOOL:${FOVEA_WERROR}>:-Werror=all-warnings>)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${host_options}>" "$<$<COMPILE_LANGUAGE:CUDA>:${card_options}>")
include_directories("${PROJECT_SOURCE_DIR}/src")

add_library(fovea_options INTERFACE)
add_library(fovea::options ALIAS fovea_options)
set_target_properties(fovea_options PROPERTIES EXPORT_NAME options)
target_include_directories(fovea_options INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>" "$<INSTALL_INTERFACE:include>")
target_compile_features(fovea_options INTERFACE cxx_std_20)
if(FOVEA_SANITIZE)  # programs that link sanitized objects must be sanitized, too
  target_compile_options(fovea_options INTERFACE -fsanitize=${FOVEA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(fovea_options INTERFACE -fsanitize=${FOVEA_SANITIZE})
endif()

# fovea_room(NAME SOURCES file... USES target...): the library fovea::NAME
function(fovea_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(fovea_${name} STATIC ${ROOM_SOURCES})
  add_library(fovea::${name} ALIAS fovea_${name})
  target_link_libraries(fovea_${name} PUBLIC fovea_options ${ROOM_USES})
  set_target_properties(fovea_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY FOVEA_ROOMS fovea_${name})
endfunction()

# All rooms as one library, fovea::fovea.
function(fovea_whole_library)
  get_property(rooms GLOBAL PROPERTY FOVEA_ROOMS)
  add_library(fovea_all INTERFACE)
  add_library(fovea::fovea ALIAS fovea_all)
  target_link_libraries(fovea_all INTERFACE ${rooms})
  set_target_properties(fovea_all PROPERTIES EXPORT_NAME fovea)
endfunction()
