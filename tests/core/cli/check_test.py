#!/usr/bin/env python3
"""check_test.py DLHOST BAD_PLUGINS: `dlhost check` reports errors of a job, and of the plugins that it names."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

dlhost, bad = map(os.path.realpath, sys.argv[1:])  # the commands below run elsewhere
del sys.argv[1:]
JOB = """name = "small"
train = { device = "ref", batch = 5, threads = 1 }
[[layer]]
name = "data"
type = "synthetic"
shape = [30]
[[layer]]
name = "fc"
type = "dense"
src = "data"
units = 10
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc", "data:label"]
"""


class Check(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "plugins").mkdir()
        self.write(JOB)

    def write(self, job: str) -> None:
        (self.root / "job.toml").write_text(job)

    def check(self, code: int, *words: str, **environment: str) -> str:
        command = [dlhost, "--plugin-dir", "plugins", "check", "job.toml", *words]
        done = subprocess.run(command, cwd=self.root, env=os.environ | environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, f"{done.stdout}\n{done.stderr}")
        return done.stdout if code == 0 else done.stderr


class Samples(Check):
    """`check` and `run` print the samples that they found, so that the user sees a wrong folder or column."""

    CSV = JOB.replace('type = "synthetic"\nshape = [30]', 'type = "csv"\ntrain = "rows.csv"\ntest_every = 4\n'
                      'classes = ["cat", "dog", "eel"]')

    def test_classes_are_counted(self) -> None:
        (self.root / "rows.csv").write_text("1,cat\n2,dog\n3,cat\n4,dog\n" * 4)
        self.write(self.CSV)
        found = "train 12 (3 classes of 0 to 8; 2 left over in each epoch)\n            test 4 (3 classes of 0 to 4)"
        said = self.check(0, "-v")
        self.assertIn(f"samples     {found}\n", said)
        self.assertIn("no train sample is of class 'eel' (2)\n", said)
        self.assertIn("no test sample is of class 'cat' (0), 'eel' (2)\n", said)
        self.assertIn("each epoch leaves out 2 of 12 samples, which do not fill a batch", said)
        self.assertRegex(said, r"class 1   dog +train +4  test +4\n")
        self.assertEqual(json.loads(self.check(0, "--json"))["samples"],
                         {"train": {"count": 12, "of_class": [8, 4, 0], "left_over": 2},
                          "test": {"count": 4, "of_class": [0, 4, 0], "left_over": 0}})

    def test_a_run_says_them_once(self) -> None:
        (self.root / "rows.csv").write_text("1,cat\n2,dog\n3,eel\n4,dog\n" * 20)
        self.write(self.CSV)
        words = [dlhost, "--plugin-dir", "plugins", "run", "job.toml", "--set=train.stop.steps=3"]
        done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("samples  train 60 (3 classes of 20)\n         test 20 (3 classes of 0 to 20)\n"), 1, done.stdout)
        self.assertIn("note: no test sample is of class 'cat' (0), 'eel' (2)\n", done.stdout)

    def test_where_classes_are_unknown_samples_are_counted(self) -> None:
        (self.root / "rows.csv").write_text("1,0.5\n2,0.25\n" * 10)
        self.write(self.CSV.replace("classes = ", "label = \"value\"\n# ").replace("softmax_loss", "euclidean_loss")
                   .replace("units = 10", "units = 1"))
        self.assertIn("samples     train 15\n            test 5\n", self.check(0))


class BrokenPlugins(Check):
    """A broken plugin file is reported at the line of the job that names its product."""

    def told(self, name: str, code: int = 1) -> str:
        self.plugin = self.root / "plugins/bad.so"
        shutil.copy(f"{bad}/{name}.so", self.plugin)
        self.write(JOB.replace('type = "dense"', 'type = "dense"\nparam.weight.init = "bad"'))
        return self.check(code)

    def test_a_sound_one(self) -> None:
        self.told("plain", code=0)

    def test_one_that_was_built_otherwise(self) -> None:
        said = self.told("old_strings")
        self.assertIn(f"job.toml:10:14: layer 'fc': param.weight.init: plugin 'bad' ({self.plugin}): ", said)
        self.assertIn("remove -D_GLIBCXX_USE_CXX11_ABI=0", said)

    def test_one_whose_init_throws(self) -> None:
        said = self.told("init_throw")
        self.assertIn(f"job.toml:10:14: layer 'fc': param.weight.init: plugin 'bad' ({self.plugin}): init threw an exception: no licence", said)

    def test_one_that_crashes(self) -> None:
        said = self.told("init_crash", -signal.SIGFPE)
        self.assertIn(f"plugin 'bad' ({self.plugin}) crashed with SIGFPE in init", said)

    def test_a_truncated_one(self) -> None:
        self.told("plain", code=0)
        os.truncate(self.plugin, 1000)
        said = self.check(1)
        self.assertIn(f"param.weight.init: plugin '?' ({self.plugin}): ", said)
        self.assertIn("truncated", said)
        # With another file name the plugin is only a guess, so the product's name stays unknown.
        self.plugin.rename(self.root / "plugins/other.so")
        self.assertRegex(self.check(1), r"param.weight.init: unknown initializer 'bad'; .*; looked in .*; \S*/plugins/other.so is not used: .*truncated")

    def test_one_that_everyone_can_change(self) -> None:
        self.told("plain", code=0)
        self.plugin.chmod(0o666)
        self.assertIn(f"param.weight.init: plugin 'bad' ({self.plugin}): the file {self.plugin} can be changed by everyone: chmod o-w", self.check(1))

    def test_a_folder_that_everyone_can_change(self) -> None:
        self.told("plain", code=0)
        self.plugin.parent.chmod(0o777)
        self.assertRegex(self.check(1), r"unknown initializer 'bad'; .*plugins \(--plugin-dir; not used: .* can be changed by everyone: chmod o-w")

    def test_a_device_that_is_not_written_down(self) -> None:
        """Defaults are plugins too."""
        (self.root / "plugins/sgd.so").write_text("no plugin")
        self.assertIn(f"updater.type: plugin '?' ({self.root}/plugins/sgd.so): it is not a shared object", self.check(1))


class Refused(Check):
    def test_a_topology_that_is_not_there_yet(self) -> None:
        self.write(JOB + "[topology]\nframework = \"hogwild\"\nworkers = 3\nrun_as = \"processes\"\n")
        said = self.check(1)
        self.assertIn("job.toml:16:2: topology.sync: is missing: it says how 3 server groups exchange what they learn; `dlhost inspect --kind sync` lists the plugins", said)
        self.assertEqual(said.count("\n"), 1, said)
        self.write(JOB + "[topology]\nframework = \"hogwild\"\nworkers = 3\nsync = \"ring\"\nrendezvous = \"embeded\"\n")
        self.assertIn("unknown rendezvous 'embeded'", self.check(1))
        self.write(JOB + "[topology]\nworker_groups = 3\nconsistency = \"bounded\"\nrun_as = \"processes\"\n")
        self.check(0)

    def test_names_that_one_worker_does_not_use(self) -> None:
        for key, name in {"consistency": "boundedd", "codec": "topk", "transport": "foo", "network": "foo", "device": "foo", "sync": "rink", "rendezvous": "foo"}.items():
            said = self.check(1, f"--set=topology.{key}={name}")
            self.assertRegex(said, rf"--set topology.{key}={name}: topology.{key}: unknown \w+ '{name}'; .*known: ")

    def test_what_is_no_file_is_told_at_once(self) -> None:
        os.mkfifo(self.root / "pipe")
        self.assertIn("train.init_from: cannot open pipe: it is a pipe, not a file", self.check(1, "--set=train.init_from=pipe"))
        csv = ("--set=layer.data.type=csv", "--set=layer.data.train=pipe")
        self.write(JOB.replace("shape = [30]", ""))
        self.assertIn("job.toml:3:1: layer 'data': cannot open ./pipe: it is a pipe, not a file", self.check(1, *csv))
        self.write('include = "/dev/zero"\n' + JOB)
        self.assertIn("job.toml:1:1: cannot open /dev/zero: it is a device, not a file", self.check(1))
        self.write('include = "pipe"\n' + JOB)
        self.assertIn("job.toml:1:1: cannot open pipe: it is a pipe, not a file", self.check(1))
        (self.root / "job.toml").unlink()
        os.mkfifo(self.root / "job.toml")
        self.assertIn("cannot open job.toml: it is a pipe, not a file", self.check(1))

    def test_what_a_handler_of_several_does_not_take(self) -> None:
        self.write(JOB + "[topology]\nworkers_per_group = 2\nconsistency = { type = \"bounded\", bound = -1, band = 2 }\ntransport = { type = \"shn\" }\nsync = \"rink\"\n")
        said = self.check(1)
        for words in ("topology.consistency.bound: must be at least 0, but is -1", "topology.consistency.band: unknown option",
                      "topology.transport.type: unknown transport 'shn'; did you mean 'shm'?", "unknown sync 'rink'; did you mean 'ring'?"):
            self.assertIn(words, said)

    def test_what_only_some_layers_take(self) -> None:
        self.assertIn("layer 'fc': augment: is for sources, which bring samples in; this layer reads 'data'", self.check(1, "--set=layer.fc.augment=mirror"))
        self.assertIn("layer 'data': dtype: a source does not convert samples", self.check(1, "--set=layer.data.dtype=bf16"))

    def test_sources_that_cannot_be_opened_are_all_told(self) -> None:
        more = '[[layer]]\nname = "more"\ntype = "synthetic"\nshape = [1, 8, 8]\naugment = { type = "crop", size = 20 }\n'
        self.write(JOB.replace('type = "synthetic"\nshape = [30]', 'type = "csv"\ntrain = "nothere.csv"') + more)
        said = self.check(1)
        self.assertIn("job.toml:3:1: layer 'data': cannot open ./nothere.csv: No such file", said)
        self.assertIn("job.toml:20:1: layer 'more': augmentation 1 (crop): size is 20x20, but the picture has only 8x8", said)

    def test_where_the_data_is_to_be_had(self) -> None:
        self.write('get_data = "the attic"\n' + JOB.replace('type = "synthetic"\nshape = [30]', 'type = "csv"\ntrain = "nothere.csv"'))
        self.assertIn("job.toml:1:1: how to get the job's data: the attic\n", self.check(1))
        self.assertNotIn("attic", self.check(1, "--set=layer.data.trian=x"))

    def test_what_a_run_would_not_come_to(self) -> None:
        """The errors equal those of `run`, all at once, each with its place."""
        self.write(JOB.replace("batch = 5", "batch = 2000") + '[checkpoint]\nbest = "los"\n')
        none = ("--set=layer.data.train=60", "--set=train.stop.patience=3")
        command = [dlhost, "--plugin-dir", "plugins", "run", "job.toml", *none]
        run = subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=60)
        said = self.check(1, *none)
        self.assertIn("job.toml:2:27: source 'data': a step takes 2000 samples, but there are only 60", said)
        self.assertIn("job.toml:17:1: checkpoint.best_by looks at validations, but there are no validation samples", said)
        self.assertIn("--set train.stop.patience=3: train.stop.patience looks at validations", said)
        self.assertEqual((run.returncode, run.stderr), (1, said))
        self.assertFalse((self.root / "runs").exists())
        some = ("--set=layer.data.validate=5", "--set=train.batch=4")
        self.assertIn("job.toml:17:1: checkpoint.best_by: unknown metric 'los'; did you mean 'loss'? (known: loss)", self.check(1, *some))
        self.check(0, *some, "--set=checkpoint.best_by=loss")

    def test_a_net_that_cannot_learn(self) -> None:
        self.write(JOB + '[[layer]]\nname = "dead"\ntype = "dense"\nsrc = "data"\nunits = 2\n')
        self.assertIn("job.toml:16:1: layer 'dead' has params that learn, but no loss depends on it", self.check(1))
        self.write(JOB[: JOB.index('[[layer]]\nname = "loss"')])
        self.assertIn("job.toml:2:1: the net has no loss", self.check(1))

    def test_what_shares_a_param_and_does_not_fit(self) -> None:
        second = '[[layer]]\nname = "fc2"\ntype = "dense"\nsrc = "data"\nunits = 10\nparam.weight = { share = "w", rate_scale = 3 }\n'
        second += '[[layer]]\nname = "loss2"\ntype = "softmax_loss"\nsrc = ["fc2", "data:label"]\n'
        self.write(JOB.replace("units = 10", 'units = 10\nparam.weight = { share = "w", rate_scale = 2 }') + second)
        said = self.check(1)
        self.assertIn("layer 'fc2': its param 'weight' is 'w', which is shared, and has rate_scale = 3.0, but 2.0 in layer 'fc'; set it in one of them", said)
        self.assertRegex(said, r"^dlhost: job.toml:22:7: layer 'fc2'")
        agree = "--set=layer.fc2.param.weight.rate_scale=2"
        self.check(0, agree)
        self.assertIn("is 11x30, but 10x30 in layer 'fc'; shared params need one shape", self.check(1, agree, "--set=layer.fc2.units=11"))

    def test_a_job_that_no_machine_holds(self) -> None:
        """`check` only counts the memory; `run` refuses before it allocates."""
        huge = ("--set=layer.data.shape=[20000000]", "--set=layer.fc.units=1000000")  # 80 TB of weights
        said = self.check(0, *huge)
        self.assertRegex(said, r"\nparams +20000001000000\n")
        self.assertRegex(said, r"memory +\d+ TiB in all, of [\d.]+ \w+ that are available")
        self.assertRegex(said, r"The job cannot run on this machine: the job needs \d+ TiB of memory, .* no batch is small enough")
        self.assertIn("  72.8 TiB  params of layer 'fc', with updater state\n", said)
        memory = json.loads(self.check(0, "--json", *huge))
        self.assertGreater(memory["memory_bytes"], 80e12)
        command = [dlhost, "run", "job.toml", *huge]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"dlhost: the job needs \d+ TiB of memory, and [\d.]+ \w+ are available; no batch is small enough")
        self.assertFalse((self.root / "runs").exists())

    def test_a_batch_that_no_machine_holds(self) -> None:
        said = self.check(0, "--set=train.last_batch=wrap", "--set=train.batch=20000000000")
        fits = re.search(r"a smaller batch fits: train.batch = (\d+), or a little less", said)
        self.assertIsNotNone(fits, said)
        self.assertNotIn("cannot run", self.check(0, "--set=train.last_batch=wrap", f"--set=train.batch={int(fits[1]) // 2}"))


# One mistake of every kind. WRONG_TOLD has the line of each.
WRONG = """name = "wrong"
[train]
device = "ref"
batch = 5
stop = { patience = 2 }
[updater]
momentum = 7
[[layer]]
name = "data"
type = "synthetic"
shape = [30]
[[layer]]
name = "more"
type = "csv"
train = "nothere.csv"
[[layer]]
name = "of_more"
type = "dense"
src = "more"
units = 3
[[layer]]
name = "key"
type = "dense"
src = "data"
units = 3
bais = false
[[layer]]
name = "of_key"
type = "softmax_loss"
src = ["key", "data:nothing"]
[[layer]]
name = "lost"
type = "dense"
src = "dta"
units = 3
[[layer]]
name = "round"
type = "add"
src = ["data", "and_round"]
[[layer]]
name = "and_round"
type = "relu"
src = "round"
[[layer]]
name = "of_round"
type = "dense"
src = "and_round"
units = 3
param.wieght.init = "xavier"
[[layer]]
name = "a"
type = "dense"
src = "data"
units = 3
[[layer]]
name = "b"
type = "dense"
src = "data"
units = 4
[[layer]]
name = "sum"
type = "add"
src = ["a", "b"]
[[layer]]
name = "of_sum"
type = "dense"
src = "sum:nothing"
units = 3
[[layer]]
name = "port"
type = "relu"
src = "a:nothing"
[topology]
servers_per_group = 2
"""
WRONG_TOLD = """job.toml:5:10: train.stop.patience looks at validations, but there are no validation samples
job.toml:7:1: updater.momentum: must be
job.toml:12:1: layer 'more': cannot open ./nothere.csv: No such file or directory
job.toml:26:1: layer 'key': bais: unknown option; did you mean 'bias'?
job.toml:34:1: layer 'lost': src: unknown layer 'dta'; did you mean 'data'?
job.toml:40:1: layer 'and_round': the net has a cycle, and_round -> round -> and_round, and the job's algorithm takes nets without cycles only
job.toml:60:1: layer 'sum': takes sources of one shape
job.toml:72:1: layer 'port': 'a' has no output 'nothing'; it has: 
job.toml:74:1: topology.servers_per_group = 2 with 1 workers: a server sits beside a worker
"""


class AtOnce(Check):
    """All errors of a job are reported at once, in the file's order, without consequential errors."""

    def told(self, job: str, expected: str, *words: str) -> None:
        self.write(job)
        for command in ("check", "run", "simulate"):
            done = subprocess.run([dlhost, "--plugin-dir", "plugins", command, "job.toml", *words], cwd=self.root, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, f"{done.stdout}\n{done.stderr}")
            self.assertTrue(done.stderr.startswith("dlhost: "), done.stderr)
            lines = done.stderr.removeprefix("dlhost: ").splitlines()
            beginnings = expected.splitlines()
            self.assertEqual(len(lines), len(beginnings), done.stderr)
            for line, beginning in zip(lines, beginnings):
                self.assertTrue(line.startswith(beginning), f"{line}\nis not\n{beginning}\nin\n{done.stderr}")
        self.assertFalse((self.root / "runs").exists())

    def test_one_mistake_of_every_kind(self) -> None:
        self.told(WRONG, WRONG_TOLD)

    def test_what_a_run_that_is_there_is_read_with(self) -> None:
        self.write(JOB)
        subprocess.run([dlhost, "run", "job.toml", "--set=train.stop.steps=1", "--set=record.folder=made"], cwd=self.root, check=True, capture_output=True, timeout=60)
        made = next((self.root / "made").iterdir())
        bad = ("--set=layer.fc.units=0", "--set=layer.data.shape=[0]", "--set=train.stop.patience=2")  # no training
        for command in ("eval", "predict"):
            done = subprocess.run([dlhost, command, made, *bad], cwd=self.root, capture_output=True, text=True, timeout=60)
            self.assertRegex(done.stderr, r"\Adlhost: --set layer.data.shape=.* but is 0\n--set layer.fc.units=0: .* but is 0\n\Z")

    def test_nothing_is_concluded_from_what_is_wrong(self) -> None:
        sum_of_other_shapes = '[[layer]]\nname = "sum"\ntype = "add"\nsrc = ["data", "fc"]\n'
        with self.subTest("a batch: shapes, and the samples that it takes"):
            self.told(JOB.replace("batch = 5", "batch = 0") + sum_of_other_shapes, "job.toml:2:27: train.batch: must be at least 1, but is 0")
        with self.subTest("a key that was probably meant to be the batch"):
            self.told(JOB.replace("batch = 5", "bacth = 5") + sum_of_other_shapes, "job.toml:2:27: train.bacth: unknown option; did you mean 'batch'?", "--set=layer.data.train=10")
        with self.subTest("an algorithm: whether it takes cycles, and needs a loss"):
            cycle = '[[layer]]\nname = "x"\ntype = "relu"\nsrc = "y"\n[[layer]]\nname = "y"\ntype = "relu"\nsrc = "x"\n'
            job = JOB[: JOB.index('[[layer]]\nname = "loss"')]
            self.told(job + cycle, "--set train.algorithm=pb: train.algorithm: unknown algorithm 'pb'", "--set=train.algorithm=pb")
        with self.subTest("a source: what reads it, and whether there is a loss"):
            self.told(JOB.replace("shape = [30]", "shpe = [30]") + sum_of_other_shapes, "job.toml:6:1: layer 'data': shpe: unknown option; did you mean 'shape'?")
        with self.subTest("a use of a block: its layers"):
            use = '[[block]]\nname = "pair"\nparams = ["n"]\nlayer = [ { name = "d", type = "dense", units = "$n" } ]\n[[layer]]\nname = "p"\nblock = "pair"\nsrc = "data"\n'
            reads = '[[layer]]\nname = "r1"\ntype = "relu"\nsrc = "p"\n[[layer]]\nname = "r2"\ntype = "relu"\nsrc = "p.d"\n'
            self.told(JOB + use + reads, "job.toml:20:1: layer 'p': with.n: is required")
            # The block might contain the loss.
            self.told(JOB[: JOB.index('[[layer]]\nname = "loss"')] + use, "job.toml:16:1: layer 'p': with.n: is required")
        with self.subTest("no layers: that there is no loss among them"):
            self.told("", "job.toml:1:1: name: is required\njob.toml:1:1: the job has no layers", "--set=train.device=ref")
        with self.subTest("a layer without a name: who reads it"):
            self.told(JOB.replace('name = "fc"', 'nmae = "fc"'), "job.toml:8:1: layer: nmae: unknown option; did you mean 'name'?")
        with self.subTest("a layer without a type: which options it takes"):
            self.told(JOB.replace('type = "dense"', 'tpye = "dense"'), "job.toml:9:1: layer 'fc': tpye: unknown option; did you mean 'type'?")
        with self.subTest("a key that was probably meant to be the blocks: what uses them"):
            use = '[[layer]]\nname = "p"\nblock = "pair"\nsrc = "data"\n'
            self.told(JOB + '[[blok]]\nname = "pair"\n' + use, "job.toml:16:3: blok: unknown option; did you mean 'block'?")
        with self.subTest("a parameter of a block that there is not: what is to be made of it"):
            use = '[[block]]\nname = "pair"\nlayer = [ { name = "d", type = "dense", units = "$n" } ]\n[[layer]]\nname = "p"\nblock = "pair"\nsrc = "data"\n'
            self.told(JOB + use + '[[layer]]\nname = "r"\ntype = "relu"\nsrc = "p"\n', "job.toml:18:41: block 'pair': unknown parameter '$n'")

    def test_cycles_are_all_told_once(self) -> None:
        cycles = "".join(f'[[layer]]\nname = "{a}"\ntype = "relu"\nsrc = "{b}"\n' for a, b in ("pq", "qp", "xx"))
        self.told(JOB + cycles, "job.toml:20:1: layer 'q': the net has a cycle, q -> p -> q\njob.toml:24:1: layer 'x': the net has a cycle, x -> x")

    def test_a_name_that_comes_twice_closes_no_cycle(self) -> None:
        twice = JOB.replace('name = "loss"', 'name = "fc"\ntype = "dense"\nsrc = "fc"\nunits = 10\n[[layer]]\nname = "loss"')
        self.write(twice)
        self.assertEqual(self.check(1).count("\n"), 1)

    def test_the_net_of_every_phase(self) -> None:
        """An error in all phases is reported once."""
        only = '[[layer]]\nname = "t"\ntype = "add"\nsrc = ["data", "fc"]\nphases = ["test"]\n'
        self.told(JOB.replace('src = "data"\nunits', 'src = "data:no"\nunits') + only.replace('"fc"]', '"data:label"]'),
                  "job.toml:10:1: layer 'fc': 'data' has no output 'no'\njob.toml:16:1: layer 't': takes sources of one shape", "--set=layer.data.test=10", "--set=layer.data.validate=10")


