#!/usr/bin/env python3
"""saving_test.py DLHOST: a run that is killed while it writes checkpoints leaves a whole one, the old or the new.

DLHOST_SEED chooses the moments; DLHOST_KILLS how many (50)."""
import os
import random
import subprocess
import sys
import time
import unittest

from several import Workers

Workers.dlhost = os.path.realpath(sys.argv.pop(1))
KILLS = int(os.environ.get("DLHOST_KILLS", "50"))
# A net whose checkpoints take longer than its steps: most moments lie within one.
ALWAYS_SAVING = ("--set=topology.workers=1", "--set=layer.fc.units=20000", "--set=train.batch=1", "--set=checkpoint.every.steps=1",
                 "--set=checkpoint.keep=2", "--set=train.stop.steps=1000000", "--set=record.every={}")


class Saving(Workers):
    def test_what_is_left_is_whole(self) -> None:
        draw = random.Random(f"{os.environ.get('DLHOST_SEED', '1')} {self.id()}")
        torn = 0
        for kill in range(KILLS):
            runs = self.root / f"runs{kill}"
            process = self.start(*ALWAYS_SAVING, f"--set=record.folder={runs}")
            self.until(lambda: any(runs.glob("*/checkpoints/step-*[0-9]/manifest.json")) or process.poll() is not None)
            time.sleep(draw.uniform(0, 0.05))
            process.kill()
            out, err = process.communicate()
            self.assertEqual(process.returncode, -9, f"{out}\n{err}")
            torn += any(runs.glob("*/checkpoints/*.unfinished"))
            run = next(runs.iterdir())
            newest = max(p.parent.name for p in run.glob("checkpoints/step-*[0-9]/manifest.json"))
            # It is opened with all its hashes.
            export = subprocess.run([self.dlhost, "export", run / "checkpoints" / newest, "-o", self.root / f"{kill}.npz"],
                                    capture_output=True, text=True, timeout=60)
            self.assertEqual(export.returncode, 0, export.stderr)
        self.assertGreater(torn, KILLS // 10, "the kills do not fall into the writing of checkpoints: this shows little")
        print(f"{KILLS} kills, {torn} of them in the midst of a checkpoint", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
