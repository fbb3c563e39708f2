#!/usr/bin/env python3
"""cpu_test.py DLHOST: `dlhost` on the cpu device, whose kernels choose formats and share work among threads."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

DLHOST = os.path.realpath(sys.argv.pop(1))
HEAD = """name = "small"
seed = 5
[train]
device = "cpu"
batch = 16
stop = { steps = 40 }
[updater]
type = "sgd"
momentum = 0.9
rate = 0.02
[record]
every = { steps = 1 }
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [3, 16, 16]
classes = 4
train = 200
test = 40
augment = ["mirror"]
"""
CONVOLUTION = ("convolution", "filters = 16\nkernel = 3\npad = 1")
DENSE = ("dense", "units = 4")


def job_of(*layers: tuple[str, str]) -> str:
    """A chain of the layers, then the loss."""
    job, src = HEAD, "data"
    for number, (kind, options) in enumerate(layers):
        job += f'[[layer]]\nname = "l{number}"\ntype = "{kind}"\nsrc = "{src}"\n{options}\n'
        src = f"l{number}"
    return job + f'[[layer]]\nname = "loss"\ntype = "softmax_loss"\nsrc = ["{src}", "data:label"]\n'


def read_tensors(path: pathlib.Path) -> dict[str, bytes]:
    data = path.read_bytes()
    begin = 8 + struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:begin])
    places = {name: tensor["data_offsets"] for name, tensor in header.items() if name != "__metadata__"}
    return {name: data[begin + at : begin + end] for name, (at, end) in places.items()}


class Cpu(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def dlhost(self, *words: str) -> str:
        done = subprocess.run([DLHOST, *words], cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def write(self, *layers: tuple[str, str]) -> None:
        (self.root / "job.toml").write_text(job_of(*layers))


class Conversions(Cpu):
    """`dlhost check` prints how often a step converts a feature between the formats of different layers."""

    def conversions(self, *layers: tuple[str, str]) -> int:
        self.write(*layers)
        told = json.loads(self.dlhost("check", "job.toml", "--json"))["conversions"]
        line = f"\nconversions {told} a step, between layers that want a feature in different memory formats"
        self.assertEqual(line in self.dlhost("check", "job.toml"), told > 0)
        return told

    def test_dense_layers_agree(self) -> None:
        self.assertEqual(self.conversions(("dense", "units = 20"), ("relu", ""), DENSE), 0)

    def test_a_convolution_and_a_dense_layer_do_not(self) -> None:
        if " avx2 " not in pathlib.Path("/proc/cpuinfo").read_text():
            self.skipTest("without AVX2 its convolutions take features as they are")
        self.assertGreater(self.conversions(CONVOLUTION, DENSE), 0)


class Cores(Cpu):
    def test_threads_that_lack_a_core_are_told(self) -> None:
        self.write(CONVOLUTION, DENSE)
        one = {min(os.sched_getaffinity(0))}
        words = [DLHOST, "run", "job.toml", "--set=train.threads=4", "--set=train.stop.steps=0", "--set=train.stop.seconds=5"]
        done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, timeout=60,
                              env=os.environ | {"OMP_WAIT_POLICY": "active"}, preexec_fn=lambda: os.sched_setaffinity(0, one))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"its threads have waited \S+ s for a core, all together")


class InstructionSets(Cpu):
    """On any machine as on the least supported processor."""

    LEAST = ('--set=train.device={type="cpu",isa="sse41"}',)

    def refusal(self, *words: str) -> str:
        done = subprocess.run([DLHOST, "check", "job.toml", *self.LEAST, *words], cwd=self.root, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stderr

    def test_the_one_in_use_is_named(self) -> None:
        self.write(CONVOLUTION, DENSE)
        self.assertIn("SSE4.1", json.loads(self.dlhost("check", "job.toml", "--json", *self.LEAST))["device"])
        self.dlhost("run", "job.toml", *self.LEAST)
        summary, = self.root.glob("runs/*/summary.json")
        self.assertIn("SSE4.1", json.loads(summary.read_text())["versions"]["cpu"])

    def test_a_dtype_without_products_is_refused_where_it_is_named(self) -> None:
        self.write(("relu", ""), DENSE)
        for dtype, needed in ("bf16", "AVX-512"), ("f16", "AVX-512 FP16"):
            remedy = f'that needs {needed}, and this processor has SSE4.1; take dtype = "f32"'
            refusal = self.refusal(f"--set=train.dtype={dtype}")
            self.assertIn(f"--set train.dtype={dtype}: train.dtype: ", refusal)
            self.assertIn(remedy, refusal)
            refusal = self.refusal(f"--set=layer.l0.dtype={dtype}")
            self.assertIn("layer 'l0': dtype: ", refusal)
            self.assertIn(remedy, refusal)


class Half(Cpu):
    def test_no_op_of_a_convolutional_net_is_made_by_plain_loops(self) -> None:
        """They take about a hundred times as long."""
        self.write(CONVOLUTION, ("batch_norm", ""), ("relu", ""), CONVOLUTION, DENSE)
        done = subprocess.run([DLHOST, "check", "-v", "job.toml", "--set=train.dtype=f16"], cwd=self.root,
                              capture_output=True, text=True, timeout=60)
        if "this processor has" in done.stderr:
            self.skipTest("this processor has no products in f16")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("slow: oneDNN", done.stdout)


class Resuming(Cpu):
    """A resumed run has the same losses and params, bit for bit, as an uninterrupted one."""

    NET = (CONVOLUTION, ("relu", ""), ("lrn", ""), ("pooling", "kernel = 2\nstride = 2"),
           CONVOLUTION, ("batch_norm", ""), ("relu", ""), ("dropout", ""), DENSE)

    def folder(self, runs: str) -> pathlib.Path:
        folder, = (self.root / runs).iterdir()
        return folder

    def losses(self, runs: str) -> dict[int, float]:
        records = map(json.loads, (self.folder(runs) / "metrics.jsonl").read_text().splitlines())
        return {record["step"]: record["metrics"]["loss"] for record in records if record["phase"] == "train"}

    def test_with_all_threads(self) -> None:
        """Stops within epochs of twelve steps; a new process continues each time."""
        self.write(*self.NET)
        self.dlhost("run", "job.toml", "--set=record.folder=whole")
        self.dlhost("run", "job.toml", "--set=record.folder=cut", "--set=train.stop.steps=7")
        for steps in 19, 40:
            before = json.loads((self.folder("cut") / "summary.json").read_text())["steps"]
            self.assertLess(before, steps)
            self.dlhost("run", "--resume", str(self.folder("cut")), f"--set=train.stop.steps={steps}")
        whole, cut = self.losses("whole"), self.losses("cut")
        self.assertEqual(list(whole), list(range(1, 41)))
        self.assertEqual(cut, whole)
        for file in "params", "history", "state":
            path = f"checkpoints/step-000000040/{file}.safetensors"
            expected, found = (read_tensors(self.folder(runs) / path) for runs in ("whole", "cut"))
            self.assertEqual(found.keys(), expected.keys())
            self.assertNotEqual(len(found), 0, file)
            for name, tensor in found.items():
                self.assertEqual(tensor, expected[name], name)


if __name__ == "__main__":
    known = subprocess.run([DLHOST, "inspect", "cpu", "--kind", "device", "--json"], capture_output=True, text=True)
    devices = json.loads(known.stdout) if known.returncode == 0 else []
    if all(device["problems"] for device in devices):
        reasons = [device["problems"][0] for device in devices] or ["it was not built"]
        print("skipped: there is no cpu device here:", *reasons)
        sys.exit(77)  # Meson's status of a skipped test
    unittest.main()
