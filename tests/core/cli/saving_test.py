#!/usr/bin/env python3
"""saving_test.py DLHOST: a run that is killed while it writes checkpoints leaves a whole one, the old or the new.

DLHOST_SEED chooses the moments; DLHOST_KILLS is their number (50), a tenth of it for several workers."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

from several import PATIENCE, PROCESSES, Workers

Workers.dlhost = os.path.realpath(sys.argv.pop(1))
KILLS = int(os.environ.get("DLHOST_KILLS", "50"))
# A net whose checkpoints take longer than its steps, so that most moments are within one.
ALWAYS_SAVING = ("--set=topology.workers=1", "--set=layer.fc.units=20000", "--set=train.batch=1", "--set=checkpoint.every.steps=1",
                 "--set=checkpoint.keep=2", "--set=train.stop.steps=1000000", "--set=record.every={}")


class Saving(Workers):
    def setUp(self) -> None:
        super().setUp()
        self.draw = random.Random(f"{os.environ.get('DLHOST_SEED', '1')} {self.id()}")

    def newest_is_whole(self, folder: pathlib.Path) -> None:
        """Exports it, which checks all hashes."""
        newest = max(p.parent.name for p in folder.glob("step-*[0-9]/manifest.json"))
        export = subprocess.run([self.dlhost, "export", folder / newest, "-o", self.root / "params.npz"],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(export.returncode, 0, export.stderr)

    def newest_point(self) -> str:
        return max((p.parent.name for p in self.root.glob("runs/*/recovery/step-*[0-9]/manifest.json")), default="")

    def test_what_is_left_is_whole(self) -> None:
        torn = 0
        for kill in range(KILLS):
            runs = self.root / f"runs{kill}"
            process = self.start(*ALWAYS_SAVING, f"--set=record.folder={runs}")
            self.until(lambda: any(runs.glob("*/checkpoints/step-*[0-9]/manifest.json")) or process.poll() is not None)
            time.sleep(self.draw.uniform(0, 0.05))
            process.kill()
            out, err = process.communicate()
            self.assertEqual(process.returncode, -9, f"{out}\n{err}")
            torn += any(runs.glob("*/checkpoints/*.unfinished"))
            self.newest_is_whole(next(runs.iterdir()) / "checkpoints")
        self.assertGreater(torn, KILLS // 10, "the kills do not fall into the writing of checkpoints: this shows little")
        print(f"{KILLS} kills, {torn} of them in the midst of a checkpoint", file=sys.stderr)

    def test_whoever_of_several_is_killed(self) -> None:
        """Stops all processes while the test checks the files of the dead one; then the others continue to the end that
        an undisturbed run has."""
        kills = max(3, KILLS // 10)
        job = (PROCESSES, "--set=layer.fc.units=5000", "--set=checkpoint.every={}", "--set=recovery.every.steps=1",
               "--set=recovery.restarts=1000", f"--set=train.stop.steps={40 * kills}")
        process = self.start(*job)
        reached = ""
        killed = torn = 0
        for _ in range(kills):
            self.until(lambda: len(self.workers()) == 2 and self.newest_point() > reached or self.over())
            if self.over():
                break
            before = set(self.workers().values())
            whom = self.draw.choice([self.leader(), *sorted(before)])
            # A point is written quickly: the test does nothing else between its beginning and the kill.
            recovery = next(self.root.glob("runs/*/recovery"))
            while not self.over() and not any(name.endswith(".unfinished") for name in os.listdir(recovery)):
                pass
            time.sleep(self.draw.uniform(0, 0.003))
            if self.over():
                break
            os.kill(whom, signal.SIGKILL)
            os.killpg(process.pid, signal.SIGSTOP)
            killed += 1
            torn += any(self.root.glob("runs/*/recovery/*.unfinished"))
            reached = self.newest_point()
            self.newest_is_whole(next(self.root.glob("runs/*/recovery")))
            os.killpg(process.pid, signal.SIGCONT)
            self.until(lambda: not before & set(self.workers().values()))
        process.communicate(timeout=PATIENCE)
        self.until(self.over, PATIENCE)
        self.nothing_is_left()
        cut = self.outcome()
        for worker in self.audit()["workers"]:
            self.assertEqual(worker["contributions"], [40 * kills] * 2)
        self.assertGreater(torn, 0, "the kills do not fall into the writing of points: this shows little")
        self.assertGreater(cut["recoveries"], 0)
        print(f"{killed} of several killed, {torn} of them in the midst of a point", file=sys.stderr)
        whole = self.run_job(*job)
        for key in ("params", "train", "test", "steps"):
            self.assertEqual(cut[key], whole[key], key)


if __name__ == "__main__":
    unittest.main(verbosity=1)
