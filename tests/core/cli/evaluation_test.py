#!/usr/bin/env python3
"""evaluation_test.py DLHOST WRITES_TENSORBOARD: an evaluation counts correctly, and every output of it, for people
or programs, has the same results."""
import csv
import hashlib
import json
import math
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

WRITES_TENSORBOARD = sys.argv.pop(2) == "yes"
DLHOST = str(pathlib.Path(sys.argv.pop(1)).resolve())
DOCUMENTED = (pathlib.Path(__file__).resolve().parents[3] / "docs/records.md").read_text()
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
# Three scores and the class: the highest score is the guess. Ten samples, so that the last batch is partial.
ROWS = [(0.9, 0.1, 0.0, 0), (0.8, 0.1, 0.1, 0), (0.1, 0.7, 0.2, 0), (0.2, 0.6, 0.2, 1), (0.1, 0.2, 0.7, 1),
        (0.3, 0.5, 0.2, 1), (0.5, 0.3, 0.2, 2), (0.1, 0.1, 0.8, 2), (0.2, 0.1, 0.7, 2), (0.0, 0.4, 0.6, 2)]
COUNTED = [[2, 1, 0], [0, 2, 1], [1, 0, 3]]


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and offset, as in TensorFlow's records."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF


def records_of(data: bytes) -> list[bytes]:
    """The records of an event file: each has its length in front, and checksums of both."""
    records = []
    while data:
        length, of_length = struct.unpack_from("<QI", data)
        record, data = data[12 : 12 + length], data[12 + length :]
        of_record, = struct.unpack_from("<I", data)
        assert (of_length, of_record) == (masked_crc(struct.pack("<Q", length)), masked_crc(record)), "a sum is wrong"
        records.append(record)
        data = data[4:]
    return records


def fields_of(message: bytes) -> list[tuple[int, int | bytes]]:
    """The fields of a protobuf message: numbers, and bytes for all other types."""

    def number() -> int:
        nonlocal message
        length = next(i for i, byte in enumerate(message) if byte < 128) + 1
        value = sum((byte & 127) << 7 * i for i, byte in enumerate(message[:length]))
        message = message[length:]
        return value

    fields: list[tuple[int, int | bytes]] = []
    while message:
        key = number()
        if key & 7 == 0:
            fields.append((key >> 3, number()))
            continue
        length = {1: 8, 5: 4}.get(key & 7) or number()
        fields.append((key >> 3, message[:length]))
        message = message[length:]
    return fields


def read_safetensors(path: pathlib.Path) -> dict[str, list[float]]:
    data = path.read_bytes()
    begin = 8 + struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:begin])
    places = {name: tensor["data_offsets"] for name, tensor in header.items() if name != "__metadata__"}
    return {name: list(struct.unpack(f"<{(end - at) // 4}f", data[begin + at : begin + end]))
            for name, (at, end) in places.items()}


