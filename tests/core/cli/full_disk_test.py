#!/usr/bin/env python3
"""full_disk_test.py DLHOST: a full disk does not stop training. The disk is a small one in memory, visible only to this
test and its processes."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

MADE = "DLHOST_TEST_HAS_MOUNTS"
if MADE not in os.environ:
    spaces = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*spaces, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode:
        print("skipped: this machine gives no mount namespace")
        sys.exit(77)
    os.execvpe(spaces[0], [*spaces, sys.executable, *sys.argv], os.environ | {MADE: "1"})

DLHOST = str(pathlib.Path(sys.argv.pop(1)).resolve())
JOB = """name = "small"
[train]
batch = 10
threads = 1
device = "ref"
stop = { steps = 300 }
[record]
folder = "disk/runs"
every = { steps = 1 }
tensorboard = false
[checkpoint]
every = { steps = 100 }
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [64]
classes = 3
train = 100
test = 20
[[layer]]
name = "wide"
type = "dense"
src = "data"
units = 1000
[[layer]]
name = "out"
type = "dense"
src = "wide"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["out", "data:label"]
"""
PARAMS = 4 * (64 * 1000 + 1000 + 3 * 1000 + 3)  # bytes


class FullDisk(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "job.toml").write_text(JOB)
        self.disk = self.root / "disk"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(self.disk)], check=True)
        self.addCleanup(lambda: subprocess.run(["umount", "--lazy", str(self.disk)], check=True))

    def fill(self) -> pathlib.Path:
        filler = self.disk / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)) == 4096:
                    pass
            except OSError:
                pass
        return filler

    def start(self, *changes: str) -> subprocess.Popen:
        """Starts a run; returns at its first steps, for the test to fill the disk."""
        words = [DLHOST, "run", "job.toml", *(f"--set={change}" for change in changes)]
        run = subprocess.Popen(words, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(run.kill)
        until = time.monotonic() + 60
        while not list(self.disk.glob("runs/*/metrics.jsonl")):
            self.assertLess(time.monotonic(), until, "no run begins")
            time.sleep(0.001)
        return run

    def await_words(self, run: subprocess.Popen, words: str) -> str:
        said = ""
        while words not in said:
            line = run.stdout.readline()
            self.assertTrue(line, said)
            said += line
        return said

    def folder(self) -> pathlib.Path:
        folder, = (self.disk / "runs").iterdir()
        return folder

    def summary(self) -> dict:
        return json.loads((self.folder() / "summary.json").read_text())

    def test_the_last_params_wait_for_room(self) -> None:
        """Earlier checkpoints are skipped, and no record is lost."""
        run = self.start("checkpoint.wait=120", "train.stop.steps=2000")
        filler = self.fill()
        said = self.await_words(run, "wait in memory")
        self.assertIn("The run goes on", said)
        self.assertRegex(said, r"No space left on device \(\d+ KiB are free there\); free some space, or choose another folder")
        filler.unlink()
        rest, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, said + rest)
        self.assertTrue((self.folder() / "checkpoints/step-000002000/manifest.json").exists())
        self.assertEqual(list(self.folder().glob("checkpoints/*.unfinished")), [])
        summary = self.summary()
        self.assertEqual(summary["status"], "done")
        self.assertGreater(summary["unsaved_checkpoints"], 0)
        self.assertIn("for want of room on the disk", rest)
        records = map(json.loads, (self.folder() / "metrics.jsonl").read_text().splitlines())
        self.assertEqual([one["step"] for one in records if one["phase"] == "train"], list(range(1, 2001)))

    def test_they_are_saved_elsewhere(self) -> None:
        run = self.start("checkpoint.wait=120", "checkpoint.every.steps=1000000")
        self.fill()
        said = self.await_words(run, "wait in memory")
        command = re.search(r"dlhost (save \S+) --to FOLDER", said)
        words = [DLHOST, *command[1].split(), "--to", "elsewhere"]
        saved = subprocess.run(words, cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(saved.returncode, 0, saved.stderr)
        rest, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, said + rest)
        shutil.rmtree(self.disk / "runs")
        again = subprocess.run([DLHOST, "eval", "elsewhere", "--job", "job.toml"], cwd=self.root, capture_output=True, text=True,
                               timeout=60)
        self.assertIn("step 300: 20 samples of test", again.stdout, again.stderr)

    def test_without_room_the_run_fails_in_the_end(self) -> None:
        run = self.start("checkpoint.wait=1", "checkpoint.every.steps=1000000")
        self.fill()
        said, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 1, said)
        self.assertIn("wait in memory for 1 s", said)

    def test_ledgers_wait_for_room_as_well(self) -> None:
        two = ("topology.workers_per_group=2", "topology.run_as=processes", "train.stop.steps=3000", "checkpoint.every={}")
        run = self.start("checkpoint.wait=120", *two)
        filler = self.fill()
        said = self.await_words(run, "wait in memory for 2:00")
        filler.unlink()
        rest, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, said + rest)
        audit = subprocess.run([DLHOST, "audit", str(self.folder())], cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(audit.returncode, 0, audit.stdout + audit.stderr)

    def test_room_is_looked_at_before_the_first_step(self) -> None:
        (self.disk / "filler").write_bytes(bytes(2 * 1024 * 1024 - 3 * PARAMS))
        words = [DLHOST, "run", "job.toml", "--set=train.stop.steps=1"]
        warned = subprocess.run(words, cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(warned.returncode, 0, warned.stderr)
        self.assertRegex(warned.stderr, r"a checkpoint of this net takes 266 KiB, and the disk of 'disk/runs' has \d+ KiB free; up to 4")
        shutil.rmtree(self.disk / "runs")
        self.fill()
        refused = subprocess.run(words, cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertRegex(refused.stderr, r"job.toml:\d+:.*the disk of 'disk/runs' has .* free: make room, name another folder")
        self.assertEqual(list(self.disk.iterdir()), [self.disk / "filler"])
        without = subprocess.run([*words, "--set=checkpoint.keep=0"], cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertNotIn("a checkpoint of this net takes", without.stderr)

    def test_who_waits_for_nothing_is_left_alone(self) -> None:
        run = self.start("train.stop.steps=100000000")
        said = subprocess.run([DLHOST, "save", str(self.folder()), "--to", "elsewhere"], cwd=self.root, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(said.returncode, 1)
        self.assertIn("is not waiting for room; `dlhost stop` lets a run save and end", said.stderr)
        run.kill()
        run.communicate(timeout=60)


unittest.main()
