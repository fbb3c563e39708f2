#!/usr/bin/env python3
"""exchange_test.py DLHOST HAS_NPZ: exports params, and imports them into runs, under any names; reports mismatches."""
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib

HAS_NPZ = sys.argv.pop(2) == "yes"
DLHOST = str(pathlib.Path(sys.argv.pop(1)).resolve())
JOB = """name = "small"
[train]
batch = 10
threads = 1
device = "ref"
stop = { steps = 5 }
[record]
tensorboard = false
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [7]
classes = 3
train = 50
test = 20
[[layer]]
name = "fc1"
type = "dense"
src = "data"
units = 4
[[layer]]
name = "bn"
type = "batch_norm"
src = "fc1"
[[layer]]
name = "fc2"
type = "dense"
src = "bn"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc2", "data:label"]
"""
NAMES = ["bn.running_mean", "bn.running_variance", "bn.scale", "bn.shift", "fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"]
SHAPES = {"fc1.weight": [4, 7], "fc2.weight": [3, 4], "fc1.bias": [4], "fc2.bias": [3], "bn.scale": [4]}

Tensor = tuple[str, list[int], bytes]  # dtype as in safetensors, shape, elements


def read_safetensors(path: pathlib.Path) -> dict[str, Tensor]:
    data = path.read_bytes()
    length, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    body = data[8 + length:]
    return {name: (t["dtype"], t["shape"], body[slice(*t["data_offsets"])]) for name, t in header.items()}


def write_safetensors(path: pathlib.Path, tensors: dict[str, Tensor]) -> None:
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def npy(descr: str, shape: list[int], data: bytes, fortran: bool = False) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({''.join(f'{d},' for d in shape)}), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def floats(tensor: Tensor) -> tuple[float, ...]:
    return struct.unpack(f"<{len(tensor[2]) // 4}f", tensor[2])


def transposed(tensor: Tensor, code: str = "f") -> bytes:
    rows, columns = tensor[1]
    values = floats(tensor)
    return struct.pack(f"<{rows * columns}{code}", *(values[r * columns + c] for c in range(columns) for r in range(rows)))


