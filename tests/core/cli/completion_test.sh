#!/bin/bash
# completion_test.sh DLHOST COMPLETION: tests whether bash completes the existing commands and options.
set -euo pipefail
PATH="$(dirname "$(realpath "$1")"):$PATH"
# shellcheck source=docs/completion/dlhost.bash
. "$2"

expect() { # WORDS_EXPECTED WORD...: a command line, with the last word incomplete
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
expect 'convolution' inspect conv
expect 'updater' new upd
expect 'validation' eval --phase val
expect 'train.batch=' run job.toml --set train.ba
expect '--set=train.batch=' run job.toml --set=train.ba # zsh and fish do not split words
expect 'train.batch=' run job.toml --set = train.ba     # bash splits them
expect 'partial' run job.toml --set train.last_batch = p
expect 'train.last_batch=partial' run job.toml --set train.last_batch=p
expect 'ref' run job.toml --set train.device = re
expect 'safetensors' export --format s

cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
mkdir -p runs/digits-1 runs/other
printf '[[layer]]\nname = "fc1"\ntype = "dense"\nsrc = "data"\nunits = 3\n' | tee job.toml >runs/digits-1/job.toml
expect 'runs/digits-1' eval runs/
expect 'layer.fc1.units=' run job.toml --set layer.fc1.un
expect 'updater.type=adamax' run job.toml --set updater.type=adamax

# The files for fish and zsh need these shells; they call the same command as the tests above.
