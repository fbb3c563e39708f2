#!/usr/bin/env python3
"""misbehaviour_test.py DLHOST PLUGIN CONFORM: the messages and files of a run whose plugin throws, crashes or hangs."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

dlhost, plugin, conform = map(os.path.realpath, sys.argv[1:4])  # the commands below run elsewhere
del sys.argv[1:4]
JOB = """name = "trouble"
[train]
device = "ref"
batch = 4
threads = 1
hang_limit = 1
stop = { steps = 8 }
[checkpoint]
every = { steps = 2 }
[updater]
type = "misbehaving"
[[layer]]
name = "data"
type = "misbehaving_source"
[[layer]]
name = "fc"
type = "dense"
src = "data"
units = 2
[[layer]]
name = "odd"
type = "misbehaving"
src = "fc"
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["odd", "data:label"]
"""
SIGSEGV, HANGS = -11, 70


class Trouble(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "job.toml").write_text(JOB)

    def run_job(self, code: int, *words: str) -> str:
        return self.command(code, "run", "job.toml", *words)

    def command(self, code: int, *words: str) -> str:
        command = [dlhost, "--plugin-dir", os.path.dirname(plugin), *words]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stderr

    def trouble(self, code: int, owner: str, how: str, where: str, step: int = 0, *more: str) -> str:
        return self.run_job(code, *(f"--set={owner}.{k}={v}" for k, v in (("how", how), ("where", where), ("step", step))), *more)

    def folder(self) -> pathlib.Path:
        return next((self.root / "runs").iterdir())

    def summary(self) -> dict:
        return json.loads((self.folder() / "summary.json").read_text())

    def goes_on_from(self, step: int) -> None:
        """The newest checkpoint is whole, and a run without the misdeed continues from it to the end."""
        run = self.folder()
        self.assertEqual(max((run / "checkpoints").iterdir()).name, f"step-{step:09}")
        self.run_job(0, "--resume", str(run))
        summary = self.summary()
        self.assertEqual((summary["status"], summary["steps"]), ("done", 8))


class Misbehaviour(Trouble):
    def test_hangs_outside_of_steps(self) -> None:
        for owner, where in (("layer.odd", "setup"), ("layer.odd", "prepare"), ("layer.data", "open"), ("updater", "construction")):
            with self.subTest(where=where):
                said = self.trouble(HANGS, owner, "hangs", where)
                self.assertRegex(said, rf"plugin 'misbehaving' \(.*\) hangs in .*{where}.*: not back after 1000 ms")

    def test_hangs_in_other_commands(self) -> None:
        self.run_job(0)
        trouble = ("--set=layer.odd.how=hangs", "--set=layer.odd.where=compute_feature")
        for verb, words in (("check", ("job.toml", "--set=layer.odd.how=hangs", "--set=layer.odd.where=setup")),
                            ("predict", (str(self.folder()), "-o", "out.csv", "--phase=train", *trouble))):
            with self.subTest(verb=verb):
                said = self.command(HANGS, verb, *words)
                self.assertRegex(said, r"plugin 'misbehaving' \(.*\) hangs in layer 'odd', .*: not back after 1000 ms")

    def test_a_layer_whose_work_depends_on_the_data_is_refused(self) -> None:
        said = self.trouble(1, "layer.odd", "well", "data_order")
        self.assertIn("layer 'odd' says that its work depends on the data, but programs are recorded once", said)

    def test_a_layer_in_a_step(self) -> None:
        for code, how, words in (
            (1, "throws", f"dlhost: plugin 'misbehaving' ({plugin}) threw an exception in layer 'odd', PLACE: out of ideas"),
            (SIGSEGV, "crashes", f"dlhost: plugin 'misbehaving' ({plugin}) crashed with SIGSEGV in layer 'odd', PLACE"),
            (HANGS, "hangs", f"dlhost: plugin 'misbehaving' ({plugin}) hangs in layer 'odd', PLACE: not back after 1000 ms"),
        ):
            for where in ("compute_feature", "compute_gradient"):
                with self.subTest(how=how, where=where):
                    self.setUp()
                    said = self.trouble(code, "layer.odd", how, where, 5)
                    self.assertIn(words.replace("PLACE", f"{where}, step 5"), said)
                    summary = self.summary()
                    if how == "throws":
                        self.assertEqual((summary["status"], summary["steps"]), ("failed", 5))
                        self.assertIn(f"layer 'odd', {where}, step 5: out of ideas", summary["reason"])
                    else:
                        self.assertRegex(said, "the last checkpoint, runs/.*/step-000000004, is whole")
                        self.assertEqual(summary["status"], "failed")
                        self.assertEqual(summary["reason"], words.replace("PLACE", f"{where}, step 5").removeprefix("dlhost: "))
                    self.goes_on_from(4)

    def test_a_resumed_run_names_the_checkpoint_that_it_started_from(self) -> None:
        self.trouble(1, "layer.odd", "throws", "compute_feature", 5)
        crash = [f"--set=layer.odd.{key}={value}" for key, value in (("how", "crashes"), ("where", "compute_feature"), ("step", 4))]
        said = self.run_job(SIGSEGV, "--resume", str(self.folder()), *crash)
        self.assertRegex(said, "the last checkpoint, .*/step-000000004, is whole")

    def test_a_source_on_its_readers_task(self) -> None:
        for readers in (0, 2):
            with self.subTest(readers=readers):
                self.setUp()
                more = f"--set=train.readers={readers}"
                said = self.trouble(1, "layer.data", "throws", "read", 3, more)
                self.assertRegex(said, r"source 'data': sample 3: plugin 'misbehaving' \(.*\) threw an exception in layer 'data', read, step 0: out of ideas")
                said = self.trouble(SIGSEGV, "layer.data", "crashes", "read", 3, more)
                self.assertRegex(said, r"plugin 'misbehaving' \(.*\) crashed with SIGSEGV in layer 'data', read, step " +
                                 (r"\d" if readers else "0"))  # both readers crash, in any order
                said = self.trouble(HANGS, "layer.data", "hangs", "read", 3, more)
                self.assertRegex(said, r"plugin 'misbehaving' \(.*\) hangs in layer 'data', read, step \d")

    def test_a_worker_that_stops_in_the_first_steps(self) -> None:
        """Without recovery.timeout, the limit comes from the steps made; those of the wait itself do not count."""
        more = ("layer.odd.who=worker", "topology.framework=allreduce", "topology.workers=2", "topology.run_as=processes",
                "recovery.restarts=0")
        said = self.trouble(1, "layer.odd", "stops", "compute_feature", 2, *(f"--set={change}" for change in more))
        self.assertRegex(said, r"worker 1 hangs: it has shown no life for 1\d[.\d]* s in step 2, where it computes; .*\n"
                               r"dlhost: worker 1 is gone: process \d+ was killed by dlhost\n")

    def test_a_source_that_declares_the_batch_axis(self) -> None:
        said = self.trouble(1, "layer.data", "well", "batch")
        self.assertRegex(said, r"job.toml:\d+:1: layer 'data': its output 'data' is 1x2 for a batch of 1 and 2x2 for a batch of 2, "
                               "but a source declares one sample, without the batch axis")

    def test_conformance_of_a_source(self) -> None:
        """Relative paths start at the folder of the case file, however it is named; a source declares one sample."""
        case = '[[case]]\nlayer = "misbehaving_source"\noptions = { how = "well", where = "WHERE" }\n'
        for file in ("conform.toml", "./conform.toml", str(self.root / "conform.toml")):
            (self.root / "conform.toml").write_text(case.replace("WHERE", "nowhere"))
            self.conform(0, file)
        (self.root / "conform.toml").write_text(case.replace("WHERE", "batch"))
        self.assertIn("output 'data' changes with the batch: declare one sample, without the batch axis",
                      self.conform(1, "conform.toml"))

    def conform(self, code: int, cases: str) -> str:
        words = [conform, plugin, "--case", cases, "--gtest_filter=*source*", "--gtest_brief=1"]
        done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_an_updater(self) -> None:
        said = self.trouble(1, "updater", "throws", "update", 5)
        self.assertIn("threw an exception in updater 'misbehaving', update, step 4: out of ideas", said)
        self.goes_on_from(4)
        self.assertIn("crashed with SIGSEGV in updater 'misbehaving', update, step 0", self.trouble(SIGSEGV, "updater", "crashes", "update", 1))

    def test_a_layer_that_touches_device_memory(self) -> None:
        said = self.trouble(SIGSEGV, "layer.odd", "well", "input", 0, '--set=train.device={ type = "ref", far = true }')
        self.assertRegex(said, r"crashed with SIGSEGV in layer 'odd', compute_feature, step 0\n.*memory of a device, which the host cannot reach")

    def test_before_the_first_step(self) -> None:
        for owner, instance, where in (("layer.odd", "odd", "setup"), ("layer.odd", "odd", "prepare"), ("layer.data", "data", "open")):
            with self.subTest(where=where):
                said = self.trouble(1, owner, "throws", where)
                self.assertRegex(said, rf"plugin 'misbehaving' \(.*\) threw an exception in layer '{instance}', {where}: out of ideas")
                said = self.trouble(SIGSEGV, owner, "crashes", where)
                self.assertRegex(said, rf"crashed with SIGSEGV in layer '{instance}', {where}\n")
                self.assertIn("none is damaged", said)


class Conformance(Trouble):
    """dlhost conform guards a plugin as the other commands do."""

    TEST = "misbehaving_6x7.gradients_are_differences"

    def conform(self, code: int, how: str, where: str, *more: str) -> str:
        words = [conform, plugin, "--set", f"how={how}", "--set", f"where={where}", "--set", "step=-1", f"--gtest_filter=*{self.TEST}"]
        done = subprocess.run([*words, *more], cwd=self.root, capture_output=True, timeout=120)
        said = (done.stdout + done.stderr)[:100_000].decode()
        self.assertEqual(done.returncode, code, said)
        self.assertLess(len(said), 20_000)
        self.assertNotIn("\x1b", said)
        return said

    def test_a_plugin_that_ends_the_process(self) -> None:
        for how, call in (("exits", "exit(0)"), ("exits_at_once", "_exit(0)"), ("exits_quickly", "quick_exit(0)"), ("execs", 'execl("/bin/true")')):
            with self.subTest(how=how):
                said = self.conform(HANGS, how, "compute_feature")
                self.assertIn(f"dlhost: plugin 'misbehaving' ({plugin}) called {call} in layer 'misbehaving', {self.TEST}\n", said)
        self.assertIn(f"plugin 'misbehaving' ({plugin}) called _exit(0) outside every call", self.conform(HANGS, "exits_later", "compute_feature"))
        self.assertIn("called exit(0) in layer 'misbehaving', before its tests\n", self.conform(HANGS, "exits", "destruction"))
        self.assertIn("called exit(0) in fini\n", self.conform(HANGS, "exits", "fini"))

    def test_a_plugin_that_crashes(self) -> None:
        for how, code, what in (("crashes", SIGSEGV, "SIGSEGV"), ("aborts", -6, "SIGABRT")):
            with self.subTest(how=how):
                said = self.conform(code, how, "compute_feature")
                self.assertIn(f"dlhost: plugin 'misbehaving' ({plugin}) crashed with {what} in layer 'misbehaving', {self.TEST}\n", said)
                self.assertNotIn("checkpoint", said)
        said = self.conform(SIGSEGV, "crashes_in_thread", "compute_feature")
        self.assertRegex(said, r"plugin 'misbehaving' \(.*\) crashed with SIGSEGV outside every call, in a thread .*misbehaving.so\+0x")

    def test_a_plugin_that_hangs(self) -> None:
        said = self.conform(HANGS, "hangs_deaf", "compute_feature", "--hang-limit=1")
        self.assertIn(f"plugin 'misbehaving' ({plugin}) hangs in layer 'misbehaving', {self.TEST}: not back after 1000 ms", said)

    def test_an_exception(self) -> None:
        self.assertIn("an exception ended the test: out of ideas\n", self.conform(1, "throws", "compute_feature"))
        said = self.conform(1, "throws_garbage", "compute_feature")
        self.assertIn(r"an exception ended the test: \x1b[2J\x1b]0;title\x07 \xff\xfe\xc3( ", said)
        self.assertIn("... (50000000 bytes in all)", said)


class Log(Trouble):
    """A plugin's own log lines."""

    LINE = r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ info: misbehaving: begins$"

    def log(self) -> str:
        return (self.folder() / "log.txt").read_text()

    def test_info_lines_stand_in_the_runs_folder(self) -> None:
        self.assertNotIn("begins", self.run_job(0))
        self.assertRegex(self.log(), self.LINE)

    def test_verbose_shows_them(self) -> None:
        for words in (("-v", "run", "job.toml"), ("run", "job.toml", "--verbose"), ("-v", "check", "job.toml")):
            with self.subTest(words=words):
                self.assertIn("info: misbehaving: begins\n", self.command(0, *words))

    def test_those_of_workers_that_are_processes_come_at_the_end(self) -> None:
        self.run_job(0, "--set=topology.workers_per_group=2", "--set=topology.run_as=processes")
        self.assertRegex(self.log(), self.LINE)
        self.assertIn("info: worker 1 said:\ninfo: misbehaving: begins\n", self.log())

    def test_a_failure_stands_there_as_well(self) -> None:
        self.trouble(1, "layer.odd", "throws", "compute_feature", 3)
        self.assertRegex(self.log(), r"Z error: .*misbehaving.*out of ideas")


unittest.main()
