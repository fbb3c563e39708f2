#!/usr/bin/env python3
"""evaluation_test.py DLHOST: what an evaluation finds is counted right and stands where people and programs look."""
import hashlib
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

DLHOST = str(pathlib.Path(sys.argv.pop(1)).resolve())
JOB = """name = "small"
[train]
batch = 4
threads = 1
device = "ref"
stop = { steps = 50 }
[record]
folder = "runs"
[[layer]]
name = "data"
type = "csv"
train = "rows.csv"
test = "rows.csv"
[[layer]]
name = "fc"
type = "dense"
src = "data"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc", "data:label"]
[[layer]]
name = "guessed"
type = "confusion"
src = ["data", "data:label"]
[[layer]]
name = "right"
type = "accuracy"
src = ["data", "data:label"]
[[layer]]
name = "rows"
type = "csv_output"
src = ["data", "loss:probabilities", "data:label"]
file = "out/rows.csv"
[[layer]]
name = "scores"
type = "npy_output"
src = "fc"
file = "out/scores.npy"
[[layer]]
name = "labels"
type = "idx_output"
src = "data:label"
file = "out/labels.idx"
"""
# Three scores and the class: the highest score is the guess. Ten samples, so that the last batch is not full.
ROWS = [(0.9, 0.1, 0.0, 0), (0.8, 0.1, 0.1, 0), (0.1, 0.7, 0.2, 0), (0.2, 0.6, 0.2, 1), (0.1, 0.2, 0.7, 1),
        (0.3, 0.5, 0.2, 1), (0.5, 0.3, 0.2, 2), (0.1, 0.1, 0.8, 2), (0.2, 0.1, 0.7, 2), (0.0, 0.4, 0.6, 2)]
COUNTED = [[2, 1, 0], [0, 2, 1], [1, 0, 3]]


class Evaluation(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        (cls.root / "out").mkdir()
        (cls.root / "rows.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in ROWS))
        (cls.root / "job.toml").write_text(JOB)
        cls.text = cls.dlhost("run", "job.toml")
        cls.run_folder = next((cls.root / "runs").iterdir())
        cls.summary = json.loads((cls.run_folder / "summary.json").read_text())

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    @classmethod
    def dlhost(cls, *arguments: str) -> str:
        done = subprocess.run([DLHOST, *arguments], cwd=cls.root, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout

    def test_the_table_is_the_one_counted_by_hand(self) -> None:
        self.assertEqual(self.summary["test"]["guessed"], COUNTED)
        self.assertEqual(self.summary["test"]["right"], 0.7)
        self.assertIn("guessed: the class (row) and what it was taken for", self.text)
        self.assertIn("   2    1    0    66.7%", self.text)

    def test_eval_says_it_again_with_the_scores_of_each_class(self) -> None:
        found = json.loads(self.dlhost("eval", str(self.run_folder), "--json"))
        table = found["tables"]["guessed"]
        self.assertEqual(table["counts"], COUNTED)
        self.assertEqual(table["recall"], [2 / 3, 2 / 3, 3 / 4])
        self.assertEqual(table["precision"], [2 / 3, 2 / 3, 3 / 4])
        self.assertEqual(found["metrics"]["loss"], self.summary["test"]["loss"])
        self.assertIn("guessed: the class", self.dlhost("eval", str(self.run_folder)))

    def test_what_to_do_next_can_be_done(self) -> None:
        self.assertIn(f"dlhost eval {self.run_folder.relative_to(self.root)} --phase test", self.text)

    def test_a_phase_is_called_as_in_jobs_or_as_in_records(self) -> None:
        validates = [str(self.run_folder), "--set", "layer.data.validate=rows.csv"]
        told = [json.loads(self.dlhost("eval", *validates, "--json", "--phase", word)) for word in ("validate", "validation")]
        self.assertEqual(told[0]["metrics"], told[1]["metrics"])
        self.assertEqual(told[0]["tables"]["guessed"]["counts"], COUNTED)
        self.dlhost("predict", *validates, "--phase", "validate", "--output", "fc", "-o", "validated.csv")

    def test_the_last_record_is_the_summary(self) -> None:
        records = [json.loads(line) for line in (self.run_folder / "metrics.jsonl").read_text().splitlines()]
        last = [record for record in records if record["phase"] == "train"][-1]
        self.assertEqual(last["step"], 50)
        self.assertEqual(last["metrics"], self.summary["train"])

    def test_outputs_are_written_by_the_test_at_the_end(self) -> None:
        lines = [[float(x) for x in line.split(",")] for line in (self.root / "out/rows.csv").read_text().splitlines()]
        self.assertEqual(len(lines), len(ROWS))
        for line, row in zip(lines, ROWS):
            self.assertEqual([round(x, 6) for x in line[:3]], list(row[:3]))
            self.assertAlmostEqual(sum(line[3:6]), 1, 5)
            self.assertEqual(line[6], row[3])
        labels = (self.root / "out/labels.idx").read_bytes()
        self.assertEqual(struct.unpack(">4B", labels[:4])[2], 12)  # i32
        self.assertEqual(list(struct.unpack(">10i", labels[-40:])), [row[3] for row in ROWS])

    def test_outputs_are_what_predict_writes(self) -> None:
        written = (self.root / "out/scores.npy").read_bytes()
        self.dlhost("predict", str(self.run_folder), "--output", "fc", "-o", "predicted.npy")
        self.assertEqual((self.root / "predicted.npy").read_bytes(), written)
        self.assertEqual(written[:8], b"\x93NUMPY\x01\x00")
        self.assertIn(b"'shape': (10, 3)", written[:128])

    def test_the_plan_stands_in_summary_and_checkpoint(self) -> None:
        newest = self.run_folder / "checkpoints/step-000000050"
        manifest = json.loads((newest / "manifest.json").read_text())
        self.assertEqual(manifest["run"]["plan"]["hash"], self.summary["plan_hash"])
        self.assertRegex(self.summary["plan_hash"], "^[0-9a-f]{16}$")
        checked = json.loads(self.dlhost("check", "job.toml", "--json"))
        self.assertEqual(checked["plan_hash"], self.summary["plan_hash"])
        self.assertIn("plugin ref", self.summary["versions"])

    def test_a_run_that_goes_on_otherwise_says_how(self) -> None:
        shutil.copytree(self.run_folder, self.root / "moved")
        manifest = self.root / "moved/checkpoints/step-000000050/manifest.json"
        told = json.loads(manifest.read_text())
        told["run"]["plan"]["ops"][0][3] = "another kernel"
        told["run"]["plugins"]["ref"] = "0.9+00"
        del told["blake2b"]  # and sealed again, as whoever ran it otherwise would have
        text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        told["blake2b"] = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
        manifest.write_text(json.dumps(told))
        longer = ["run", "job.toml", "--set", "train.stop.steps=52", "--resume"]
        done = subprocess.run([DLHOST, *longer, "moved"], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "layer 'fc', forward gemm was another kernel .* and is ")
        self.assertIn("plugin 'ref' was \"0.9+00\" and is ", done.stderr)
        shutil.copytree(self.run_folder, self.root / "again")
        done = subprocess.run([DLHOST, *longer, "again"], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_without_tensorboard_there_is_no_event_file(self) -> None:
        self.dlhost("run", "job.toml", "--set", "record.tensorboard=false", "--set", "record.folder=plain", "--set", "train.stop.steps=2")
        self.assertEqual(list(next((self.root / "plain").iterdir()).glob("events*")), [])


unittest.main()
