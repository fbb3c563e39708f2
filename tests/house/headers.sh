#!/bin/sh
# headers.sh COMPILER...: each header of the SDK compiles alone, without a warning, under each of the compilers.
set -eu
sdk=$(dirname "$(realpath "$0")")/../../core/sdk
status=0
for compiler; do
  for header in "$sdk"/dlhost/*.h; do
    echo "#include <dlhost/${header##*/}>" |
      "$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I"$sdk" -I"$DLHOST_GENERATED" -x c++ - ||
      { echo "<dlhost/${header##*/}> does not compile alone with $compiler"; status=1; }
  done
done
exit $status