class Told(Check):
    def test_the_memory_of_each_layer(self) -> None:
        layers = {layer["name"]: layer for layer in json.loads(self.check(0, "--json", "--set=updater.momentum=0.9"))["layers"]}
        self.assertEqual(layers["fc"]["param_bytes"], 2 * 4 * (10 * 30 + 10))  # values and momentum, f32
        self.assertEqual((layers["data"]["param_bytes"], layers["loss"]["param_bytes"]), (0, 0))
        arena = json.loads(self.check(0, "--json"))["arena_bytes"]
        wider = json.loads(self.check(0, "--json", "--set=train.batch=5000"))
        used = sum(layer["activation_bytes"] for layer in wider["layers"])
        self.assertGreater(used, wider["arena_bytes"] / 2)
        self.assertLessEqual(used, wider["arena_bytes"])
        self.assertGreater(wider["arena_bytes"], arena)
        self.assertRegex(self.check(0), r"layer +type +output +params +memory +operations +kernel\n(.*\n)*fc +dense +5x10 +310 +[\d.]+ \w+ +\S")

    def test_why_a_layer_is_computed_by_itself(self) -> None:
        layers = '[[layer]]\nname = "{0}"\ntype = "{1}"\nsrc = "{2}"\n'
        for name, more, told in (
            ("g", layers.format("g", "gelu", "fc"), "by itself: its gradient needs its input, which fusing would remove"),
            ("r", layers.format("r", "relu", "fc") + layers.format("t", "tanh", "fc"), "by itself: 'fc' is read by other layers, too"),
            ("r", layers.format("r", "relu", "data"), "by itself: 'data' has no op that could do it as well"),
        ):
            with self.subTest(told=told):
                self.write(JOB + more)
                layer = next(layer for layer in json.loads(self.check(0, "--json"))["layers"] if layer["name"] == name)
                self.assertEqual((layer["remark"], layer["fused"]), (told, False))

    def test_the_processor_computes_layers_in_the_op_before_them(self) -> None:
        """Bias, activation and sum, after a dense layer, convolutions and batch norms."""
        if "cpu" not in subprocess.run([dlhost, "inspect", "--kind", "device"], capture_output=True, text=True).stdout.split():
            self.skipTest("this build has no device cpu")
        layer = '[[layer]]\nname = "{}"\ntype = "{}"\nsrc = {}\n'
        conv = 'filters = 16\nkernel = 3\npad = 1\n'
        net = "".join((layer.format("c1", "convolution", '"data"') + conv, layer.format("r1", "relu", '"c1"'),
                       layer.format("c2", "convolution", '"r1"') + conv, layer.format("n2", "batch_norm", '"c2"'),
                       layer.format("sum", "add", '["n2", "r1"]'), layer.format("r2", "relu", '"sum"'),
                       layer.format("hidden", "dense", '"r2"') + "units = 20\n", layer.format("t", "tanh", '"hidden"')))
        fc = '[[layer]]\nname = "fc"'
        self.write(JOB.replace("shape = [30]", "shape = [3, 8, 8]").replace(fc, net + fc).replace('src = "data"\nunits = 10\n', 'src = "t"\nunits = 10\n'))
        told = json.loads(self.check(0, "--json", "--set=train.device=cpu"))
        fused = {layer["name"] for layer in told["layers"] if layer["fused"]}
        self.assertEqual(fused, {"r1", "sum", "r2", "t"})

    def test_what_is_added_in_an_op_dies_there(self) -> None:
        """A batch norm's op includes a sum and a relu: its gradient reads the op's inputs, not the sum."""
        dense = '[[layer]]\nname = "{0}"\ntype = "dense"\nsrc = "data"\nunits = 1000\n[[layer]]\nname = "{0}n"\ntype = "batch_norm"\nsrc = "{0}"\n'
        both = '[[layer]]\nname = "sum"\ntype = "add"\nsrc = ["an", "bn"]\n[[layer]]\nname = "relu"\ntype = "relu"\nsrc = "sum"\n'
        fc = '[[layer]]\nname = "fc"'
        self.write(JOB.replace(fc, dense.format("a") + dense.format("b") + both + fc).replace('src = "data"\nunits = 10\n', 'src = "relu"\nunits = 10\n'))
        told = json.loads(self.check(0, "--json", "--set=train.batch=100"))
        self.assertTrue({layer["name"]: layer for layer in told["layers"]}["sum"]["fused"])
        # The peak is at that gradient: a, b, the relu and its gradient, the gradients of b and of the addend.
        self.assertLess(told["arena_bytes"], 6.5 * (4 * 100 * 1000))


class Names(Check):
    def test_no_plugin_at_all_is_said_once(self) -> None:
        nowhere = str(self.root / "nowhere")
        said = self.check(1, DLHOST_PLUGIN_PATH="", XDG_DATA_HOME=nowhere)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertRegex(said, rf"dlhost: no plugins were found, .*looked in {self.root}/plugins \(--plugin-dir\), {nowhere}/dlhost/plugins \(the user's data home; does not exist\), .*Name their folder with --plugin-dir")

    def test_unknown_names(self) -> None:
        said = self.check(1, "--set=layer.fc.type=dens", "--set=train.device=reff")
        self.assertRegex(said, r"layer 'fc': type: unknown layer 'dens'; did you mean 'dense'\? .*looked in ")
        self.assertRegex(said, r"train.device: unknown device 'reff'; did you mean 'ref'\?")

    def test_where_it_starts_is_looked_for(self) -> None:
        said = self.check(1, "--set=train.init_from=gone.npz", "--set=train.device=reff")
        self.assertRegex(said, r"--set train.init_from=gone.npz: train.init_from: there is no '.*gone.npz' to start from; name a run, ")
        self.assertIn("unknown device", said)


unittest.main()
