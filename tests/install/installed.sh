#!/bin/bash
# installed.sh SOURCES BUILD: installs, moves the tree to another folder, and checks it there.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
meson install -C "$2" --no-rebuild --quiet --strip --destdir "$work/staged"
mv "$(realpath "$(find "$work/staged" -path '*/share/doc' -type d)/../..")" "$work/moved"
bash "$1/tests/install/tree.sh" "$work/moved" "$1" "$2"
