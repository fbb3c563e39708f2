#!/usr/bin/env python3
"""plot_test.py DLHOST: pictures of runs are well-formed SVG that shows the runs' measurements."""
import json
import os
import pathlib
import shutil
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
        texts = self.texts(xml.fromstring(done.stdout))  # without a terminal, the picture goes to standard output
        for expected in ("a", "b", "loss", "epoch", "logarithmic"):
            self.assertIn(expected, texts)
        self.assertNotIn("accuracy <top & best>", texts)

    def test_runs_are_told_apart_by_what_their_jobs_have_otherwise(self) -> None:
        job = 'name = "{}"\n[record]\nfolder = "{}"\n[updater]\nrate = {}\n[[layer]]\nname = "fc"\nunits = 5\n'
        for name, rate in (("a", 0.1), ("b", 0.03)):
            (self.root / name / "job.toml").write_text(job.format(name, name, rate))
        texts = self.texts(xml.fromstring(self.dlhost("a", "b").stdout))
        self.assertTrue({"rate = 0.1", "rate = 0.03"} <= set(texts), texts)
        texts = self.texts(xml.fromstring(self.dlhost("a", "b", "--label", "fast", "--label", "slow").stdout))
        self.assertTrue({"fast", "slow"} <= set(texts), texts)
        self.assertIn("--label is given 1 times for 2 runs", self.dlhost("a", "b", "--label", "fast", code=1).stderr)
        (self.root / "b/job.toml").write_text(job.format("b", "b", 0.1))  # an equal name
        self.assertTrue({"a", "b"} <= set(self.texts(xml.fromstring(self.dlhost("a", "b").stdout))))

    def test_runs_that_lie_on_one_another_stay_visible(self) -> None:
        svg = xml.fromstring(self.dlhost("a", "b", "--metric", "loss").stdout)
        widths = [curve.get("style") for curve in svg.iter(SVG + "polyline") if "main" in curve.get("class", "")]
        self.assertEqual(len(set(widths)), 2, widths)

    def test_a_run_without_steps_is_left_out(self) -> None:
        (self.root / "c").mkdir()
        (self.root / "c/metrics.jsonl").write_text("")
        done = self.dlhost("c", "a")
        self.assertIn("c has no steps yet, and is left out", done.stderr)
        self.assertIn("a", self.texts(xml.fromstring(done.stdout)))
        self.assertIn("c has no steps yet", self.dlhost("c", code=1).stderr)

    def test_the_ending_says_the_format(self) -> None:
        for file in "curves.jpg", "curves":
            self.assertIn(f"-o {file}: pictures are written as .svg, .png or .pdf", self.dlhost("a", "-o", file, code=1).stderr)
            self.assertFalse((self.root / file).exists())
        if shutil.which("rsvg-convert"):
            for file, magic in (("curves.png", b"\x89PNG"), ("curves.pdf", b"%PDF")):
                self.dlhost("a", "-o", file)
                self.assertTrue((self.root / file).read_bytes().startswith(magic), file)
        done = subprocess.run([DLHOST, "plot", "a", "-o", "none.png"], cwd=self.root, env=os.environ | {"PATH": "/nowhere"},
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("rsvg-convert makes PNG and PDF, and is not installed", done.stderr)

    def test_many_points_stay_a_small_picture(self) -> None:
        with open(self.root / "a" / "metrics.jsonl", "w") as file:
            file.writelines(record(s, "train", (s * 7919 % 1000) / 1000, 0.5) for s in range(1, 50001))
        self.assertLess(len(self.dlhost("a").stdout), 200_000)

    def test_a_part_is_drawn(self) -> None:
        self.assertIn("'5' is not A..B", self.dlhost("a", "--x-range", "5", code=2).stderr)
        self.assertIn("nothing to draw between", self.dlhost("a", "--x-range", "1e9..", code=1).stderr)
        drawn = xml.fromstring(self.dlhost("a", "--metric", "loss", "--x-range", "200..300", "--y-range", "0..3").stdout)
        self.assertTrue({"200", "300", "0", "3"} <= set(self.texts(drawn)), self.texts(drawn))
        self.assertFalse({"0", "1000"} <= set(self.texts(drawn)))

    def test_errors_name_the_place(self) -> None:
        (self.root / "a" / "metrics.jsonl").write_text(record(1, "train", 1, 0) + "not this\n" + record(2, "train", 1, 0))
        self.assertIn("a/metrics.jsonl:2: ", self.dlhost("a", code=1).stderr)
        self.assertIn("nowhere", self.dlhost("nowhere", code=1).stderr)
        self.assertIn("did you mean 'loss'", self.dlhost("b", "--metric", "los", code=1).stderr)
        self.dlhost("b", "--x", "minutes", code=2)


unittest.main()
