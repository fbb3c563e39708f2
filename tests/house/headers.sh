#!/bin/sh
# headers.sh FOLDER COMPILER: each header of the SDK compiles alone, without a warning. Where ccache is installed, it
# keeps the results; it needs files of the same names as the last time, in the folder.
set -eu
sdk=$(dirname "$(realpath "$0")")/../../core/sdk
folder=$1 compiler=$2
cached=
if command -v ccache >/dev/null; then cached=ccache; fi
mkdir -p "$folder"
status=0
for header in "$sdk"/dlhost/*.h; do
  name=${header##*/}
  echo "#include <dlhost/$name>" >"$folder/$name.cpp"
  $cached "$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I"$sdk" -I"$DLHOST_GENERATED" \
    "$folder/$name.cpp" || { echo "<dlhost/$name> does not compile alone with $compiler"; status=1; }
done
exit $status
