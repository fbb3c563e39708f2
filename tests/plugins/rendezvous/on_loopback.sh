#!/bin/sh
# CONFORM PLUGIN [OPTION...]: the suite of an embedded rendezvous, at an address that hardly any other test uses: all of
# 127.0.0.0/8 is this machine.
set -eu
conform=$1
plugin=$2
shift 2
exec "$conform" "$plugin" --set "at=\"127.$(($$ % 199 + 1)).$(($$ / 199 % 199 + 1)).7:47100\"" "$@"
