#!/bin/bash
# tree.sh PREFIX SOURCES BUILD: checks that an installed tree works alone, in any folder. PREFIX holds bin/, lib/, ...;
# SOURCES is the repository (for the test of new plugins only); BUILD is the build folder, which the tree must not need.
set -euo pipefail
prefix=$(realpath "$1") sources=$2 build=$(realpath "$3")

# If the kernel allows it, an own mount namespace hides the build folder.
if [ -z "${DLHOST_HIDDEN-}" ]; then
  # shellcheck disable=SC2016 # for the inner shell
  hidden=(unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none "$0" && exec "$@"' "$build")
  if "${hidden[@]}" true 2>/dev/null; then
    DLHOST_HIDDEN=1 exec "${hidden[@]}" bash "$0" "$prefix" "$sources" "$build"
  fi
  echo "the build folder $build stays in sight: this system gives no mount namespace." \
    "What the tree takes from there is not noticed." >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
clean=(env -i PATH="$prefix/bin:/usr/bin:/bin" HOME="$work" LC_ALL=C)

# No file contains the build folder's path.
if grep -rlF -- "$build" "$prefix"; then fail "these files name the build folder"; fi

# Each library finds its dependencies.
while read -r file; do
  if ldd "$file" 2>/dev/null | grep 'not found'; then fail "$file does not find its libraries"; fi
done < <(find "$prefix" -type f \( -perm /111 -o -name '*.so*' \))

# A bundled library brings its licence.
if compgen -G "$prefix/lib*/*/dlhost/libdnnl.so*" "$prefix/lib*/dlhost/libdnnl.so*" >/dev/null; then
  [ -s "$prefix/share/doc/dlhost/onednn/LICENSE" ] || fail "oneDNN is bundled without its licence"
fi

# The program runs, is documented, and trains the tree's quick-start with the tree's plugins.
cp -r "$prefix/share/doc/dlhost/examples/digits" "$work/digits" || fail "there are no examples in share/doc/dlhost"
(cd "$work" && "${clean[@]}" dlhost --version && "${clean[@]}" dlhost run digits/job.toml --set train.stop.epochs=1) |
  tail -n 3 || fail "dlhost does not train the quick-start"
"${clean[@]}" dlhost examples | grep -F "dlhost run $prefix/share/doc/dlhost/examples/digits/job.toml" >/dev/null ||
  fail "dlhost does not find its examples"
if [ -d "$prefix/libexec/dlhost/bench" ]; then
  "${clean[@]}" dlhost bench transport --help >/dev/null || fail "dlhost bench does not find its programs"
fi
for page in man/man1/dlhost.1 bash-completion/completions/dlhost zsh/site-functions/_dlhost \
  doc/dlhost/{LICENSE,README.md,docs/{README,jobs,layers,plugin-authors}.md,examples/{README.md,custom-layer/meson.build}}; do
  [ -s "$prefix/share/$page" ] || [ -s "$prefix/share/$page.gz" ] || fail "there is no share/$page"
done

# A plugin builds against the tree: by pkg-config, and by CMake if it is installed.
pc=$(find "$prefix" -name dlhost.pc -printf '%h')
pkg() { "${clean[@]}" PKG_CONFIG_PATH="$pc" pkg-config "$@" dlhost; }
plugins=$(realpath -m "$(pkg --variable=plugindir)")
[[ $plugins == "$prefix"/* && -d $plugins ]] || fail "plugindir is $plugins (an older build folder? meson configure -Dpkgconfig.relocatable=true)"
[[ " $(pkg --cflags) " == *" -fno-gnu-unique "* ]] || fail "dlhost.pc lacks -fno-gnu-unique"
for header in "$prefix"/include/dlhost/*.h; do echo "#include <dlhost/${header##*/}>"; done >"$work/all.cpp"
read -ra flags <<<"$(pkg --cflags --libs)"
"${clean[@]}" g++ -std=c++20 -fPIC -shared -O0 "$work/all.cpp" -o "$work/all.so" "${flags[@]}"
if command -v cmake >/dev/null; then
  # shellcheck disable=SC2016 # for CMake
  printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' 'project(p CXX)' 'find_package(dlhost 0.1 CONFIG REQUIRED)' \
    'add_library(p MODULE all.cpp)' 'target_link_libraries(p PRIVATE dlhost::sdk)' \
    "add_executable(e $prefix/share/doc/dlhost/examples/predict/digits.cpp)" 'target_link_libraries(e dlhost::predict)' \
    'message(STATUS "plugins go to ${dlhost_PLUGINDIR}")' >"$work/CMakeLists.txt"
  "${clean[@]}" cmake -S "$work" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" || { cat "$work/log"; fail "CMake"; }
  "${clean[@]}" cmake --build "$work/cmake" --target e >"$work/built" || { cat "$work/built"; fail "CMake builds no program"; }
  grep -qF "plugins go to $plugins" "$work/log" || fail "CMake says another plugin folder than $plugins"
fi

# A predicting program builds against the tree, finds the tree's plugins from any folder, and needs no data.
read -ra flags <<<"$("${clean[@]}" PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs dlhost-predict)"
"${clean[@]}" g++ -std=c++20 -O1 "$prefix/share/doc/dlhost/examples/predict/digits.cpp" -o "$work/predicts" "${flags[@]}" \
  -Wl,-rpath,"$(realpath "$pc/..")"
rm "$work/digits/digits.csv.gz"
(cd "$work" && "${clean[@]}" ./predicts runs/digits-* "$prefix/share/doc/dlhost/examples/predict/seven.txt") |
  grep -E 'seven.txt: [0-9], probability' || fail "a program that was linked with libdlhost does not predict"

# A project of `dlhost new` builds against the tree and passes the installed suites. (Other tests try all kinds against
# the build folder; the suites of these kinds take different arguments.)
maker=$(dirname "$(command -v meson)") # Meson's folder, in any place
"${clean[@]}" PATH="$prefix/bin:$maker:/usr/bin:/bin" CXX="${CXX:-g++}" PKG_CONFIG_PATH="$pc" CMAKE_PREFIX_PATH="$prefix" \
  python3 "$sources/tests/core/cli/new_test.py" "$prefix/bin/dlhost" layer source device store || fail "a new project does not build or pass"
