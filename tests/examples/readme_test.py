#!/usr/bin/env python3
"""readme_test.py DLHOST SOURCES BUILD: runs the commands of README.md from `Five minutes` on, unchanged and in order,
in a folder with only the examples, as a user without own plugins."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

INTERRUPTED = 130
dlhost, sources, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
for tool in os.environ.get("CXX", "c++").split()[-1], "meson", "ninja", "pkg-config", "rsvg-convert":
    if not shutil.which(tool):
        print(f"skipped: {tool} is missing")
        sys.exit(77)  # Meson counts 77 as skipped


def is_stopped(line: str) -> bool:
    """The README has the reader stop this command by Ctrl-C."""
    return "epochs=1000" in line


def call(line: str, folder: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """Returns the folder for the next line."""
    print(f"+ {line}", flush=True)
    known = len(list(folder.glob("runs/*/metrics.jsonl")))
    shell = subprocess.Popen(["bash", "-c", f"{line}\nended=$?; pwd >{work}/where; exit $ended"], cwd=folder,
                             start_new_session=True)
    if is_stopped(line):
        until = time.monotonic() + 120
        while len(list(folder.glob("runs/*/metrics.jsonl"))) <= known and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(0.5)
        os.killpg(shell.pid, signal.SIGINT)
    try:
        status = shell.wait(240)
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGKILL)
    assert status in ((INTERRUPTED, -signal.SIGINT) if is_stopped(line) else (0,)), f"{line}: exit code {status}"
    return folder if is_stopped(line) else pathlib.Path((work / "where").read_text().strip())


text = (sources / "README.md").read_text()
blocks = re.findall(r"^```\n(.*?)^```$", text[text.index("## Five minutes"):], re.MULTILINE | re.DOTALL)
assert len(blocks) > 4, "the README has no commands"
with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    shutil.copytree(sources / "examples", work / "examples", ignore=shutil.ignore_patterns("data", "runs", "build"))
    os.environ |= {"HOME": folder, "PATH": f"{dlhost.parent}:{os.environ['PATH']}",
                   "PKG_CONFIG_PATH": f"{build}/meson-uninstalled"}
    os.environ.pop("XDG_DATA_HOME", None)
    where = work
    for block in blocks:
        for line in block.splitlines():
            where = call(line, where, work)
    for made in "curves.png", "classes.csv", "net.npz":
        assert (work / made).stat().st_size > 0, made
