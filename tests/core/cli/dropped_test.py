#!/usr/bin/env python3
"""dropped_test.py DLHOST JOB: a job can name a plugin as soon as its file is in the user's folder.

Also tests the errors of `dlhost new` for unknown names.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DLHOST, JOB = (str(pathlib.Path(argument).resolve()) for argument in (sys.argv.pop(1), sys.argv.pop(1)))


class Dropped(unittest.TestCase):
    def setUp(self) -> None:
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = pathlib.Path(work.name)
        self.folder = self.work / "dlhost/plugins"
        self.folder.mkdir(parents=True)
        self.environment = os.environ | {"XDG_DATA_HOME": work.name}

    def run_in(self, folder: pathlib.Path, *words: str, code: int = 0) -> str:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, env=self.environment)
        self.assertEqual(done.returncode, code, f"{words}:\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    def drop(self, kind: str, name: str) -> None:
        self.run_in(self.work, DLHOST, "new", kind, name)
        project = self.work / name
        self.run_in(project, "meson", "setup", "build")
        self.run_in(project, "meson", "compile", "-C", "build")
        (project / f"build/{name}.so").rename(self.folder / f"{name}.so")

    def train(self, *settings: str, code: int = 0) -> str:
        words = [word for setting in ("train.stop.epochs=1", *settings) for word in ("--set", setting)]
        return self.run_in(self.work, DLHOST, "run", JOB, *words, code=code)

    def test_layer(self) -> None:
        self.assertIn("unknown layer 'my_layer'", self.train('layer.act.type="my_layer"', code=1))
        self.drop("layer", "my_layer")
        self.assertIn("y = scale x^3.", self.run_in(self.work, DLHOST, "inspect", "my_layer"))
        self.train('layer.act.type="my_layer"', "layer.act.scale=0.5")
        checked = self.run_in(self.work, DLHOST, "check", JOB, "--set", 'layer.act.type="my_layer"')
        self.assertIn("my_layer", checked)

    def test_updater(self) -> None:
        self.drop("updater", "my_updater")
        self.train('updater={type="my_updater", rate=0.05, weight_decay=0.001}')
        # Its options are checked like those of any plugin.
        self.assertIn("weight_decay", self.train('updater={type="my_updater", rate=0.05, weight_decay=-1}', code=1))

    def test_device_is_held_to_all_ops(self) -> None:
        self.drop("device", "my_device")
        told = self.run_in(self.work, DLHOST, "conform", str(self.folder / "my_device.so"), "--gtest_filter=*gemm*", code=1)
        self.assertIn("my_device has no gemm of this form yet", told)

    def test_what_cannot_be_made(self) -> None:
        (self.work / "taken").mkdir()
        self.assertIn("did you mean 'layer'", self.run_in(self.work, DLHOST, "new", "layr", "x", code=1))
        self.assertIn("cannot be a plugin's name", self.run_in(self.work, DLHOST, "new", "layer", "My-Layer", code=1))
        self.assertIn("exists already", self.run_in(self.work, DLHOST, "new", "layer", "taken", code=1))


unittest.main()
