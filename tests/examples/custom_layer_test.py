#!/usr/bin/env python3
"""custom_layer_test.py DLHOST SOURCES BUILD: follows the README of examples/custom-layer.

The layer is built outside of the tree against `pkg-config dlhost`, passes its own suite, is installed into the user's
plugin folder, and serves a job at once.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

dlhost, sources, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
for tool in os.environ.get("CXX", "c++").split()[-1], "meson", "ninja", "pkg-config":
    if not shutil.which(tool):
        print(f"skipped: {tool} is missing")
        sys.exit(77)  # Meson counts 77 as skipped
os.environ["PKG_CONFIG_PATH"] = f"{build}/meson-uninstalled"
os.environ["PATH"] = f"{dlhost.parent}:{os.environ['PATH']}"


def run(*words: str | pathlib.Path, expected: int = 0) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=240)
    assert done.returncode == expected, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as work:
    os.environ["XDG_DATA_HOME"] = work
    built, plugins, runs = (pathlib.Path(work) / name for name in ("build", "dlhost/plugins", "runs"))
    job = sources / "examples/custom-layer/job.toml"
    train = "dlhost", "run", job, "--set=train.stop.epochs=20", f"--set=record.folder={runs}"

    assert "unknown layer 'prelu'" in run(*train, expected=1)
    run("meson", "setup", built, sources / "examples/custom-layer")
    run("meson", "compile", "-C", built)
    run("meson", "test", "-C", built)
    plugins.mkdir(parents=True)
    shutil.copy(built / "prelu.so", plugins)
    run(*train)
    summary = json.loads(next(runs.glob("*/summary.json")).read_text())
    assert summary["status"] == "done" and summary["test"]["accuracy"] > 0.9, summary