def png() -> bytes:
    """A grey picture of 2 x 2."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\1\2\0\3\4")) + chunk(b"IEND", b"")


class Exchange(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "job.toml").write_text(JOB)
        self.dlhost("run", "job.toml", "--set", "record.folder=runs")
        self.run_folder = next((self.root / "runs").iterdir())
        self.dlhost("export", str(self.run_folder), "-o", "small.safetensors")
        self.params = read_safetensors(self.root / "small.safetensors")

    def dlhost(self, *arguments: str, code: int = 0, **environment: str) -> str:
        done = subprocess.run([DLHOST, *arguments], cwd=self.root, capture_output=True, text=True, timeout=120,
                              env=os.environ | environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr if code else done.stdout

    def params_of(self, run: str) -> dict[str, Tensor]:
        self.dlhost("export", run, "-o", "again.safetensors")
        return read_safetensors(self.root / "again.safetensors")

    def metrics(self, run: str) -> dict:
        return json.loads(self.dlhost("eval", run, "--json"))["metrics"]

    def test_exported_by_names_and_plain(self) -> None:
        self.assertEqual(sorted(self.params), NAMES)
        for name, shape in SHAPES.items():
            self.assertEqual(self.params[name][:2], ("F32", shape))

    def test_a_dense_layer_behind_a_picture_has_a_matrix(self) -> None:
        """[units, inputs], as other programs read it; imports both as this and in the picture's shape."""
        pictures = JOB.replace("shape = [7]", "shape = [2, 3, 3]").replace('type = "batch_norm"', 'type = "relu"')
        pictures = pictures.replace('[[layer]]\nname = "fc1"', '[[layer]]\nname = "conv"\ntype = "convolution"\nsrc = "data"\n'
                                    'filters = 5\nkernel = 3\n[[layer]]\nname = "wide"\ntype = "convolution"\nsrc = "data"\n'
                                    'filters = 2\nkernel = 1\n[[layer]]\nname = "far"\ntype = "dense"\nsrc = "wide"\nunits = 4\n'
                                    '[[layer]]\nname = "fc1"').replace('src = "data"\nunits', 'src = "conv"\nunits')
        pictures = pictures.replace('src = "fc1"', 'src = ["fc1", "far"]').replace('type = "relu"', 'type = "add"')
        (self.root / "pictures.toml").write_text(pictures)
        self.dlhost("run", "pictures.toml", "--set", "record.folder=pictured")
        run = str(next((self.root / "pictured").iterdir()))
        params = self.params_of(run)
        shapes = {name: tensor[1] for name, tensor in params.items() if name.endswith("weight")}
        self.assertEqual(shapes, {"conv.weight": [5, 2, 3, 3], "wide.weight": [2, 2, 1, 1], "far.weight": [4, 18],
                                  "fc1.weight": [4, 5], "fc2.weight": [3, 4]})
        write_safetensors(self.root / "matrices.safetensors", params)
        dtype, _, data = params["fc1.weight"]
        write_safetensors(self.root / "axes.safetensors", params | {"fc1.weight": (dtype, [4, 5, 1, 1], data),
                                                                    "far.weight": ("F32", [4, 2, 3, 3], params["far.weight"][2])})
        for file in ("matrices", "axes"):
            self.dlhost("import", f"{file}.safetensors", "--job", "pictures.toml", "-o", file)
            self.assertEqual(self.params_of(file), params)
            self.assertEqual(self.metrics(file), self.metrics(run))
            self.dlhost("run", "pictures.toml", "--set", f"train.init_from={file}.safetensors", "--set", "record.folder=again")

    def test_what_only_evaluates_needs_nothing_to_train_on(self) -> None:
        few = ("--set", "layer.data.train=3")  # fewer than a batch of 10
        self.dlhost("import", "small.safetensors", "--job", "job.toml", "-o", "few", *few)
        none = ("--set", "layer.data.train=0", "--set", "layer.data.test=4")
        self.dlhost("import", "small.safetensors", "--job", "job.toml", "-o", "none", *none)
        for run in ("few", "none"):
            self.assertEqual(self.params_of(run), self.params)
        self.assertEqual(self.metrics("few"), self.metrics(str(self.run_folder)))
        self.assertEqual(json.loads(self.dlhost("eval", "none", "--json"))["samples"], 4)
        self.dlhost("predict", "none", "-o", "rows.csv")
        self.assertEqual(len((self.root / "rows.csv").read_text().splitlines()), 1 + 4)
        self.assertIn("source 'data' has no training samples", self.dlhost("run", "--resume", "none", code=1))
        self.dlhost("run", "--resume", "none", "--set", "layer.data.train=50")  # from its first sample on
        self.dlhost("import", "small.safetensors", "--job", "job.toml", "-o", "whole")
        self.dlhost("run", "--resume", "whole")
        self.assertEqual(self.params_of("none"), self.params_of("whole"))

    def test_files_to_test_are_enough_to_evaluate(self) -> None:
        (self.root / "rows.csv").write_text("".join(f"{row},1,2,3,4,5,{row % 5},{row % 3}\n" for row in range(4)))
        job = JOB.replace('"synthetic"\nmode = "learnable"\nshape = [7]\nclasses = 3\ntrain = 50\ntest = 20', '"csv"\ntest = "rows.csv"')
        (self.root / "rows.toml").write_text(job)
        self.dlhost("import", "small.safetensors", "--job", "rows.toml", "-o", "taken")
        self.assertEqual(json.loads(self.dlhost("eval", "taken", "--json"))["samples"], 4)
        self.assertIn("no training samples", self.dlhost("run", "rows.toml", code=1))
        (self.root / "rows.toml").write_text(job.replace('test = "rows.csv"', ""))
        self.assertIn("give it train, or test", self.dlhost("run", "rows.toml", code=1))

    def test_missing_files_to_train_on_do_not_matter(self) -> None:
        rows = "".join(f"{row},1,2,3,4,5,{row % 5},{row % 3}\n" for row in range(4))
        synthetic = '"synthetic"\nmode = "learnable"\nshape = [7]\nclasses = 3\ntrain = 50\ntest = 20'
        (self.root / "rows.csv").write_text(rows)
        job = JOB.replace(synthetic, '"csv"\ntrain = "none.csv"\ntest = "rows.csv"')
        (self.root / "rows.toml").write_text(job)
        self.dlhost("import", "small.safetensors", "--job", "rows.toml", "-o", "taken")
        without = subprocess.run([DLHOST, "eval", "taken", "--json"], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual(without.returncode, 0, without.stderr)
        self.assertEqual(json.loads(without.stdout)["samples"], 4)
        self.assertRegex(without.stderr, "source 'data' is read without its training samples: .*none.csv")
        self.dlhost("predict", "taken", "-o", "predicted.csv")
        self.dlhost("eval", "taken", "--phase", "train", code=1)
        for command in "check", "run":
            self.assertIn("none.csv", self.dlhost(command, "rows.toml", code=1))
        # As if the file were there.
        (self.root / "none.csv").write_text(5 * rows)
        self.assertEqual(json.loads(self.dlhost("eval", "taken", "--json"))["metrics"], json.loads(without.stdout)["metrics"])
        (self.root / "none.csv").unlink()
        # Test samples out of training samples need them.
        (self.root / "rows.toml").write_text(job.replace('test = "rows.csv"', "test_every = 3"))
        self.assertIn("none.csv", self.dlhost("import", "small.safetensors", "--job", "rows.toml", "-o", "other", code=1))

    def test_classes_that_missing_files_number(self) -> None:
        """Without its training samples, a source that has other classes than in training is refused."""
        if "images" not in self.dlhost("inspect"):
            self.skipTest("this dlhost has no libjpeg or libpng")
        for name, names in ("train", "abc"), ("test", "bc"):
            for word in names:
                (self.root / name / word).mkdir(parents=True)
                (self.root / name / word / "one.png").write_bytes(png())
        source = '"images"\ntrain = "train"\ntest = "test"\nsize = [2]'
        job = JOB.replace('"synthetic"\nmode = "learnable"\nshape = [7]\nclasses = 3\ntrain = 50\ntest = 20', source)
        job = job.replace("batch = 10", "batch = 3")
        (self.root / "pictures.toml").write_text(job)
        self.dlhost("run", "pictures.toml", "--set", "record.folder=learned")
        run = str(next((self.root / "learned").iterdir()))
        (self.root / "train").rename(self.root / "away")
        said = self.dlhost("eval", run, code=1)
        self.assertRegex(said, "source 'data': .*train.*its classes may have other numbers: bring them back, or .*--set layer.data.train=")
        (self.root / "test/a").mkdir()
        (self.root / "test/a/one.png").write_bytes(png())
        self.dlhost("eval", run)  # the classes of training

    def test_imported_is_a_run_without_steps(self) -> None:
        text = self.dlhost("import", "small.safetensors", "--job", "job.toml", "-o", "taken")
        self.assertIn("8 tensors taken", text)
        self.assertEqual(self.params_of("taken"), self.params)
        self.assertEqual(self.metrics("taken"), self.metrics(str(self.run_folder)))
        self.dlhost("predict", "taken", "-o", "rows.csv")
        self.assertEqual(len((self.root / "rows.csv").read_text().splitlines()), 1 + 20)
        self.dlhost("run", "job.toml", "--resume", "taken")
        summary = json.loads((self.root / "taken/summary.json").read_text())
        self.assertEqual((summary["status"], summary["steps"]), ("done", 5))
        self.assertNotEqual(self.params_of("taken"), self.params)
        self.assertIn("taken", self.dlhost("import", "small.safetensors", "--job", "job.toml", "-o", "taken", code=1))
        said = self.dlhost("import", "none.npz", "--job", "job.toml", "-o", "other", code=1)
        self.assertRegex(said, "^dlhost: there is no '.*none[.]npz'")  # the job file does not name it

    def test_one_worker_takes_them_however_many_train(self) -> None:
        two = ("--set", "topology.workers_per_group=2", "--set", "topology.run_as=processes")
        # Processes meet in a temporary folder; without one, no process can start.
        self.dlhost("import", "small.safetensors", "--job", "job.toml", "-o", "taken", *two, TMPDIR=str(self.root / "nowhere"))
        self.assertEqual(self.params_of("taken"), self.params)
        done = subprocess.run([DLHOST, "run", "--resume", "taken"], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))  # it computes the plan of two, without a warning
        self.assertIn("workers_per_group = 2", (self.root / "taken/job.toml").read_text())

    def test_other_names_axes_and_types(self) -> None:
        theirs = {"head.kernel": ("F64", [4, 3], transposed(self.params["fc2.weight"], "d")),
                  "head.bias": ("F32", [1, 3], self.params["fc2.bias"][2]),
                  "body.1.kernel": ("F32", [7, 4], transposed(self.params["fc1.weight"])),
                  "body.1.bias": ("BF16", [4], b"\x80\x3f\x20\xc0\x00\x00\x00\x40"),
                  "steps": ("I64", [], bytes(8))}
        theirs |= {f"norm.{n}": self.params[f"bn.{n}"] for n in ("scale", "shift", "running_mean", "running_variance")}
        write_safetensors(self.root / "theirs.safetensors", theirs)
        (self.root / "names.toml").write_text("""unused = ["steps"]
[rename]
"fc2.weight" = { name = "head.kernel", order = [1, 0] }
"fc2.bias" = "head.bias"
"fc*.weight" = { name = "body.*.kernel", order = [1, 0] }
"fc*.bias" = "body.*.bias"
"bn.*" = "norm.*"
""")
        text = self.dlhost("import", "theirs.safetensors", "--job", "job.toml", "-o", "taken", "--map", "names.toml")
        self.assertIn("read into f32: fc1.bias, fc2.weight", text)
        self.assertIn("left out: steps", text)
        ours = self.params_of("taken")
        self.assertEqual(floats(ours.pop("fc1.bias")), (1, -2.5, 0, 2))
        self.params.pop("fc1.bias")
        self.assertEqual(ours, self.params)
        # The same map exports the params.
        self.dlhost("export", "taken", "-o", "back.safetensors", "--map", "names.toml")
        back = read_safetensors(self.root / "back.safetensors")
        self.assertEqual(back["body.1.kernel"], theirs["body.1.kernel"])
        self.assertEqual(back["head.kernel"][1:], ([4, 3], transposed(self.params["fc2.weight"])))
        self.assertEqual(sorted(back), sorted(set(theirs) - {"steps"}))

    def test_rows_are_pictures(self) -> None:
        """A dense layer's matrix and a weight with each axis of the picture have the same memory layout."""
        for shape, code in (([3, 2, 2], 0), ([2, 3, 2], 1)):
            theirs = self.params | {"fc2.weight": ("F32", shape, self.params["fc2.weight"][2])}
            write_safetensors(self.root / "theirs.safetensors", theirs)
            said = self.dlhost("import", "theirs.safetensors", "--job", "job.toml", "-o", f"taken{code}", code=code)
            if code:
                self.assertIn("'fc2.weight' is 2x3x2 there and 3x4 here", said)
        self.assertEqual(self.params_of("taken0"), self.params)

    def test_every_mismatch_at_once(self) -> None:
        theirs = {name: self.params[name] for name in NAMES if name not in ("fc1.bias", "bn.scale")}
        theirs["fc1.bais"] = self.params["fc1.bias"]
        theirs["fc2.weight"] = ("F32", [4, 3], self.params["fc2.weight"][2])
        theirs["fc1.weight"] = ("F32", [4, 6], bytes(96))
        theirs["bn.shift"] = ("I32", [4], bytes(16))
        write_safetensors(self.root / "theirs.safetensors", theirs)
        text = self.dlhost("import", "theirs.safetensors", "--job", "job.toml", "-o", "taken", "--except", "fc3.*", code=1)
        for expected in ("'fc1.bias' is not in it; did you mean 'fc1.bais'?", "'bn.scale' is not in it",
                         "'fc2.weight' is 4x3 there and 3x4 here: its axes lie in another order",
                         "'fc1.weight' is 4x6 there and 4x7 here\n", "'bn.shift' has elements of type i32",
                         "'fc1.bais' of the file is not in this net; did you mean 'fc1.bias'?",
                         "'fc3.*' is renamed or left out, but no param of this net is called so", "rename", "unused"):
            self.assertIn(expected, text)
        self.assertFalse((self.root / "taken").exists())
        text = self.dlhost("import", "small.safetensors", "--job", "job.toml", "-o", "taken", "--rename", "fc1.*=fc2.*", code=1)
        self.assertIn("both take 'fc2.weight'", text)

    def test_a_file_of_names_is_checked(self) -> None:
        (self.root / "names.toml").write_text('exept = ["a"]\n[rename]\n"a*" = "b"\nb = 3\nc = { name = "d", order = [0, 2] }\n')
        text = self.dlhost("export", str(self.run_folder), "-o", "x.npz", "--map", "names.toml", code=1)
        for expected in ("names.toml:1:1: exept: unknown option; did you mean 'except'?", "names.toml:3:1: rename.a*: 'a*' has 1 *",
                         "names.toml:4:1: rename.b: must be a name", "names.toml:5:1: rename.c: order must name each axis once"):
            self.assertIn(expected, text)
        self.assertFalse((self.root / "x.npz").exists())

    def test_a_run_starts_from_another(self) -> None:
        start = f"train.init_from={{ path = '{self.run_folder}', except = ['fc2.*', 'bn.running_*'] }}"
        text = self.dlhost("run", "job.toml", "--set", start, "--set", "updater.rate=0.0", "--set", "record.folder=tuned",
                           "--set", "layer.fc2.param.weight.init=0.5", "--set", "layer.bn.momentum=0")
        self.assertIn("4 tensors taken; kept as they were: fc2.weight, fc2.bias, bn.running_mean, bn.running_variance", text)
        ours = self.params_of(str(next((self.root / "tuned").iterdir())))
        self.assertEqual(ours["fc1.weight"], self.params["fc1.weight"])
        self.assertEqual(set(floats(ours["fc2.weight"])), {0.5})
        self.assertEqual(floats(ours["bn.running_variance"]), (1, 1, 1, 1))
        missing = self.dlhost("run", "job.toml", "--set", "train.init_from=nowhere", code=1)
        self.assertIn("there is no 'nowhere' to start from", missing)

    @unittest.skipUnless(HAS_NPZ, "this build has no npz files: libzip is missing")
    def test_npz_as_numpy_writes_it(self) -> None:
        with zipfile.ZipFile(self.root / "theirs.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            for name in NAMES:
                dtype, shape, data = self.params[name]
                if name == "fc1.weight":  # Fortran order: the elements of the transpose in C order
                    array = npy("<f4", shape, transposed(self.params[name]), fortran=True)
                elif name == "fc1.bias":
                    array = npy(">f8", shape, struct.pack(">4d", *floats(self.params[name])))
                else:
                    array = npy("<f4", shape, data)
                archive.writestr(name + ".npy", array)
        self.dlhost("import", "theirs.npz", "--job", "job.toml", "-o", "taken")
        self.assertEqual(self.params_of("taken"), self.params)

    @unittest.skipUnless(HAS_NPZ, "this build has no npz files: libzip is missing")
    def test_npz_is_what_zip_readers_expect(self) -> None:
        self.dlhost("export", str(self.run_folder), "-o", "small.npz")
        with zipfile.ZipFile(self.root / "small.npz") as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual(sorted(archive.namelist()), [name + ".npy" for name in NAMES])
            self.assertTrue(archive.read("fc1.weight.npy").endswith(self.params["fc1.weight"][2]))

    @unittest.skipUnless(HAS_NPZ and importlib.util.find_spec("numpy"), "there is no numpy")
    def test_numpy_itself(self) -> None:
        import numpy
        self.dlhost("export", str(self.run_folder), "-o", "small.npz")
        with numpy.load(self.root / "small.npz") as arrays:
            self.assertEqual(arrays["fc1.weight"].tolist(),
                             numpy.frombuffer(self.params["fc1.weight"][2], "<f4").reshape(4, 7).tolist())
            numpy.savez_compressed(self.root / "theirs.npz", **{name: numpy.asfortranarray(arrays[name]) for name in arrays})
        self.dlhost("import", "theirs.npz", "--job", "job.toml", "-o", "taken")
        self.assertEqual(self.params_of("taken"), self.params)

    @unittest.skipUnless(importlib.util.find_spec("safetensors") and importlib.util.find_spec("numpy"),
                         "there is no safetensors, or no numpy")
    def test_safetensors_itself(self) -> None:
        from safetensors.numpy import load_file, save_file
        arrays = load_file(self.root / "small.safetensors")
        self.assertEqual(sorted(arrays), NAMES)
        save_file(arrays, self.root / "theirs.safetensors")
        self.dlhost("import", "theirs.safetensors", "--job", "job.toml", "-o", "taken")
        self.assertEqual(self.params_of("taken"), self.params)

    @unittest.skipIf(HAS_NPZ, "this build has npz files")
    def test_a_build_without_npz_says_so(self) -> None:
        self.assertIn("built without libzip", self.dlhost("export", str(self.run_folder), "-o", "small.npz", code=1))


unittest.main()
