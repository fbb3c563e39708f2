#!/usr/bin/env python3
"""top_test.py DLHOST: top also shows runs of one worker and ended runs; `q` ends the live view."""
import os
import pathlib
import pty
import select
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
stop = { steps = 30 }
[record]
folder = "runs"
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [5]
classes = 3
train = 100
[[layer]]
name = "out"
type = "dense"
src = "data"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["out", "data:label"]
"""


class Top(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "job.toml").write_text(JOB)

    def test_a_run_of_one_worker_that_has_ended(self) -> None:
        subprocess.run([DLHOST, "run", "job.toml"], cwd=self.root, check=True, capture_output=True, timeout=60)
        done = subprocess.run([DLHOST, "top"], cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"runs/small-\S+: one worker, process \d+ of \S+\nstep 30  epoch 3.00  loss \S+  \S+ items/s\n"
                                      r"ended \d\d:\d\d, done\n$")

    def test_q_ends_it(self) -> None:
        """On a narrow terminal each line is cut."""
        run = subprocess.Popen([DLHOST, "run", "job.toml", "--set=train.stop.steps=1000000000"], cwd=self.root,
                               stdout=subprocess.DEVNULL)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        until = time.monotonic() + 60
        while not list(self.root.glob("runs/*/metrics.jsonl")):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.root)
            os.environ["TERM"] = "xterm"
            os.execv(DLHOST, [DLHOST, "top"])
        self.addCleanup(os.close, terminal)
        shown = b""
        while b"press q to quit" not in shown:
            self.assertTrue(select.select([terminal], [], [], 60)[0], shown)
            shown += os.read(terminal, 4096)
        self.assertIn(b"one worker", shown)
        os.write(terminal, b"q")
        while True:
            self.assertTrue(select.select([terminal], [], [], 60)[0], "it goes on")
            try:
                if not os.read(terminal, 4096):
                    break
            except OSError:
                break
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


unittest.main()
