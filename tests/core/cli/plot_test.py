#!/usr/bin/env python3
"""plot_test.py DLHOST: pictures of runs are well-formed SVG that shows what the runs measured."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

DLHOST = str(pathlib.Path(sys.argv.pop(1)).resolve())
SVG = "{http://www.w3.org/2000/svg}"


def record(step: int, phase: str, loss: float | None, accuracy: float) -> str:
    return json.dumps({"step": step, "epoch": step / 10, "seconds": step / 5, "phase": phase, "rate": 0.1,
                       "metrics": {"loss": loss, "accuracy <top & best>": accuracy}, "items_per_second": 100}) + "\n"


class Plot(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name in "ab":
            (self.root / name).mkdir()
            lines = "".join(record(s, "train", None if s == 500 else 1 / s + (s % 7) / 50, 1 - 1 / s) for s in range(1, 999))
            lines += "".join(record(s, "validation", 0.5, 0.75) for s in range(100, 999, 100))
            (self.root / name / "metrics.jsonl").write_text(lines + '{"step":999,"epo')

    def dlhost(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run([DLHOST, "plot", *arguments], cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def texts(self, svg: xml.Element) -> list[str]:
        return [text.text or "" for text in svg.iter(SVG + "text")]

    def test_one_run(self) -> None:
        self.dlhost("a", "-o", "curves.svg")
        svg = xml.parse(self.root / "curves.svg").getroot()
        for expected in ("a", "train", "validation", "loss", "accuracy <top & best>", "step", "0.75"):
            self.assertIn(expected, self.texts(svg))
        self.assertTrue(all("nan" not in curve.get("points") for curve in svg.iter(SVG + "polyline")))

    def test_compares_runs(self) -> None:
        done = self.dlhost("a", "b/metrics.jsonl", "--metric", "loss", "--log", "--x", "epoch")
        texts = self.texts(xml.fromstring(done.stdout))  # no terminal: the picture goes to standard output
        for expected in ("a", "b", "loss", "epoch", "logarithmic"):
            self.assertIn(expected, texts)
        self.assertNotIn("accuracy <top & best>", texts)

    def test_many_points_stay_a_small_picture(self) -> None:
        with open(self.root / "a" / "metrics.jsonl", "w") as file:
            file.writelines(record(s, "train", (s * 7919 % 1000) / 1000, 0.5) for s in range(1, 50001))
        self.assertLess(len(self.dlhost("a").stdout), 200_000)

    def test_errors_name_the_place(self) -> None:
        (self.root / "a" / "metrics.jsonl").write_text(record(1, "train", 1, 0) + "not this\n" + record(2, "train", 1, 0))
        self.assertIn("a/metrics.jsonl:2: ", self.dlhost("a", code=1).stderr)
        self.assertIn("nowhere", self.dlhost("nowhere", code=1).stderr)
        self.assertIn("did you mean 'loss'", self.dlhost("b", "--metric", "los", code=1).stderr)
        self.dlhost("b", "--x", "minutes", code=2)


unittest.main()
