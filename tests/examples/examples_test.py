#!/usr/bin/env python3
"""examples_test.py DLHOST SOURCES: every job in examples/ builds the published net and trains.

The data sets are synthetic, in the real formats and shapes; the pictures are the fuzz targets' seeds.
"""
import gzip
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

DLHOST, SOURCES = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1))

# Published numbers of params: LeNet and the CIFAR-10 nets from Caffe, ResNet-20 with projection shortcuts, the ImageNet
# nets from torchvision and Caffe (the AlexNet with groups).
PARAMS = {
    "digits": 38_410,
    "mnist-lenet": 431_080,
    "mnist-mlp": 11_972_510,
    "cifar10-quick": 145_578,
    "cifar10-full": 89_578,
    "cifar10-resnet20": 272_474,
    "alexnet": 60_965_224,
    "alexnet-one-tower": 61_100_840,
    "vgg11": 132_863_336,
    "resnet50": 25_557_032,
}
# Nets narrowed to train here; benchmarks measure the full ones.
NARROW = {name: [f"--set=layer.fc{i}.units=16" for i in (6, 7)] for name in ("alexnet", "alexnet-one-tower", "vgg11")}
BATCH = {"resnet50": 8}  # the job has 8 micro-batches
NEEDS_A_PLUGIN = {"custom-layer"}  # custom_layer_test.py has it


def write_mnist(folder: pathlib.Path) -> None:
    draw = random.Random(1)
    folder.mkdir(parents=True)
    for name, count in ("train", 40), ("t10k", 20):
        images, labels = folder / f"{name}-images-idx3-ubyte.gz", folder / f"{name}-labels-idx1-ubyte.gz"
        images.write_bytes(gzip.compress(struct.pack(">4I", 0x803, count, 28, 28) + draw.randbytes(count * 784)))
        labels.write_bytes(gzip.compress(struct.pack(">2I", 0x801, count) + bytes(i % 10 for i in range(count))))


def write_cifar10(folder: pathlib.Path) -> None:
    draw = random.Random(2)
    folder.mkdir(parents=True)
    for name in *(f"data_batch_{i}" for i in range(1, 6)), "test_batch":
        (folder / f"{name}.bin").write_bytes(b"".join(bytes([i % 10]) + draw.randbytes(3072) for i in range(8)))


def write_imagenet(folder: pathlib.Path) -> None:
    for part in "train", "val":
        for label, seed in ("n01", "picture.jpg"), ("n02", "grey.jpg"):
            into = folder / part / label
            into.mkdir(parents=True)
            for i in range(4):
                shutil.copy(SOURCES / "tests/fuzz/seeds" / seed, into / f"{i}.jpg")


# The cpu device needs AVX-512 to compute in bf16.
F32 = [] if "avx512bw" in pathlib.Path("/proc/cpuinfo").read_text() else ["--set=train.dtype=f32"]


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name) / "examples"
        shutil.copytree(SOURCES / "examples", cls.root, ignore=shutil.ignore_patterns("data", "runs", "build"))
        write_mnist(cls.root / "data/mnist")
        write_cifar10(cls.root / "data/cifar10")
        write_imagenet(cls.root / "data/imagenet")

    def dlhost(self, *words: str) -> str:
        done = subprocess.run([DLHOST, *words], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def batch(self, name: str) -> str:
        return f"--set=train.batch={BATCH.get(name, 2)}"

    def test_every_example_is_known_here(self) -> None:
        self.assertEqual({job.parent.name for job in self.root.glob("*/job.toml")}, PARAMS.keys() | NEEDS_A_PLUGIN)

    def test_nets_are_the_published_ones(self) -> None:
        for job in sorted(self.root.glob("*/*.toml")):
            if job.parent.name not in PARAMS:
                continue
            with self.subTest(job=str(job.relative_to(self.root))):
                net = json.loads(self.dlhost("check", "--json", self.batch(job.parent.name), *F32, str(job)))
                self.assertEqual(net["params"], PARAMS[job.parent.name])
                kernels = self.dlhost("check", "-v", self.batch(job.parent.name), *F32, str(job))
                self.assertNotIn("ref:", kernels)  # oneDNN's reference loops are a hundred times as slow

    def test_the_quick_start_recognises_digits(self) -> None:
        """Runs the job of examples/ unchanged."""
        inspect = [DLHOST, "inspect", "cpu", "--kind", "device", "--json"]
        told = subprocess.run(inspect, capture_output=True, text=True, timeout=60)
        if told.returncode != 0 or json.loads(told.stdout)[0]["problems"]:
            self.skipTest(f"there is no cpu device here: {told.stdout}{told.stderr}")
        self.dlhost("run", "digits/job.toml", f"--set=record.folder={self.root.parent / 'quick-start'}")
        summary = json.loads(next((self.root.parent / "quick-start").glob("*/summary.json")).read_text())
        self.assertEqual((summary["status"], summary["epochs"]), ("done", 100))
        self.assertGreaterEqual(summary["test"]["accuracy"], 0.97)

    def test_jobs_train(self) -> None:
        for name in PARAMS:
            with self.subTest(job=name):
                runs = self.root.parent / "runs" / name
                self.dlhost("run", f"{name}/job.toml", self.batch(name), "--set=train.stop.steps=2", "--set=train.threads=1",
                            "--set=updater.rate=1e-4", f"--set=record.folder={runs}", *F32, *NARROW.get(name, []))
                summary = json.loads(next(runs.glob("*/summary.json")).read_text())
                self.assertEqual((summary["status"], summary["steps"]), ("done", 2))
                self.assertTrue({"loss", "accuracy"} <= summary["test"].keys(), summary)
                self.assertTrue(0 < summary["train"]["loss"] < 20, summary)


if __name__ == "__main__":
    unittest.main()
