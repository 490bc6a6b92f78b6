# One static library per folder of src/. A room names its sources and the rooms below it.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(FOVEA_CUDA AND NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 13 has C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

add_library(fovea_options INTERFACE)
target_include_directories(fovea_options INTERFACE
  "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>" "$<INSTALL_INTERFACE:include/fovea>")
target_compile_features(fovea_options INTERFACE cxx_std_20)
set(host_options
  -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # g++ 12 sees an overlap in "text" + std::string that is not there (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Products and sums are contracted to fused multiply-adds only where a kernel asks for one, so that
  # the reference means the same on every machine.
  -ffp-contract=off
  $<$<BOOL:${FOVEA_WERROR}>:-Werror>)
set(card_options
  --expt-relaxed-constexpr
  -DFMT_USE_CONSTEXPR=1 -DFMT_CONSTEVAL=  # fmt 9 believes that nvcc has no constexpr
  --diag-suppress=177  # nvcc takes constants of a template that are used in other constants for unused
  -Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers
  $<$<BOOL:${FOVEA_WERROR}>:-Werror=all-warnings>)
# How we build, which is nobody else's business.
target_compile_options(fovea_options INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${host_options}>;$<$<COMPILE_LANGUAGE:CUDA>:${card_options}>>")
if(FOVEA_SANITIZE)
  target_compile_options(fovea_options INTERFACE -fsanitize=${FOVEA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(fovea_options INTERFACE -fsanitize=${FOVEA_SANITIZE})
endif()

# fovea_room(NAME SOURCES file... USES target...)
function(fovea_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(fovea_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(fovea_${name} PUBLIC fovea_options ${ROOM_USES})
  set_target_properties(fovea_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY FOVEA_ROOMS fovea_${name})
endfunction()
