#!/usr/bin/env python3
"""workers_test.py DLHOST: a run whose workers are processes: it trains as tasks do, and says what became of those that
die."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

dlhost = os.path.realpath(sys.argv.pop(1))
JOB = """name = "small"
seed = 3
[train]
device = "ref"
batch = 12
threads = 1
stop = { steps = 60 }
[updater]
type = "sgd"
momentum = 0.9
rate = 0.05
[topology]
framework = "allreduce"
workers = 3
slice_elements = 20
[checkpoint]
every = { steps = 20 }
[record]
every = { steps = 1 }
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [7]
classes = 3
train = 50
test = 20
[[layer]]
name = "fc"
type = "dense"
src = "data"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc", "data:label"]
"""
PROCESSES = "--set=topology.run_as=processes"
FOR_EVER = (PROCESSES, "--set=train.stop.steps=1000000000", "--set=record.every.steps=1000")


class Workers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "job.toml").write_text(JOB)
        (self.root / "tmp").mkdir()

    def start(self, *words: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [dlhost, "run", "job.toml", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.root, env=os.environ | {"TMPDIR": str(self.root / "tmp")}, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def run_job(self, *words: str) -> dict:
        """The summary, and a hash of the params."""
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, f"{out}\n{err}")
        folder = max((self.root / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)
        params = sorted(folder.glob("checkpoints/step-*/params.safetensors"))[-1].read_bytes()
        return json.loads((folder / "summary.json").read_text()) | {"params": hashlib.sha256(params).hexdigest()}

    def until(self, what, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end, "it does not come that far")
            time.sleep(0.02)

    def begun(self) -> bool:
        return any(p.stat().st_size > 0 for p in self.root.glob("runs/*/metrics.jsonl"))

    def workers(self) -> dict[int, int]:
        """Process numbers, by seat."""
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().decode().split("\0")
            except OSError:  # it has just ended
                continue
            if "worker" in words and any(word.startswith(str(self.root)) for word in words):
                found[int(words[words.index("worker") + 2])] = int(process.name)
        return found

    def nothing_is_left(self) -> None:
        self.until(lambda: not self.workers())
        self.assertEqual(list((self.root / "tmp").iterdir()), [])

    def test_processes_train_as_tasks_do(self) -> None:
        tasks, processes = self.run_job(), self.run_job(PROCESSES)
        self.assertEqual(tasks["params"], processes["params"])
        self.assertEqual(tasks["train"], processes["train"])
        self.nothing_is_left()

    def test_every_handler_trains_in_processes(self) -> None:
        for handler in ("eventual", "bounded", "hogwild"):
            summary = self.run_job(PROCESSES, f"--set=topology.consistency={handler}", "--set=topology.framework=downpour",
                                   "--set=updater.rate=0.01")
            self.assertEqual(summary["steps"], 60)
            self.assertLess(summary["test"]["loss"], 1.0)
        self.nothing_is_left()

    def test_an_interrupt_saves_and_ends_all(self) -> None:
        process = self.start(*FOR_EVER)
        self.until(self.begun)
        self.assertEqual(sorted(self.workers()), [1, 2])
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all of them get it
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        summary = json.loads(next(self.root.glob("runs/*/summary.json")).read_text())
        self.assertEqual(summary["status"], "interrupted")
        self.nothing_is_left()

    def test_who_dies_is_named_and_nothing_is_lost(self) -> None:
        process = self.start(*FOR_EVER)
        self.until(lambda: any(self.root.glob("runs/*/checkpoints/step-*/manifest.json")))
        victim = self.workers()[2]
        os.kill(victim, signal.SIGKILL)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn(f"worker 2 is gone: process {victim} was killed by Killed", err)
        self.assertEqual(json.loads(next(self.root.glob("runs/*/summary.json")).read_text())["status"], "failed")
        self.nothing_is_left()
        saved = max(int(p.parent.name[5:]) for p in self.root.glob("runs/*/checkpoints/step-*/manifest.json"))
        run = next((self.root / "runs").iterdir())
        again = self.start(PROCESSES, f"--resume={run}", f"--set=train.stop.steps={saved + 5}")
        out, err = again.communicate(timeout=60)
        self.assertEqual(again.returncode, 0, err)

    def test_when_the_leader_dies_the_others_end(self) -> None:
        process = self.start(*FOR_EVER)
        self.until(self.begun)
        process.kill()
        process.communicate()
        self.nothing_is_left()

    def test_when_the_leader_dies_before_they_begin_the_others_end(self) -> None:
        process = self.start(*FOR_EVER)
        self.until(self.workers)
        process.kill()
        process.communicate()
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main(verbosity=1)
