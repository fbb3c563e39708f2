#!/bin/bash
# completion_test.sh DLHOST COMPLETION: does bash complete the commands and options that there are?
set -euo pipefail
PATH="$(dirname "$(realpath "$1")"):$PATH"
# shellcheck source=docs/completion/dlhost.bash
. "$2"

expect() { # WORDS_EXPECTED WORD...: of the command line, the last one is being typed
  local wanted=$1
  shift
  COMP_WORDS=(dlhost "$@") COMP_CWORD=$#
  _dlhost
  [ "${COMPREPLY[*]}" = "$wanted" ] || { echo "FAILED: dlhost $*: '${COMPREPLY[*]}', not '$wanted'" >&2; exit 1; }
}

expect 'inspect' in
expect '--resume' run --res
expect '--gtest_list_tests' conform --gtest_l
expect 'predict' --plugin-dir run pr
expect '' --plugin-dir ru # a folder: files
expect '' run ru          # a job: files
