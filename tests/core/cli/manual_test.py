#!/usr/bin/env python3
"""manual_test.py DLHOST: the manual page contains the --help of each command, and is valid."""
import re
import shutil
import subprocess
import sys

dlhost = sys.argv[1]


def told(*words: str) -> str:
    return subprocess.run([dlhost, *words], capture_output=True, text=True, timeout=60, check=True).stdout


page = told("manual")
commands = re.findall(r"^  ([a-z]+) ", told("--help").partition("Subcommands:")[2].partition("\n\n")[0], re.M)
assert len(commands) > 15, commands
for command in commands:
    assert f"\n.SS \\fB{command}\\fR" in page, command
    if command in ("conform", "bench"):
        continue  # separate programs print their own help
    part = page.partition(f"\n.SS \\fB{command}\\fR")[2].partition("\n.SS ")[0].replace("\\-", "-")
    for option in set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", told(command, "--help"), re.M)) - {"--help"}:
        assert f"\\fB{option}\\fR" in part, f"{command} {option}"
for flag in "--help", "-h":
    assert "run a benchmark" in told("bench", flag), flag
if shutil.which("groff"):
    done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=page, capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr, done.stderr
