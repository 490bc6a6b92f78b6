#!/bin/sh
# Installs onnxruntime in FOLDER, if npm can, and compares exported models with our own engine in it.
#
# usage: check_runtime.sh CASES FOLDER
#
# Exits with 77, and says why, where Node or the package is not to be had.
set -eu
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "there is no Node and npm"
  exit 77
fi
if [ ! -d "$2/node_modules/onnxruntime-node" ]; then
  mkdir -p "$2"
  # Without scripts: the package contains its CPU library, and a script would download that for cards.
  if ! timeout 200 npm install --ignore-scripts --no-audit --no-fund --silent --prefix "$2" onnxruntime-node@1.30.0; then
    echo "npm cannot install onnxruntime-node"
    exit 77
  fi
fi
exec node "$(dirname "$0")/check_runtime.mjs" "$1" "$2"
