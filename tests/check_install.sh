#!/bin/sh
# The installed library in a project of its own: installs a build into an empty folder, builds examples/embed against it
# and translates with the models that were installed.
#   check_install.sh CMAKE BUILD SOURCE
set -eu
cmake=$1 build=$2 source=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder/prefix" >/dev/null
"$cmake" -S "$source/examples/embed" -B "$folder/embed" -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_CXX_FLAGS="$4" >/dev/null
"$cmake" --build "$folder/embed" >/dev/null
cd "$folder"
said=$("$folder/embed/embed" "$folder/prefix/share/fovea/models/en-zh" "I like apples.")
echo "$said"
echo "$said" | grep -q 苹果
"$folder/prefix/bin/fovea" translate "I like apples." | grep -q 苹果
"$folder/prefix/bin/fovea" --version
