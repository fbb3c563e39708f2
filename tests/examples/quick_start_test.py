#!/usr/bin/env python3
"""quick_start_test.py DLHOST JOB PLUGIN...: the quick-start needs only the plugins that `./dev run` builds first."""
import os
import pathlib
import subprocess
import sys
import tempfile

dlhost, job, *plugins = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:])
# The folder is a sibling of the plugins' own, so that relative paths to their libraries hold.
beside = pathlib.Path(plugins[0]).parents[1]
with tempfile.TemporaryDirectory(prefix="quick-start-", dir=beside) as folder:
    for plugin in plugins:
        path = pathlib.Path(plugin)
        (pathlib.Path(folder) / path.name).symlink_to(path)
    words = [dlhost, "run", job, "--set=train.stop.epochs=1", f"--set=record.folder={folder}/runs"]
    done = subprocess.run(words, env=os.environ | {"DLHOST_PLUGIN_PATH": folder}, timeout=60)
sys.exit(done.returncode)
