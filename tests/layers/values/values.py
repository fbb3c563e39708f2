"""Shared by the tests of values: runs a tiny job and reads its layers' outputs back, to compare them with the
documented formula in Python's own numbers. Knows no layer."""
import ast
import itertools
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterator, Sequence

BATCH = 2  # of training and evaluations, unless a test has another: most arrays fill several, but not the last


class Array:
    """Numbers in a shape, the last axis fastest. Whole numbers (labels, indices) are written as i32, others as f32."""

    def __init__(self, shape: Sequence[int], numbers: Sequence[float]) -> None:
        assert math.prod(shape) == len(numbers), (shape, len(numbers))
        self.shape, self.numbers = tuple(shape), list(numbers)

    @classmethod
    def of(cls, shape: Sequence[int], number: Callable[..., float]) -> "Array":
        """number(i, j, ...) for each place."""
        return cls(shape, [number(*place) for place in places(shape)])

    @classmethod
    def drawn(cls, shape: Sequence[int], seed: int, low: float = -2, high: float = 2) -> "Array":
        """Numbers in [low, high], in steps of a 64th, which are exact in f32."""
        draw = random.Random(seed)
        return cls(shape, [draw.randint(round(low * 64), round(high * 64)) / 64 for _ in range(math.prod(shape))])

    def __getitem__(self, place: int | tuple[int, ...]) -> float:
        place = place if isinstance(place, tuple) else (place,)
        assert len(place) == len(self.shape), (place, self.shape)
        at = 0
        for index, size in zip(place, self.shape):
            assert 0 <= index < size, (place, self.shape)
            at = at * size + index
        return self.numbers[at]

    def packed(self) -> bytes:
        return struct.pack(f"<{len(self.numbers)}{'i' if self.whole() else 'f'}", *self.numbers)

    def whole(self) -> bool:
        return all(isinstance(number, int) for number in self.numbers)


def places(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


def write_npy(path: pathlib.Path, array: Array) -> None:
    kind = "<i4" if array.whole() else "<f4"
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {array.shape}, }}\n".encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + array.packed())


def read_npy(path: pathlib.Path) -> Array:
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length, = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10:10 + length].decode().strip())
    assert not header["fortran_order"]
    code = {"<f4": "f", "<i4": "i", "|u1": "B"}[header["descr"]]
    return Array(header["shape"], struct.unpack(f"<{math.prod(header['shape'])}{code}", data[10 + length:]))


def write_safetensors(path: pathlib.Path, params: dict[str, Array]) -> None:
    header, body = {}, b""
    for name, array in params.items():
        data = struct.pack(f"<{len(array.numbers)}f", *array.numbers)
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def read_safetensors(path: pathlib.Path) -> dict[str, Array]:
    data = path.read_bytes()
    length, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    params = {}
    for name, tensor in header.items():
        body = data[8 + length:][slice(*tensor["data_offsets"])]
        params[name] = Array(tensor["shape"], struct.unpack(f"<{len(body) // 4}f", body))
    return params


class Values(unittest.TestCase):
    """A test runs one job or several in one folder, on `device`."""

    dlhost = ""
    device = "ref"
    tolerance = 1e-5  # relative: sums of f32 terms round
    floor = 2e-6  # absolute, in addition: terms may cancel

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def call(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run([self.dlhost, *arguments], cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr if code else done.stdout

    def run_job(self, arrays: dict[str, Array], layers: str, made: Sequence[str] = (),
                params: dict[str, Array] | None = None, batch: int = BATCH, steps: int = 1,
                rate: float = 0) -> dict[str, Array]:
        """Trains the layers on arrays, which are sources by their names, then tests all samples; returns the test's
        outputs `made`. Params start from `params`, if given; params without a loss must be `frozen`. Afterwards
        self.summary is the run's, and params() are its final ones."""
        samples = next(iter(arrays.values())).shape[0]
        start = ""
        if params:
            write_safetensors(self.root / "params.safetensors", params)
            start = 'init_from = "params.safetensors"\n'
        job = f'name = "values"\n[train]\ndevice = "{self.device}"\nthreads = 1\nshuffle = false\nlast = "partial"\n' \
              f'{start}batch = {batch}\nstop = {{ steps = {steps} }}\n' \
              f'[updater]\nrate = {rate}\n[record]\ntensorboard = false\n'
        for name, array in (arrays | {"nothing": Array.of((samples, 1), lambda *_: 0.0)}).items():
            write_npy(self.root / f"{name}.npy", array)
            job += f'[[layer]]\nname = "{name}"\ntype = "npy"\ntrain = ["{name}.npy"]\ntest = ["{name}.npy"]\n'
        # A run needs a loss, also in tests of other layers.
        job += layers + '\n[[layer]]\nname = "a_loss"\ntype = "euclidean_loss"\nsrc = ["nothing", "nothing"]\n'
        for number, output in enumerate(made):
            job += f'[[layer]]\nname = "made_{number}"\ntype = "npy_output"\nsrc = "{output}"\n' \
                   f'file = "made_{number}.npy"\n'
        self.run_text(job)
        return {output: read_npy(self.root / f"made_{number}.npy") for number, output in enumerate(made)}

    def run_text(self, job: str) -> None:
        (self.root / "job.toml").write_text(job)
        before = set((self.root / "runs").glob("*"))
        self.call("run", "job.toml", "--set", "record.folder=runs")
        self.run_folder, = set((self.root / "runs").iterdir()) - before
        self.summary = json.loads((self.run_folder / "summary.json").read_text())

    def params(self) -> dict[str, Array]:
        self.call("export", str(self.run_folder), "-o", "left.safetensors")
        return read_safetensors(self.root / "left.safetensors")

    def assert_near(self, found: Array, expected: Array, what: str = "") -> None:
        self.assertEqual(found.shape, expected.shape, what)
        for place, one, other in zip(places(found.shape), found.numbers, expected.numbers):
            self.assert_close(one, other, f"{what} at {place}")

    def assert_close(self, found: float, expected: float, what: str = "") -> None:
        allowed = self.tolerance * abs(expected) + self.floor
        self.assertTrue(abs(found - expected) <= allowed, f"{what}: {found}, but the formula gives {expected}")


def main() -> None:
    """Runs a test file as FILE DLHOST DEVICE."""
    Values.dlhost, Values.device = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    del sys.argv[1:3]
    unittest.main()