def softmax(scores: list[float]) -> list[float]:
    weights = [math.exp(score) for score in scores]
    return [weight / sum(weights) for weight in weights]


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
    def dlhost(cls, *arguments: str, cwd: pathlib.Path | None = None) -> str:
        done = subprocess.run([DLHOST, *arguments], cwd=cwd or cls.root, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout

    def test_the_table_is_the_one_counted_by_hand(self) -> None:
        self.assertEqual(self.summary["test"]["guessed"], COUNTED)
        self.assertEqual(self.summary["test"]["right"], 0.7)
        self.assertIn("guessed: the class (row) and the predicted class (column)", self.text)
        self.assertIn("   2    1    0    66.7%", self.text)

    def test_eval_says_it_again_with_the_scores_of_each_class(self) -> None:
        found = json.loads(self.dlhost("eval", str(self.run_folder), "--json"))
        table = found["tables"]["guessed"]
        self.assertEqual(table["counts"], COUNTED)
        self.assertEqual(table["recall"], [2 / 3, 2 / 3, 3 / 4])
        self.assertEqual(table["precision"], [2 / 3, 2 / 3, 3 / 4])
        self.assertEqual(found["metrics"]["loss"], self.summary["test"]["loss"])
        self.assertIn("guessed: the class", self.dlhost("eval", str(self.run_folder)))

    def test_a_run_is_named_as_people_name_it(self) -> None:
        by_folder = self.dlhost("eval", str(self.run_folder)).splitlines()
        name = self.run_folder.name
        for words in [], ["small"], [name], ["runs"], ["runs/small"], [f"runs/{name}"]:
            told = self.dlhost("eval", *words).splitlines()
            self.assertIn(f"runs/{name}/checkpoints/", told[0])
            self.assertEqual(told[1:], by_folder[1:], words)
        self.assertIn("<svg", self.dlhost("plot", "small", "-o", "-"))
        self.assertIn(name, self.dlhost("export", "-o", "small.npz"))
        with self.assertRaisesRegex(AssertionError, "large"):
            self.dlhost("eval", "large")
        with self.assertRaisesRegex(AssertionError, "no run is named, and there is no run in the folder runs here: name a run's folder"):
            self.dlhost("eval", cwd=self.root / "out")

    def test_what_to_do_next_can_be_done(self) -> None:
        self.assertIn(f"dlhost eval {self.run_folder.relative_to(self.root)} --phase test", self.text)

    def test_a_phase_is_called_as_in_jobs_or_as_in_records(self) -> None:
        validates = [str(self.run_folder), "--set", "layer.data.validate=rows.csv"]
        told = [json.loads(self.dlhost("eval", *validates, "--json", "--phase", word)) for word in ("validate", "validation")]
        self.assertEqual(told[0]["metrics"], told[1]["metrics"])
        self.assertEqual(told[0]["tables"]["guessed"]["counts"], COUNTED)
        self.dlhost("predict", *validates, "--phase", "validate", "--layer", "fc", "-o", "validated.csv")

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
        self.dlhost("predict", str(self.run_folder), "--layer", "fc", "-o", "predicted.npy")
        self.assertEqual((self.root / "predicted.npy").read_bytes(), written)
        self.assertEqual(written[:8], b"\x93NUMPY\x01\x00")
        self.assertIn(b"'shape': (10, 3)", written[:128])

    def test_predict_writes_the_class_probabilities_in_the_order_of_the_data(self) -> None:
        """By default; the same in all formats; compared with values computed here from the params."""
        said = self.dlhost("predict", str(self.run_folder))
        self.assertIn("predictions.csv: 10 rows of loss:probabilities, in the order of the test samples", said)
        for ending in "npy", "jsonl":
            self.dlhost("predict", str(self.run_folder), "-o", f"predictions.{ending}")
        with (self.root / "predictions.csv").open() as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), ["sample", "class", "0", "1", "2"])
        lines = [json.loads(line) for line in (self.root / "predictions.jsonl").read_text().splitlines()]
        self.assertEqual([(str(line["sample"]), line["class"]) for line in lines],
                         [(row["sample"], row["class"]) for row in rows])
        written = (self.root / "predictions.npy").read_bytes()
        self.assertIn(b"'descr': '<f4', 'fortran_order': False, 'shape': (10, 3)", written[:128])
        begin = 10 + struct.unpack_from("<H", written, 8)[0]
        as_npy = list(struct.iter_unpack("<3f", written[begin:]))
        as_csv, as_jsonl = ([struct.unpack("<3f", struct.pack("<3f", *(float(values[number]) for number in "012")))
                             for values in found] for found in (rows, [line["probabilities"] for line in lines]))
        self.assertEqual(as_csv, as_npy)  # bit for bit
        self.assertEqual(as_jsonl, as_npy)
        self.assertEqual([row["class"] for row in rows], [str(max(range(3), key=row.__getitem__)) for row in as_npy])
        params = read_safetensors(self.run_folder / "checkpoints/step-000000050/params.safetensors")
        weight, bias = params["fc.weight"], params["fc.bias"]
        self.assertEqual(len(as_csv), len(ROWS))
        for found, row in zip(as_csv, ROWS):
            scores = [sum(w * x for w, x in zip(weight[3 * i : 3 * i + 3], row)) + bias[i] for i in range(3)]
            for one, other in zip(found, softmax(scores)):
                self.assertAlmostEqual(one, other, 5)
            self.assertAlmostEqual(sum(found), 1, 5)

    def test_predict_of_what_no_format_can_hold_is_refused_before_anything_is_computed(self) -> None:
        for file in "rows.parquet", "hidden":
            said = self.refused("predict", str(self.run_folder), "-o", file)
            self.assertIn(f"-o {file}: predictions are written as .csv, .jsonl or .npy (a layer is named by --layer)", said)

    def test_predict_reads_samples_without_labels(self) -> None:
        """From a file or from standard input, also without the run's own data; the rows equal those with labels."""
        whole = self.root / "moved"
        shutil.copytree(self.run_folder, whole / "run")
        rows = "".join(",".join(map(str, row[:3])) + "\n" for row in ROWS)
        (whole / "new.csv").write_text(rows)
        named = ("--set", 'layer.data.classes=["no, never", "may be", "yes"]')
        self.dlhost("predict", str(self.run_folder), "-o", str(whole / "labelled.csv"))
        expected = (whole / "labelled.csv").read_text().split("\n", 1)
        self.assertIn("10 rows of loss:probabilities, in the order of the given samples",
                      self.dlhost("predict", "run", "--data", "new.csv", cwd=whole))
        self.assertEqual((whole / "predictions.csv").read_text(), "\n".join(expected))
        piped = subprocess.run([DLHOST, "predict", "run", "--data", "-", "-o", "piped.csv", *named], cwd=whole,
                               input=rows, capture_output=True, text=True, timeout=60)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        with (whole / "piped.csv").open() as file:
            read = list(csv.reader(file))
        self.assertEqual(read[0], ["sample", "class", "no, never", "may be", "yes"])
        self.assertEqual([row[2:] for row in read[1:]], [line.split(",")[2:] for line in expected[1].splitlines()])

    def test_predict_says_what_is_wrong_with_its_data(self) -> None:
        run = str(self.run_folder)
        (self.root / "wide.csv").write_text("1,2,3,4\n")
        for words, said in ((("--data", "nowhere.csv"), "nowhere.csv"),
                            (("--data", "rows.csv", "rows.csv"), "--data names 2 files, but 'data', a 'csv' source, reads one"),
                            (("--data", "rows.csv", "--phase", "train"), "--phase train and --data exclude each other"),
                            (("--data", "wide.csv"), "4")):
            with self.subTest(words=words):
                self.assertIn(said, self.refused("predict", run, *words, "-o", "refused.csv"))
                self.assertFalse((self.root / "refused.csv").exists())

    def test_training_samples_are_measured_as_all_others_are(self) -> None:
        """Each sample once; here they are the test's samples."""
        measured = [json.loads(self.dlhost("eval", str(self.run_folder), "--json", "--phase", phase))
                    for phase in ("train", "test")]
        self.assertEqual([found["samples"] for found in measured], [len(ROWS)] * 2)
        self.assertEqual(measured[0]["metrics"], measured[1]["metrics"])

    def test_predict_of_training_samples_is_in_the_order_of_the_data(self) -> None:
        for phase in "train", "test":
            self.dlhost("predict", str(self.run_folder), "--phase", phase, "-o", f"{phase}.csv")
        self.assertEqual((self.root / "train.csv").read_text(), (self.root / "test.csv").read_text())

    def test_predict_of_a_net_without_classes_writes_what_its_loss_reads(self) -> None:
        """Independent of layers after the loss."""
        job = JOB.replace("softmax_loss", "euclidean_loss").replace('"loss:probabilities", ', "")
        job = job.replace('src = ["fc", "data:label"]', 'src = ["fc", "data"]')
        for name, text in ("bare", job[: job.index('[[layer]]\nname = "guessed"')]), ("more", job):
            with self.subTest(name):
                (self.root / f"{name}.toml").write_text(text)
                self.dlhost("run", f"{name}.toml", f"--set=record.folder={name}")
                run = str(next((self.root / name).iterdir()))
                self.dlhost("predict", run, "--layer", "fc", "-o", f"{name}-told.csv")
                self.dlhost("predict", run, "-o", f"{name}.csv")
                self.assertEqual((self.root / f"{name}.csv").read_text(), (self.root / f"{name}-told.csv").read_text())

    def test_predict_of_what_has_no_row_for_a_sample_is_refused(self) -> None:
        for output in "loss:loss", "right":
            with self.subTest(output):
                words = [DLHOST, "predict", str(self.run_folder), "--layer", output, "-o", "refused.csv"]
                done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertIn(f"'{output.split(':')[0]}", done.stderr)
                self.assertFalse((self.root / "refused.csv").exists())

    def refused(self, *words: str) -> str:
        done = subprocess.run([DLHOST, *words], cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        return done.stderr

    def run_job(self, runs: str, *changes: str) -> dict:
        """Runs the job again; returns the summary."""
        self.dlhost("run", "job.toml", f"--set=record.folder={runs}", *(f"--set={change}" for change in changes))
        return json.loads(next(self.root.glob(f"{runs}/*/summary.json")).read_text())

    def test_accuracy_on_validation_samples_stops(self) -> None:
        """Stops as soon as it is reached. Of the rows, 0.7 are right for any params; of the others none."""
        others = (f"{a},{b},{c},{min(range(3), key=(a, b, c).__getitem__)}\n" for a, b, c, _ in ROWS)
        (self.root / "others.csv").write_text("".join(others))
        often = ("validate.every.steps=3", "test.every.steps=5")
        right = ("layer.data.validate=rows.csv", "layer.data.test=others.csv")
        wrong = ("layer.data.validate=others.csv", "layer.data.test=rows.csv")
        for name, samples, accuracy, steps, reason in (
            ("reached", right, 0.7, 3, "validation accuracy reached 0.7000"),
            ("not-reached", right, 0.71, 50, "50 steps done"),
            ("of-tests-only", wrong, 0.7, 50, "50 steps done"),
        ):
            with self.subTest(name):
                summary = self.run_job(f"accuracy-{name}", *often, *samples, f"train.stop.accuracy={accuracy}")
                self.assertEqual((summary["steps"], summary["reason"], summary["status"]), (steps, reason, "done"))

    def test_the_loss_stops(self) -> None:
        """The smoothed loss stops the run, in the first step in which it is low enough."""
        changes = ("updater.rate=0.5", "record.every.steps=1", "train.stop.steps=400")

        def smoothed(runs: str) -> list[float]:
            means: list[float] = []
            for line in next(self.root.glob(f"{runs}/*/metrics.jsonl")).read_text().splitlines():
                if (record := json.loads(line))["phase"] == "train":
                    loss = record["metrics"]["loss"]
                    means.append(0.98 * means[-1] + 0.02 * loss if means else loss)
            return means

        self.assertEqual(self.run_job("loss-whole", *changes)["reason"], "400 steps done")
        whole = smoothed("loss-whole")
        limit = (min(whole[:200]) + min(whole)) / 2
        summary = self.run_job("loss-cut", *changes, f"train.stop.loss={limit}")
        first = next(step for step, mean in enumerate(whole, 1) if mean <= limit)
        self.assertEqual((summary["steps"], summary["reason"]), (first, f"the loss reached {whole[first - 1]:.5g}"))
        self.assertEqual(smoothed("loss-cut"), whole[:first])

    def test_records_and_summaries_have_the_fields_that_are_documented(self) -> None:
        before = self.run_job("fields", "layer.data.validate=rows.csv", "validate.every.steps=20")
        folder = next((self.root / "fields").iterdir())
        self.dlhost("run", "--resume", str(folder), "--set=train.stop.steps=52")
        summary = json.loads((folder / "summary.json").read_text())
        table = DOCUMENTED[DOCUMENTED.index("## summary.json") : DOCUMENTED.index("## Checkpoints")]
        cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        fields = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
        self.assertGreater(len(fields), 10)
        self.assertEqual(summary.keys(), fields)
        self.assertEqual(before.keys(), fields)
        for phase in "train", "validation", "test":
            self.assertLessEqual({"loss", "right"}, summary[phase].keys(), phase)

        examples = re.search(r"```json\n(.*?)```", DOCUMENTED, re.DOTALL)[1].splitlines()
        documented = {record["phase"]: record for record in map(json.loads, examples)}
        documented["test"] = documented["validation"]
        records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual({record["phase"] for record in records}, documented.keys())
        for record in records:
            example = documented[record["phase"]]
            self.assertEqual(record.keys(), example.keys(), record)
            for name, value in record.items():
                number = isinstance(example[name], (int, float))
                self.assertIsInstance(value, (int, float) if number else type(example[name]), name)
            if "metrics" in record:
                self.assertEqual(record["metrics"].keys() & {"loss", "right"}, {"loss", "right"})
        for name in ("started", "job.toml", "metrics.jsonl", "summary.json", "checkpoints", "leader", "leader.json"):
            self.assertRegex(DOCUMENTED, rf"`{re.escape(name)}/?`")
            self.assertTrue((folder / name).exists(), name)

    def test_the_event_file_has_the_same_as_the_records(self) -> None:
        if not WRITES_TENSORBOARD:
            self.skipTest("this build has no protobuf, and writes no event files")
        file, = self.run_folder.glob("events.out.tfevents.*")
        first, *events = map(fields_of, records_of(file.read_bytes()))
        self.assertEqual([value for field, value in first if field == 3], [b"brain.Event:2"])  # the format's name
        scalars: dict[tuple[int, str], float] = {}
        texts: set[str] = set()
        for event in events:
            step, summary = dict(event)[2], dict(event)[5]
            for field, value in fields_of(summary):
                told = dict(fields_of(value))
                if 2 in told:
                    scalars[step, told[1].decode()], = struct.unpack("<f", told[2])
                else:
                    texts.add(told[1].decode())
        self.assertIn((50, "train/loss"), scalars)
        self.assertEqual(texts, {"test/guessed"})
        expected = {}
        for record in map(json.loads, (self.run_folder / "metrics.jsonl").read_text().splitlines()):
            named = {f"{record['phase']}/{name}": record["metrics"][name] for name in ("loss", "right")}
            if record["phase"] == "train":
                named |= {name: record[name] for name in ("rate", "items_per_second")}
            for name, value in named.items():
                expected[record["step"], name], = struct.unpack("<f", struct.pack("<f", value))
        self.assertEqual(scalars, expected)

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
        del told["run"]["plan"]["hash"]  # of other choices
        told["run"]["plugins"]["ref"] = "0.9+0123456789abcdef"
        told["blake2b"] = ""  # sealed again, as a run with other settings would be
        text = json.dumps(told, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
        digest = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
        manifest.write_text(text.replace('"blake2b": ""', f'"blake2b": "{digest}"', 1))
        longer = ["run", "job.toml", "--set", "train.stop.steps=52", "--resume"]
        done = subprocess.run([DLHOST, *longer, "moved"], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "layer 'fc', forward gemm was another kernel .* and is ")
        self.assertIn("plugin 'ref' was \"0.9+0123456789abcdef\" and is ", done.stderr)
        shutil.copytree(self.run_folder, self.root / "again")
        done = subprocess.run([DLHOST, *longer, "again"], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_without_tensorboard_there_is_no_event_file(self) -> None:
        self.dlhost("run", "job.toml", "--set", "record.tensorboard=false", "--set", "record.folder=plain", "--set", "train.stop.steps=2")
        self.assertEqual(list(next((self.root / "plain").iterdir()).glob("events*")), [])


unittest.main()
