#!/bin/sh
# Exported models in onnxruntime, which is installed in FOLDER if npm can: small random models are compared with our own
# engine, and examples/onnx decodes a shipped model as the program does.
#
# usage: check_runtime.sh CASES FOVEA REPOSITORY FOLDER
#
# Exits with 77, and says why, where Node or the package is not to be had.
set -eu
cases=$1 fovea=$2 repository=$3 folder=$4
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "there is no Node and npm"
  exit 77
fi
if [ ! -d "$folder/node_modules/onnxruntime-node" ]; then
  mkdir -p "$folder"
  # Without scripts: the package contains its CPU library, and a script would download that for cards.
  if ! timeout 200 npm install --ignore-scripts --no-audit --no-fund --silent --prefix "$folder" onnxruntime-node@1.30.0; then
    echo "npm cannot install onnxruntime-node"
    exit 77
  fi
fi
node "$repository/tests/onnx/check_runtime.mjs" "$cases" "$folder"

model=$repository/models/phonemes
rm -rf "$folder/phonemes"
"$fovea" export --format onnx -m "$model" -o "$folder/phonemes"
cp "$repository/examples/onnx/translate.mjs" "$folder"
tr ' ' '\n' <<END | sed 's/./& /g' >"$folder/words"
attention is all you need neural machine translation by jointly learning to align and translate show attend tell
effective approaches knowing when look sequence with networks weather umbrella philosophy rhythm a
END
node "$folder/translate.mjs" "$folder/phonemes" <"$folder/words" >"$folder/sounds"
"$fovea" translate -m "$model" --beam 1 --precision f32 <"$folder/words" | diff "$folder/sounds" -
echo "examples/onnx and fovea translate agree on $(wc -l <"$folder/words") words"
