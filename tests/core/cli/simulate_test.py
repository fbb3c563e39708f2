#!/usr/bin/env python3
"""simulate_test.py DLHOST: a run in virtual time is told, is the same from the same seed, and leaves nothing behind."""
import pathlib
import re
import subprocess
import sys
import tempfile

import several

DLHOST = str(pathlib.Path(sys.argv[1]).resolve())
JOB = several.JOB.replace("steps = 60", "steps = 20") + "[recovery]\nevery = { steps = 4 }\n"


def simulate(folder: pathlib.Path, *arguments: str) -> str:
    done = subprocess.run([DLHOST, "simulate", "job.toml", *arguments], cwd=folder, text=True, capture_output=True,
                          timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        (folder / "job.toml").write_text(JOB)
        told = simulate(folder, "--seed", "3", "--kills", "3")
        assert told == simulate(folder, "--seed", "3", "--kills", "3"), "one seed is one history"
        assert re.search(r"process \d+ \(worker \d\) is killed", told), told
        assert re.search(r"worker \d is gone: .*; the run goes on at step \d+", told), told
        assert re.search(r"^20 steps in [\d.]+ simulated s, [1-9] recoveries; history [0-9a-f]{16}$", told, re.M), told
        last = [text.splitlines()[-1] for text in (simulate(folder), simulate(folder, "--seed", "4"))]
        assert last[0] != last[1], "another seed is another history"
        assert "20 steps" in last[0] and " 0 recoveries" in last[0], last
        assert [path.name for path in folder.iterdir()] == ["job.toml"], "nothing is written"


main()
