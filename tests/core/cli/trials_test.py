#!/usr/bin/env python3
"""trials_test.py DLHOST: a sweep tries the requested values, stops hopeless trials, and continues after a kill."""
import csv
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DLHOST = str(pathlib.Path(sys.argv.pop(1)).resolve())
JOB = """name = "small"
[train]
batch = 10
threads = 1
device = "ref"
stop = { steps = 60 }
[validate]
every = { steps = 5 }
[updater]
type = "sgd"
rate = 0.1
[record]
tensorboard = false
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [5]
classes = 3
train = 100
validate = 40
[[layer]]
name = "hidden"
type = "dense"
src = "data"
units = 8
[[layer]]
name = "out"
type = "dense"
src = "hidden"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["out", "data:label"]
"""


class Trials(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "job.toml").write_text(JOB)

    def sweep(self, *words: str, code: int = 0) -> str:
        done = subprocess.run([DLHOST, "sweep", *words], cwd=self.root, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr if code else done.stdout

    def rows(self, folder: str = "s") -> list[dict[str, str]]:
        with (self.root / folder / "trials.csv").open() as file:
            return list(csv.DictReader(file))

    def test_every_combination_is_a_run(self) -> None:
        said = self.sweep("job.toml", "--vary", "updater.rate=0.1,0.01", "--vary", "layer.hidden.units=4,16", "--jobs", "2",
                          "--whole", "-o", "s")
        rows = self.rows()
        self.assertEqual({row["settings"] for row in rows},
                         {f"updater.rate={rate}, layer.hidden.units={units}" for rate in ("0.1", "0.01") for units in (4, 16)})
        self.assertEqual({row["state"] for row in rows}, {"done"})
        losses = [float(row["value"]) for row in rows]
        self.assertEqual(losses, sorted(losses), "the best comes first")
        for row in rows:
            job = (self.root / row["run"] / "job.toml").read_text()
            for setting in row["settings"].split(", "):
                key, value = setting.split("=")
                self.assertRegex(job, rf"{key.split('.')[-1]}\b.*\b{re.escape(value)}\b")
            records = map(json.loads, (self.root / row["run"] / "metrics.jsonl").read_text().splitlines())
            best = min(one["metrics"]["loss"] for one in records if one["phase"] == "validation")
            self.assertEqual(float(row["value"]), best)
        self.assertTrue((self.root / "s/curves.svg").read_text().startswith("<svg"))
        self.assertIn("s/trials.csv and s/curves.svg", said)

    def test_what_is_hopeless_is_stopped_and_what_is_best_is_not(self) -> None:
        rates = ["0.1", *(f"1e-{n}" for n in range(6, 12))]
        # Each trial takes seconds on any processor: the sweep judges once a second.
        self.sweep("job.toml", "--vary", f"updater.rate={','.join(rates)}", "--set", "train.stop.steps=0", "--set",
                   "train.stop.seconds=4", "--set", "validate.every.steps=500", "--jobs", "7", "-o", "s")
        states = {row["settings"].split("=")[1]: row["state"] for row in self.rows()}
        self.assertEqual(states["0.1"], "done")
        self.assertIn("stopped early", states.values())
        self.assertEqual(set(states.values()), {"done", "stopped early"})

    def test_draws_are_the_same_for_a_seed_and_lie_in_their_range(self) -> None:
        asked = ("job.toml", "--vary", "updater.rate=0.001..0.1", "--vary", "layer.hidden.units=2..9", "--random", "4",
                 "--set", "train.stop.steps=5", "--whole")
        self.sweep(*asked, "-o", "one")
        self.sweep(*asked, "-o", "two")
        drawn = [{row["settings"] for row in self.rows(folder)} for folder in ("one", "two")]
        self.assertEqual(*drawn)
        self.assertEqual(len(drawn[0]), 4)
        for settings in drawn[0]:
            rate, units = (setting.split("=")[1] for setting in settings.split(", "))
            self.assertTrue(0.001 <= float(rate) <= 0.1 and 2 <= int(units) <= 9, settings)

    def test_a_killed_sweep_goes_on(self) -> None:
        words = [DLHOST, "sweep", "job.toml", "--vary", "updater.rate=0.1,0.05,0.02,0.01", "--whole", "-o", "s",
                 "--set", "train.stop.steps=3000"]
        killed = subprocess.Popen(words, cwd=self.root, stdout=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while "trial 1 of 4" not in killed.stdout.readline():
            self.assertLess(time.monotonic(), until)
        killed.send_signal(signal.SIGKILL)
        killed.communicate(timeout=60)
        self.sweep("--resume", "s")
        self.assertEqual([row["state"] for row in self.rows()], ["done"] * 4)
        self.assertEqual(len(list((self.root / "s/trial-001").glob("small-*"))), 1, "what was done is not done again")
        for row in self.rows():
            self.assertEqual(json.loads((self.root / row["run"] / "summary.json").read_text())["steps"], 3000)

    def test_what_cannot_be_is_told_before_anything_is_run(self) -> None:
        for words, said in ((("--vary", "updater.rate=0.1..0.2"), "is a range: give the number of draws (--random 20)"),
                            (("--vary", "updater.rate"), "must be KEY=VALUE,VALUE,... or KEY=FROM..TO"),
                            (("--vary", "updater.rat=1,2"), "updater.rat: unknown option; did you mean 'rate'?"),
                            ((), "a sweep needs a key to vary: --vary")):
            with self.subTest(words=words):
                self.assertIn(said, self.sweep("job.toml", *words, "-o", "s", code=1))
                self.assertFalse((self.root / "s").exists())
        self.assertIn("there is no sweep in 'nowhere'", self.sweep("--resume", "nowhere", code=1))


unittest.main()
