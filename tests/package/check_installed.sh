#!/bin/sh
# Uses the installed library from outside: installs a build into an empty folder, compiles every public header alone,
# trains with an outside program, builds examples/embed and runs its programs with installed models.
#   check_installed.sh CMAKE BUILD SOURCE CXXFLAGS
set -eu
cmake=$1 built=$2 source=$3 flags=$4
most_headers=70 most_lines=5400  # one reads them in an evening

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix="$folder/prefix"
build() {  # build PROJECT NAME: against the installed library alone
  "$cmake" -S "$1" -B "$folder/$2" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="$flags" >"$folder/log" 2>&1 &&
    "$cmake" --build "$folder/$2" -j 2 >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
}

"$cmake" --install "$built" --prefix "$prefix" >/dev/null

cd "$prefix/include"
headers=$(find . -type f | wc -l) lines=$(find . -type f -exec cat {} + | wc -l)
echo "$headers public headers, $lines lines"
[ "$headers" -le $most_headers ] && [ "$lines" -le $most_lines ]
for internal in fovea/kernels/cpu fovea/kernels/cuda fovea/kernels/reference fovea/base/json.h fovea/view/svg_canvas.h; do
  [ ! -e "$internal" ] || { echo "$internal: an internal header is installed"; exit 1; }
done
if grep -rnE '#include "' .; then
  echo "expected public headers to include each other as <fovea/...>"
  exit 1
fi

build "$source/tests/package/outside" outside
build "$source/examples/embed" embed
cd "$folder"
"$folder/outside/outside" "$prefix/share/fovea/recipes/reverse.toml" "$folder/run"
said=$("$folder/embed/embed" "$prefix/share/fovea/models/en-zh" "I like apples.")
echo "$said"
echo "$said" | grep -q 苹果
tasks() { FOVEA_MODELS="$prefix/share/fovea/models" "$folder/embed/tasks" "$@"; }
tasks sentiment-en "a wonderful film" | tee "$folder/said"
head -n 1 "$folder/said" | grep -q "^positive"
tasks answer-zh "长城位于中国北部，全长两万多公里。" "长城有多长？" | tee "$folder/said"
grep -q 公里 "$folder/said"
"$prefix/bin/fovea" data shapes -n 2 --seed 1 --out "$folder/shapes" >/dev/null
tasks caption-en "$(find "$folder/shapes" -name '*.png' | head -n 1)"
"$prefix/bin/fovea" translate "I like apples." | grep -q 苹果
"$prefix/bin/fovea" --version
