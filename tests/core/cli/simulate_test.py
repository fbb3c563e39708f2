#!/usr/bin/env python3
"""simulate_test.py DLHOST: `simulate` reports a run in virtual time, repeats it from its seed, and leaves no files."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import several

DLHOST = str(pathlib.Path(sys.argv[1]).resolve())
JOB = several.JOB.replace("steps = 60", "steps = 20") + "[recovery]\nevery = { steps = 4 }\n"


def run(folder: pathlib.Path, *arguments: str, job: str = "job.toml") -> subprocess.CompletedProcess:
    return subprocess.run([DLHOST, "simulate", job, *arguments], cwd=folder, text=True, capture_output=True, timeout=100)


def simulate(folder: pathlib.Path, *arguments: str) -> str:
    done = run(folder, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def what_was_measured_is_recorded(folder: pathlib.Path) -> None:
    simulate(folder, "--record", "recorded", "--set", 'train.device={ type = "ref", rate = 0.00002 }')
    lines = [json.loads(line) for line in (folder / "recorded/metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if line["phase"] == "train"]
    assert [line["step"] for line in steps] == list(range(1, 21)), lines
    seconds = [line["seconds"] for line in steps]
    assert seconds == sorted(seconds) and seconds[0] > 0, seconds
    assert lines[-1]["phase"] == "test" and 0 < lines[-1]["metrics"]["loss"], lines[-1]
    subprocess.run([DLHOST, "plot", "recorded", "-o", "curves.svg"], cwd=folder, check=True, capture_output=True, timeout=60)
    assert "<svg" in (folder / "curves.svg").read_text()


def what_fails_is_made_smaller(folder: pathlib.Path) -> None:
    failed = run(folder, "--seed", "3", "--faults", "kills=3", "--speeds", "1,0.5,1", "--shrink-to", "small.toml",
                 "--set", "recovery.restarts=0", "--set", 'train.device={ type = "ref", rate = 0.00002 }')
    assert failed.returncode == 1, failed.stdout
    again = re.search(r"^  dlhost simulate small.toml (.*)$", failed.stdout, re.M)
    assert again and re.search(r"kills=[12] --within .* --speeds 1,0\.5$", again[1]), failed.stdout
    small = (folder / "small.toml").read_text()
    assert re.search(r"^workers_per_group = 2$", small, re.M), small # of three, each with its own server
    assert re.search(r"^steps = [1-9]$", small, re.M), small
    replayed = run(folder, *again[1].split(), job="small.toml")
    assert replayed.returncode == 1 and "is killed" in replayed.stdout, replayed.stdout


def what_its_ledgers_say_counts(folder: pathlib.Path) -> None:
    """A disk loses the servers' ledger: the run ends, and its audit finds the missing lines."""
    missing = "are not written down"

    def kinds(said: str) -> set[str]:
        return {kind for kind in (missing, "lines are missing at its end") if kind in said}

    stopped = ("--faults", "stops=2", "--disk", "forgets", "--shrink-to", "forgotten.toml")
    for seed in map(str, range(1, 21)):
        whole = run(folder, "--seed", seed, *stopped[:2])
        assert whole.returncode == 0, whole.stdout + whole.stderr
        failed = run(folder, "--seed", seed, *stopped)
        if failed.returncode == 1 and missing in failed.stderr:
            break
    else:
        raise AssertionError("whatever was forgotten, the command has not failed for it")
    assert re.search(r"^20 steps in ", failed.stdout, re.M), failed.stdout
    again = re.search(r"^  dlhost simulate forgotten.toml (.*)$", failed.stdout, re.M)
    assert again and "--disk forgets" in again[1], failed.stdout
    replayed = run(folder, *again[1].split(), job="forgotten.toml")
    assert replayed.returncode == 1 and kinds(replayed.stderr) & kinds(failed.stderr), replayed.stdout + replayed.stderr
    wrong = run(folder, "--disk", "melts")
    assert wrong.returncode != 0 and "forgets" in wrong.stderr, wrong.stderr


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        (folder / "job.toml").write_text(JOB)
        told = simulate(folder, "--seed", "3", "--faults", "kills=3")
        assert told == simulate(folder, "--seed", "3", "--faults", "kills=3"), "one seed is one history"
        assert re.search(r"process \d+ \(worker \d\) is killed", told), told
        assert re.search(r"(worker \d is gone: .*|leader is gone, .*); the run goes on at step \d+", told), told
        assert re.search(r"^20 steps in [\d.]+ simulated s, [1-9] recoveries; history [0-9a-f]{16}$", told, re.M), told
        last = [text.splitlines()[-1] for text in (simulate(folder), simulate(folder, "--seed", "4"))]
        assert last[0] != last[1], "another seed is another history"
        assert "20 steps" in last[0] and " 0 recoveries" in last[0], last
        without = simulate(folder, "--seed", "3", "--faults", "cuts=3")
        assert re.search(r"^20 steps in .* [1-9] recoveries", without, re.M), without
        rated = ('--set=train.device={ type = "ref", rate = 0.00002 }', "--set=test.at_end=false", "--set=checkpoint.keep=0")
        took = [float(re.search(r"in ([\d.]+) simulated s", simulate(folder, *rated, *paces))[1])
                for paces in ((), ("--speeds", "1,1,1"), ("--speeds", "1,0.25"))]
        assert took[0] == took[1] and 2 < took[2] / took[0] < 4.1, f"one worker at a quarter of the pace: {took}"
        wrong = run(folder, "--speeds", "1,1")
        assert "paces need a device that charges" in wrong.stderr, wrong.stderr
        wrong = run(folder, *rated, "--speeds", "1,1,1,1")
        assert "there are 4 paces, but 3 workers" in wrong.stderr, wrong.stderr
        wrong = run(folder, "--faults", "floods=1")
        assert "'floods=1' is not a fault: known are kills=N, again_after=N, cuts=N, scales=N" in wrong.stderr, wrong.stderr
        assert [path.name for path in folder.iterdir()] == ["job.toml"], "nothing is written"
        what_was_measured_is_recorded(folder)
        what_fails_is_made_smaller(folder)
        what_its_ledgers_say_counts(folder)


main()
