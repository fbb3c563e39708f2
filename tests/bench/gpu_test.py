#!/usr/bin/env python3
"""gpu_test.py DLHOST PICTURES ROOT: runs `./dev bench gpu` on the processors instead of a GPU."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DLHOST, PICTURES, ROOT = (os.path.realpath(word) for word in sys.argv[1:4])
del sys.argv[1:4]

JOB = """
name = "pictures"
[train]
batch = 4
threads = 1
stop = { steps = 3 }
[updater]
type = "sgd"
rate = 0.01
[test]
at_end = false
[[layer]]
name = "data"
type = "images"
train = "pictures"
test = "pictures"
size = [24]
augment = [{ type = "normalize", mean = [128.0, 128.0, 128.0], scale = [0.01, 0.01, 0.01] }]
[[layer]]
name = "fc"
type = "dense"
src = "data"
units = 4
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc", "data:label"]
"""


class Gpu(unittest.TestCase):
    def setUp(self) -> None:
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_it(self, *command: object) -> str:
        ended = subprocess.run(list(map(str, command)), cwd=self.root, capture_output=True, text=True, timeout=200)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended.stdout

    def test_nets_workers_and_copies(self) -> None:
        plugins = os.environ["DLHOST_PLUGIN_PATH"]
        out = self.run_it(sys.executable, f"{ROOT}/bench/gpu/run", "--device", "cpu", "--dlhost", DLHOST, "--plugins", plugins,
                          "--plugin", f"{plugins}/cpu.so", "--nets", "mlp-small", "--dtypes", "f32", "--rounds", "1",
                          "--no-suites", "--no-peers", "--copies", "mlp-small", "--results", self.root / "results")
        results = json.loads((self.root / "results/results.json").read_text())
        self.assertEqual(results["failed"], [])
        self.assertGreater(results["nets"]["mlp-small f32"]["median"], 0)
        self.assertEqual(len(results["together"]), 3)
        for way, row in results["together"].items():
            self.assertLess(row["losses_differ"], 1e-5, way)
        for batch in "batch 64", "batch 128", "batch 256":
            self.assertEqual(set(results["copies"][batch]), {"none", "sync", "async"})
        self.assertIn("two workers, one on the processors", out)

    def test_pictures_can_be_trained_on(self) -> None:
        self.run_it(PICTURES, "pictures", 8)
        self.assertEqual(len(list(self.root.glob("pictures/class[0-3]/*.jpg"))), 8)
        (self.root / "job.toml").write_text(JOB)
        self.run_it(DLHOST, "run", "job.toml", "--set", "record.folder=runs")
        (summary,) = self.root.glob("runs/*/summary.json")
        self.assertEqual(json.loads(summary.read_text())["steps"], 3)

    def test_pictures_says_what_it_is_for(self) -> None:
        asked = subprocess.run([PICTURES], capture_output=True, text=True)
        self.assertEqual(asked.returncode, 2)
        self.assertIn("writes COUNT (512) JPEG files", asked.stdout)
        file = self.root / "file"
        file.write_text("")
        barred = subprocess.run([PICTURES, file], capture_output=True, text=True)
        self.assertEqual(barred.returncode, 1)
        self.assertIn("cannot be written", barred.stderr)


if __name__ == "__main__":
    unittest.main()
