#!/usr/bin/env python3
"""mistakes_test.py DLHOST DOCS/mistakes.md: each mistake of that table gives its message, with the place and the
remedy. --write rewrites the table with the current messages."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from typing import Callable

WRITES = "--write" in sys.argv
if WRITES:
    sys.argv.remove("--write")
PAGE = pathlib.Path(sys.argv.pop(2)).resolve()
DLHOST = str(pathlib.Path(sys.argv.pop(1)).resolve())
JOB = """name = "small"
[train]
batch = 4
device = "ref"
threads = 1
stop = { steps = 5 }
[record]
folder = "runs"
[updater]
type = "sgd"
rate = 0.1
momentum = 0.9
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
"""
ROWS = "".join(f"{i},{i % 5},{i % 7},{i % 3}\n" for i in range(12))
RUN = ("run", "job.toml")
Prepare = Callable[["Mistakes"], None]


def job(old: str, new: str) -> Prepare:
    def write(test: "Mistakes") -> None:
        assert old in JOB, old
        (test.root / "job.toml").write_text(JOB.replace(old, new))
    return write


def rows(text: str) -> Prepare:
    return lambda test: test.write("rows.csv", text)


def trained(then: Prepare = lambda test: None) -> Prepare:
    def prepare(test: "Mistakes") -> None:
        test.call(*RUN)
        then(test)
    return prepare


def nothing(test: "Mistakes") -> None:
    """Leaves the job above unchanged."""


def cut_params(test: "Mistakes") -> None:
    path, = test.root.glob("runs/*/checkpoints/step-*/params.safetensors")
    path.write_bytes(path.read_bytes()[:-7])


def broken_plugin(test: "Mistakes") -> None:
    test.write("plugins/mine.so", "no ELF file")
    test.plugins = f"{os.environ['DLHOST_PLUGIN_PATH']}:{test.root}/plugins"


def no_plugins(test: "Mistakes") -> None:
    test.plugins = "/nowhere"


# The mistake, the command, and the preparation of the folder.
MISTAKES: dict[str, tuple[tuple[str, ...], Prepare]] = {
    "an option is misspelt": (RUN, job("momentum", "momentun")),
    "a layer's type is misspelt": (RUN, job('"dense"', '"dence"')),
    "a source's name is misspelt": (RUN, job('src = "data"', 'src = "dta"')),
    "a table has another name": (RUN, job("[updater]", "[optimizer]")),
    "a number is in quotes": (RUN, job("units = 3", 'units = "3"')),
    "a rate is in quotes": (RUN, job("rate = 0.1", 'rate = "0.1"')),
    "a number is too small": (RUN, job("units = 3", "units = 0")),
    "a bracket is missing": (RUN, job("[updater]", "[updater")),
    "a key is given twice": (RUN, job("units = 3", "units = 3\nunits = 4")),
    "a layer's name is given twice": (RUN, job('name = "loss"', 'name = "fc"')),
    "layers read one another in a circle": (RUN, job('src = "data"', 'src = "loss"')),
    "there is no loss": (RUN, job(JOB[JOB.rindex("[[layer]]"):], "")),
    "a loss gets labels of another form": (RUN, job("softmax_loss", "euclidean_loss")),
    "`--set` misspells a key": (RUN + ("--set", "train.bach=3"), nothing),
    "`--set` has no value": (RUN + ("--set", "train.batch"), nothing),
    "a device is misspelt": (RUN, job('"ref"', '"reff"')),
    "a batch is larger than the data": (RUN, job("batch = 4", "batch = 400")),
    "patience without validation samples": (RUN, job("steps = 5", "patience = 3")),
    "two counts of workers disagree": (RUN + ("--set", "topology.framework=allreduce", "--set", "topology.workers=2", "--set",
                                              "topology.workers_per_group=8"), nothing),
    "a topology's word is misspelt": (RUN + ("--set", "topology.framework=allreduc"), nothing),
    "a source is told a dtype": (RUN, job('type = "csv"', 'type = "csv"\ndtype = "bf16"')),
    "the job file is not there": (("run", "jobb.toml"), nothing),
    "a file of data is not there": (RUN, lambda test: (test.root / "rows.csv").unlink()),
    "a file of data is empty": (RUN, rows("")),
    "a row is shorter than the others": (RUN, rows(ROWS + "1,2\n")),
    "a word stands where a number is wanted": (RUN, rows(ROWS + "1,cat,2,1\n")),
    "a label is a word": (RUN, rows(ROWS + "1,2,2,cat\n")),
    "the first row names the columns": (RUN, rows("a,b,c,label\n" + ROWS)),
    "a label is beyond the net's units": (RUN, job("units = 3", "units = 2")),
    "the folder of runs is a file": (RUN, lambda test: test.write("runs", "")),
    "a plugin is no library": (RUN + ("--set", "layer.fc.type=mine"), broken_plugin),
    "no plugins are found": (RUN, no_plugins),
    "there is no run yet": (("eval",), nothing),
    "a file is taken for a run": (("eval", "rows.csv"), nothing),
    "a checkpoint was cut short": (("eval",), trained(cut_params)),
    "a run goes on with other data": (("run", "--resume", "small"), trained(rows(ROWS[: ROWS.index("5,0,5,2")]))),
    "samples to predict have a label": (("predict", "--data", "rows.csv"), trained()),
    "predictions of an unknown format": (("predict", "-o", "x.parquet"), trained()),
    "a picture of an unknown format": (("plot", "-o", "x.jpg"), trained()),
    "params of an unknown format": (("export", "-o", "x.onnx"), trained()),
    "a layer to predict is misspelt": (("predict", "--layer", "fd"), trained()),
    "a run that has ended is stopped": (("stop", "small"), trained()),
    "a worker of a run that has ended is killed": (("kill", "small", "1"), trained()),
    "a command is misspelt": (("trian", "job.toml"), nothing),
    "an option of a command is misspelt": (("run", "job.toml", "--stes=4"), nothing),
}


def table() -> dict[str, str]:
    """The page's message for each mistake."""
    found = re.findall(r"^\| (.*?) \| (`+) ?(.*?) ?\2 \|$", PAGE.read_text(), re.MULTILINE)
    return {mistake: message.replace("\\|", "|") for mistake, _, message in found}


