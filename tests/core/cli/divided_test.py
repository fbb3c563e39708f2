#!/usr/bin/env python3
"""divided_test.py DLHOST: nets that are divided among the workers of a group have the params of one worker's training.

DLHOST_SEED draws the nets; DLHOST_NETS is how many there are (12)."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

dlhost = os.path.realpath(sys.argv.pop(1))
NETS = int(os.environ.get("DLHOST_NETS", "12"))
SEED = os.environ.get("DLHOST_SEED", "1")
BATCH, STEPS = 12, 20
HEAD = """name = "divided"
seed = 5
[train]
device = "ref"
batch = {batch}
threads = 1
stop = {{ steps = {steps} }}
[updater]
type = "{updater}"
rate = 0.05
[checkpoint]
keep = 1
[record]
every = {{ steps = 1 }}
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [6, 6]
classes = 3
train = 60
test = 20
{data}
"""


def layer(name: str, kind: str, source: str, more: str) -> str:
    return f'[[layer]]\nname = "{name}"\ntype = "{kind}"\nsrc = {source}\n{more}\n'


class Drawn:
    """A net, and what each of its layers says about its workers."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.workers = draw, draw.choice((2, 3, 4))
        self.updater = draw.choice(("sgd", "adam"))
        self.layers: list[tuple[str, str, str, str]] = []  # name, type, sources, keys
        top = "data"
        for depth in range(draw.choice((1, 2, 3))):
            top = self.add(f"fc{depth}", "dense", f'"{top}"', f"units = {draw.choice((4, 6, 8))}")
            top = self.add(f"act{depth}", draw.choice(("relu", "tanh")), f'"{top}"')
            if draw.random() < 0.3:  # two paths that meet again
                left = self.add(f"left{depth}", "dense", f'"{top}"', "units = 5")
                right = self.add(f"right{depth}", "dense", f'"{top}"', "units = 5")
                top = self.add(f"sum{depth}", "add", f'["{left}", "{right}"]')
        top = self.add("out", "dense", f'"{top}"', "units = 3")
        self.add("loss", "softmax_loss", f'["{top}", "data:label"]')
        self.add("accuracy", "accuracy", f'["{top}", "data:label"]')
        self.data = self.scheme("")
        self.schemes = [self.scheme(kind) for _, kind, _, _ in self.layers]

    def add(self, name: str, kind: str, sources: str, keys: str = "") -> str:
        self.layers.append((name, kind, sources, keys))
        return name

    def scheme(self, kind: str) -> str:
        places = self.draw.sample(range(self.workers), self.draw.randint(1, self.workers))
        kinds = ["", f"location = {places[0]}", f"location = {sorted(places)}"]
        if kind == "dense" and self.workers <= 3:  # units enough for parts
            kinds += ['partition = "features"', f'partition = "features"\nlocation = {sorted(places)}']
        if kind != "dense":
            kinds += ['partition = "none"', f'partition = "none"\nlocation = {sorted(places)}']
        return self.draw.choice(kinds)

    def job(self, *, divided: bool) -> str:
        text = HEAD.format(batch=BATCH, steps=STEPS, updater=self.updater, data=self.data if divided else "")
        for (name, kind, sources, keys), scheme in zip(self.layers, self.schemes, strict=True):
            text += layer(name, kind, sources, f"{keys}\n{scheme if divided else ''}")
        return text


def params(run: pathlib.Path) -> dict[str, list[float]]:
    path = sorted(run.glob("checkpoints/*/params.safetensors"))[-1]
    data = path.read_bytes()
    length, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    read = {}
    for name, tensor in header.items():
        first, last = tensor["data_offsets"]
        read[name] = list(struct.unpack(f"<{(last - first) // 4}f", data[8 + length + first:8 + length + last]))
    return read


class Divided(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def run_job(self, text: str, *words: str) -> tuple[dict[str, list[float]], list[float]]:
        """The last params, and the loss of each step."""
        (self.root / "job.toml").write_text(text)
        before = set(self.root.glob("runs/*"))
        done = subprocess.run([dlhost, "run", "job.toml", *words], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, f"{text}\n{words}\n{done.stdout}{done.stderr}")
        run = (set(self.root.glob("runs/*")) - before).pop()
        if words:  # one worker keeps no ledger
            told = subprocess.run([dlhost, "audit", str(run)], cwd=self.root, capture_output=True, text=True, timeout=120)
            self.assertEqual(told.returncode, 0, f"{text}\n{words}\n{told.stdout}{told.stderr}")
            self.assertNotIn("in no version", told.stdout)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        return params(run), [line["metrics"]["loss"] for line in lines if line.get("phase") == "train"]

    def test_drawn_nets_train_as_one_worker_does(self) -> None:
        for number in range(NETS):
            drawn = Drawn(random.Random(f"{SEED} {number}"))
            run_as = drawn.draw.choice(("threads", "processes"))
            servers = drawn.draw.randint(1, drawn.workers)
            words = [f"--set=topology.workers_per_group={drawn.workers}", f"--set=topology.servers_per_group={servers}",
                     f"--set=topology.run_as={run_as}", "--set=topology.slice_elements=16"]
            with self.subTest(seed=SEED, net=number, run_as=run_as, servers=servers):
                alone, losses = self.run_job(drawn.job(divided=False))
                together, their_losses = self.run_job(drawn.job(divided=True), *words)
                self.assertEqual(alone.keys(), together.keys())
                self.assertEqual(len(losses), STEPS)
                for here, there in zip(losses, their_losses, strict=True):
                    self.assertAlmostEqual(here, there, delta=1e-5 * max(1, abs(here)))
                for name, values in alone.items():
                    for here, there in zip(values, together[name], strict=True):
                        self.assertAlmostEqual(here, there, delta=1e-5 * max(1, abs(here)), msg=f"{name}\n{drawn.job(divided=True)}")

    def test_a_run_goes_on_under_another_division(self) -> None:
        drawn = Drawn(random.Random(f"{SEED} resumed"))
        words = f"--set=topology.workers_per_group={drawn.workers}"
        whole, _ = self.run_job(drawn.job(divided=False).replace(f"steps = {STEPS}", f"steps = {2 * STEPS}"))
        half, _ = self.run_job(drawn.job(divided=True), words)
        run = sorted(self.root.glob("runs/*"))[-1]
        (self.root / "job.toml").write_text(drawn.job(divided=False))
        done = subprocess.run([dlhost, "run", "job.toml", f"--resume={run}", f"--set=train.stop.steps={2 * STEPS}"], cwd=self.root,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        resumed = params(run)
        self.assertNotEqual(resumed, half)
        for name, values in whole.items():
            for here, there in zip(values, resumed[name], strict=True):
                self.assertAlmostEqual(here, there, delta=2e-5 * max(1, abs(here)), msg=name)


if __name__ == "__main__":
    unittest.main()
