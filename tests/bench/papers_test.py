#!/usr/bin/env python3
"""papers_test.py DLHOST FOLDER: measures the papers' figures of that folder in a few steps, to see that they run. Draws
them as well if matplotlib is installed."""
import importlib
import os
import pathlib
import sys
import tempfile
import types
import unittest

dlhost, here = map(os.path.realpath, sys.argv[1:3])
del sys.argv[1:3]
os.environ["PATH"] = f"{os.path.dirname(dlhost)}:{os.environ['PATH']}"
sys.path.insert(0, here)
NO_DRAWING = ""
try:
    importlib.import_module("drawing")
except ImportError as absent:
    NO_DRAWING = f"measured, and not drawn: {absent}"
    sys.modules["drawing"] = types.SimpleNamespace(Figure=object, figure=None)


class PapersTest(unittest.TestCase):
    def measured(self, name: str) -> dict:
        figure = importlib.import_module(name)
        with tempfile.TemporaryDirectory() as folder:
            numbers = figure.measure(pathlib.Path(folder), True)
            with self.subTest("drawn"):
                if NO_DRAWING:
                    self.skipTest(NO_DRAWING)
                picture = pathlib.Path(folder) / f"{name}.svg"
                figure.draw(numbers).savefig(picture)
                self.assertGreater(picture.stat().st_size, 1000)
        return numbers

    def test_recovery(self) -> None:
        for row in self.measured("recovery")["rows"]:
            self.assertTrue(all(0 < seconds < 60 for seconds in row["seconds"]), row)

    def test_breakdown(self) -> None:
        for step in self.measured("breakdown")["steps"]:
            self.assertGreater(step["computing"], 0, step)

    def test_groups(self) -> None:
        self.assertTrue(self.measured("groups")["curves"])


if __name__ == "__main__":
    unittest.main()
