#!/bin/sh
# Builds the library inside another project with add_subdirectory, without CLI11 and Boost, and trains with it. Only the
# reference backend is built, because that is quick.
#   check_vendored.sh CMAKE SOURCE FOLDER CXXFLAGS LAUNCHER
set -eu
cmake=$1 source=$2 folder=$3 flags=$4 launcher=$5
"$cmake" -S "$source/tests/package/vendored" -B "$folder" -DFOVEA_SOURCE="$source" -DFOVEA_CPU=OFF -DFOVEA_WERROR=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"
"$cmake" --build "$folder" -j 2 --target parent
"$folder/parent"
