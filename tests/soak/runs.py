"""Whole runs for the soak tests: random jobs, and the results of disturbed runs."""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

SEED = int(os.environ.get("DLHOST_SEED", "1"))
STEPS = 40
UPDATERS = (
    'type = "sgd"',
    'type = "sgd"\nmomentum = 0.9',
    'type = "sgd"\nmomentum = 0.8\nnesterov = true\nweight_decay = 1e-3',
    *(f'type = "{name}"' for name in ("adam", "adamw", "adagrad", "adadelta", "rmsprop", "adamax", "nadam", "lamb")),
)
RATES = ("0.01", '{ type = "cosine", base = 0.02, warmup = 5 }')
SOURCE = """[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [1, 6, 6]
classes = 4
train = 50
augment = ["mirror"]
"""


def random_job(draw: random.Random, source: str = SOURCE, last_layer: str = "") -> str:
    """A job of STEPS steps that logs each. `last_layer`: the type of a layer 'odd' between the net and its loss."""
    layers: list[str] = []

    def layer(kind: str, *options: str, name: str = "") -> None:
        src = f"l{len(layers) - 1}" if layers else "data"
        layers.append("\n".join(("[[layer]]", f'name = "{name or f"l{len(layers)}"}"', f'type = "{kind}"', f'src = "{src}"', *options)))

    if source is SOURCE and draw.random() < 0.5:
        layer("convolution", f"filters = {draw.choice((3, 8))}", "kernel = 3", "pad = 1")
    for _ in range(draw.randint(1, 3)):
        layer("dense", f"units = {draw.randint(3, 17)}")
        if draw.random() < 0.4:
            layer("batch_norm")
        layer(draw.choice(("tanh", "relu", "sigmoid")))
        if draw.random() < 0.4:
            layer("dropout")
    layer("dense", "units = 4")
    if last_layer:
        layer(last_layer, name="odd")
    out = "odd" if last_layer else f"l{len(layers) - 1}"
    body = "\n".join(layers)
    return f"""name = "soak"
seed = {draw.randint(0, 1 << 40)}
[train]
device = "ref"
batch = {draw.randint(2, 8)}
last_batch = "{draw.choice(("drop", "wrap", "partial"))}"
threads = {draw.randint(1, 2)}
readers = {draw.randint(0, 2)}
hang_limit = 2
stop = {{ steps = {STEPS} }}
[checkpoint]
every = {{ steps = {draw.randint(1, 4)} }}
[record]
every = {{ steps = 1 }}
[validate]
at_end = false
[test]
at_end = false
[updater]
{draw.choice(UPDATERS)}
rate = {draw.choice(RATES)}
{source}
{body}
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["{out}", "data:label"]
"""


class Runs(unittest.TestCase):
    """A test has a folder, and draws of its own from the soak's seed."""

    dlhost = "dlhost"

    def setUp(self) -> None:
        self.draw = random.Random(f"{SEED} {self.id()}")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def new_job(self, **parts: str) -> str:
        job = random_job(self.draw, **parts)
        (self.root / "job.toml").write_text(job)
        return job

    def start(self, runs: str, *words: str) -> subprocess.Popen:
        command = [self.dlhost, "run", "job.toml", f"--set=record.folder={runs}", *words]
        return subprocess.Popen(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run_job(self, runs: str, *words: str, code: int = 0) -> str:
        process = self.start(runs, *words)
        said, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, said)
        return said

    def folder(self, runs: str) -> pathlib.Path:
        return min((self.root / runs).iterdir())  # the first run

    def checkpoints(self, runs: str) -> list[pathlib.Path]:
        """Finished checkpoints, oldest first."""
        return sorted(p for p in (self.folder(runs) / "checkpoints").glob("step-*") if not p.name.endswith(".unfinished"))

    def losses(self, runs: str) -> dict[int, float]:
        """The loss of each step; a repeated step must have the same loss."""
        losses: dict[int, float] = {}
        for line in (self.folder(runs) / "metrics.jsonl").read_text().splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue  # torn by a kill
            if record["phase"] == "train":
                loss = record["metrics"]["loss"]
                self.assertEqual(losses.setdefault(record["step"], loss), loss, f"step {record['step']}")
        return losses

    def same_end(self, runs: str, reference: str) -> None:
        """Compares losses, params, histories and state, bit for bit."""
        self.assertEqual(self.losses(runs), self.losses(reference))
        mine, other = self.checkpoints(runs)[-1], self.checkpoints(reference)[-1]
        self.assertEqual((mine.name, other.name), (f"step-{STEPS:09}",) * 2)
        for file in other.glob("*.safetensors"):
            self.assertEqual((mine / file.name).read_bytes(), file.read_bytes(), file.name)