def as_code(text: str) -> str:
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


class Mistakes(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.plugins = os.environ["DLHOST_PLUGIN_PATH"]
        self.write("job.toml", JOB)
        self.write("rows.csv", ROWS)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text)

    def call(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([DLHOST, *words], cwd=self.root, capture_output=True, text=True, timeout=60,
                              env=os.environ | {"DLHOST_PLUGIN_PATH": self.plugins})

    def said(self, mistake: str) -> str:
        """The message on one line, without machine-specific parts."""
        words, prepare = MISTAKES[mistake]
        prepare(self)
        done = self.call(*words)
        self.assertNotEqual(done.returncode, 0, f"{mistake}: {done.stdout}")
        text = done.stderr.replace(str(self.root), ".").replace("dlhost: ", "", 1)
        text = re.sub(r"small-\w+-\d+", "small-…", text)
        text = re.sub(r"; looked in .*", "", text)
        text = re.sub(r"(unknown device .*known: )[^)]*", r"\1…", text)  # some devices are optional
        text = re.sub(r"known: ((?:[\w:]+, ){6}).*?([);\n]|$)", r"known: \1…\2", text)
        return " ".join(text.split())

    def test_each_gets_its_message(self) -> None:
        said = {}
        for mistake in MISTAKES:
            with self.subTest(mistake):
                self.setUp()
                said[mistake] = self.said(mistake)
        if WRITES:
            page = PAGE.read_text()
            lines = "".join(f"| {mistake} | {as_code(text)} |\n" for mistake, text in said.items())
            head = page[: page.index("|---|---|\n") + len("|---|---|\n")]
            rest = page[len(head):]
            PAGE.write_text(head + lines + rest[re.match(r"(\|.*\n)*", rest).end():])
        self.maxDiff = None
        self.assertEqual(said, table())


unittest.main()
