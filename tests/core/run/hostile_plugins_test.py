#!/usr/bin/env python3
"""hostile_plugins_test.py DLHOST PLUGIN: any misdeed of a plugin against its process, in any phase, in a run of one
process, in its leader or in a worker, ends the run in time, with a non-zero exit status and a message that names the
plugin's library. DLHOST_SEED chooses the trials, DLHOST_HOSTILE is their number."""
import dataclasses
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

dlhost, plugin = map(os.path.realpath, sys.argv[1:3])  # the commands below run elsewhere
del sys.argv[1:3]
SEED = int(os.environ.get("DLHOST_SEED", "1"))
ROUNDS = int(os.environ.get("DLHOST_HOSTILE", "6"))
LONGEST = 90  # seconds, of a run on a busy machine
MOST_WORDS = 100_000
JOB = """name = "hostile"
[train]
device = "ref"
batch = 4
threads = 1
readers = READERS
hang_limit = 1
stop = { steps = 4 }
[checkpoint]
every = { steps = 2 }
[recovery]
restarts = 1
[topology]
workers_per_group = WORKERS
run_as = "processes"
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
PHASES = {
    "layer.odd": ("setup", "prepare", "compute_feature", "compute_gradient", "destruction", "fini", "exit"),
    "layer.data": ("open", "count", "read", "destruction"),
    "updater": ("construction", "rule", "update", "destruction"),
    "environment": ("loading", "init", "schema"),
}
HANGS = ("hangs", "hangs_deaf", "spins_deaf")
MISDEEDS = (*HANGS, "throws", "throws_garbage", "throws_number", "crashes", "aborts", "exits", "exits_at_once", "exits_quickly",
            "exits_later", "crashes_in_thread", "aborts_in_thread", "exits_in_thread", "throws_in_thread",
            "alarms", "signals_itself", "aborts_unheard", "asserts_unheard", "traps", "daemonizes", "execs", "execs_in_thread", "vanishes")
LATE = ("destruction", "fini", "exit")


@dataclasses.dataclass(frozen=True)
class Trial:
    owner: str
    where: str
    how: str
    who: str = "alone"  # or "leader", "worker"
    step: int = 0
    readers: int = 0

    def possible(self) -> bool:
        if self.owner == "environment" and self.who == "worker":
            return False  # the leader has the same environment, and fails first
        if self.where == "update" and self.who == "worker":
            return False  # in so small a net the leader serves all params
        if self.how == "vanishes":
            return self.who == "worker" and self.where not in LATE  # with one process, no other could report it
        if self.how in HANGS and self.where == "exit" and self.who == "worker":
            return False  # its leader ends it, and the run is done
        if self.how in ("throws", "throws_garbage", "throws_number") and self.where == "loading":
            return self.how == "throws"
        return True


def draw(random_: random.Random) -> Trial:
    while True:
        owner = random_.choice(sorted(PHASES))
        where = random_.choice(PHASES[owner])
        steps = {"compute_feature": range(4), "compute_gradient": range(4), "read": range(8), "update": range(1, 5)}
        trial = Trial(owner, where, random_.choice(MISDEEDS), random_.choice(("alone", "leader", "worker")),
                      random_.choice(steps.get(where, (0,))), random_.choice((0, 2)))
        if where == "read" and trial.who != "alone":
            trial = dataclasses.replace(trial, step=-1)  # the seed decides which process reads which sample
        if trial.possible():
            return trial


class Hostile(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def start(self, trial: Trial, *more: str) -> subprocess.Popen:
        job = JOB.replace("WORKERS", "1" if trial.who == "alone" else "2").replace("READERS", str(trial.readers))
        (self.root / "job.toml").write_text(job)
        command = [dlhost, "--plugin-dir", os.path.dirname(plugin), "run", "job.toml", f"--set=record.folder={self.root}/runs", *more]
        environment = dict(os.environ)
        if trial.owner == "environment":
            environment["MISBEHAVING"] = f"{trial.where}:{trial.how}"
        else:
            who = "all" if trial.who == "alone" else trial.who
            settings = {"how": trial.how, "where": trial.where, "step": trial.step, "who": who}
            command += [f"--set={trial.owner}.{key}={value}" for key, value in settings.items()]
        return subprocess.Popen(command, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ends(self, process: subprocess.Popen, limit: float = LONGEST) -> str:
        """Returns its standard error."""
        try:
            _, said = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
            self.fail(f"it hangs: {said.decode(errors='replace')[-2000:]}")
        self.assertLess(len(said), MOST_WORDS)
        words = said.decode()  # fails if it is not UTF-8
        self.assertNotIn("\x1b", words)
        return words

    def nobody_goes_on(self) -> None:
        end = time.monotonic() + LONGEST
        while str(self.root) in subprocess.run([dlhost, "ps"], capture_output=True, text=True, timeout=LONGEST).stdout:
            self.assertLess(time.monotonic(), end, "processes of the run go on")
            time.sleep(0.1)

    def fails_as_it_should(self, trial: Trial, status: int | None = None) -> str:
        process = self.start(trial)
        said = self.ends(process)
        self.assertNotEqual(process.returncode, 0, said)
        if status is not None:
            self.assertEqual(process.returncode, status, said)
        expected = "is gone: process" if trial.how == "vanishes" else plugin
        self.assertIn(expected, said)
        self.nobody_goes_on()  # also not in place of a hanging leader
        for summary in self.root.glob("runs/*/summary.json"):
            told = json.loads(summary.read_text())
            self.assertEqual(told["status"], "failed", f"{said}\n{told}")
            self.assertLess(len(told["reason"]), MOST_WORDS)
            self.assertNotIn("\x1b", told["reason"])
            if trial.how != "vanishes" and not (trial.how in HANGS and trial.who == "leader"):
                self.assertIn(plugin, told["reason"])
        return said

    def test_whatever_is_drawn(self) -> None:
        print(f"seed {SEED}", flush=True)
        random_ = random.Random(SEED)
        for _ in range(ROUNDS):
            trial = draw(random_)
            with self.subTest(trial=trial):
                self.setUp()
                self.fails_as_it_should(trial)

    def test_what_was_drawn_once(self) -> None:
        for trial in (Trial("environment", "loading", "execs_in_thread"), Trial("environment", "loading", "crashes_in_thread"),
                      Trial("updater", "rule", "throws", "leader", readers=2)):
            with self.subTest(trial=trial):
                self.setUp()
                self.fails_as_it_should(trial)

    def test_an_end_that_nobody_ordered(self) -> None:
        for how, call in (("exits", "exit"), ("exits_at_once", "_exit"), ("exits_quickly", "quick_exit")):
            for where, who in (("compute_feature", "alone"), ("compute_feature", "worker"), ("fini", "alone")):
                with self.subTest(how=how, where=where, who=who):
                    self.setUp()
                    said = self.fails_as_it_should(Trial("layer.odd", where, how, who))
                    self.assertIn(f"plugin 'misbehaving' ({plugin}) called {call}(0) in ", said)

    def test_a_signal_that_ends_the_process(self) -> None:
        for how, number, what in (("alarms", signal.SIGALRM, "received SIGALRM, which ends the process,"),
                                  ("signals_itself", signal.SIGUSR1, "received SIGUSR1, which ends the process,"),
                                  ("traps", signal.SIGTRAP, "crashed with SIGTRAP"),
                                  ("aborts_unheard", signal.SIGABRT, "crashed with SIGABRT"),
                                  ("asserts_unheard", signal.SIGABRT, "crashed with SIGABRT")):
            with self.subTest(how=how):
                self.setUp()
                trial = Trial("layer.odd", "compute_feature", how)
                said = self.fails_as_it_should(trial, -number)
                self.assertIn(f"plugin 'misbehaving' ({plugin}) {what} in layer 'odd', compute_feature, step 0\n", said)

    def test_a_signal_of_another_process_is_no_plugins_fault(self) -> None:
        process = self.start(Trial("layer.odd", "compute_feature", "hangs"), "--set=train.hang_limit=inf")
        for line in process.stderr:
            if b"hangs now" in line:
                break
        process.send_signal(signal.SIGUSR1)
        said = self.ends(process)
        self.assertEqual(process.returncode, -signal.SIGUSR1, said)
        self.assertIn(f"this process was ended by SIGUSR1 from process {os.getpid()} of the user {os.getuid()}\n", said)
        self.assertNotIn("plugin 'misbehaving'", said)
        summary = json.loads(next(self.root.glob("runs/*/summary.json")).read_text())
        self.assertEqual(summary["status"], "failed")
        self.assertIn("ended by SIGUSR1", summary["reason"])

    def test_exec(self) -> None:
        for who in ("alone", "worker"):
            with self.subTest(who=who):
                self.setUp()
                said = self.fails_as_it_should(Trial("layer.odd", "compute_feature", "execs", who))
                self.assertIn(f"plugin 'misbehaving' ({plugin}) called execl(\"/bin/true\") in layer 'odd', compute_feature", said)
        self.setUp()
        said = self.fails_as_it_should(Trial("layer.odd", "compute_feature", "execs_in_thread"))
        self.assertRegex(said, r"called execl\(\"/bin/true\"\) outside every call, in a thread .*misbehaving.so\+0x")

    def test_exec_in_a_child_is_no_fault(self) -> None:
        process = self.start(Trial("layer.odd", "compute_feature", "execs_in_child"))
        said = self.ends(process)
        self.assertEqual(process.returncode, 0, said)

    def test_daemon(self) -> None:
        said = self.fails_as_it_should(Trial("layer.odd", "compute_feature", "daemonizes"), 70)
        self.assertIn(f"plugin 'misbehaving' ({plugin}) called daemon(0) in layer 'odd', compute_feature", said)

    def test_a_forked_child_ends_and_the_run_goes_on(self) -> None:
        for how, where, what in (
            ("forks", "compute_feature", f"a child process that plugin 'misbehaving' ({plugin}) forked in layer 'odd', compute_feature, step 1 returned"),
            ("forks", "setup", f"a child process that plugin 'misbehaving' ({plugin}) forked in layer 'odd', setup returned"),
            ("crashes_in_child", "compute_feature", "")):
            with self.subTest(how=how, where=where):
                self.setUp()
                process = self.start(Trial("layer.odd", where, how, step=1 if where == "compute_feature" else 0))
                said = self.ends(process)
                self.assertEqual(process.returncode, 0, said)
                self.assertIn(what, said)
                self.assertEqual("forked" in said, how == "forks", said)
                self.assertNotIn("crashed", said)
                runs = list(self.root.glob("runs/*/summary.json"))
                self.assertEqual(len(runs), 1, said)
                summary = json.loads(runs[0].read_text())
                self.assertEqual((summary["status"], summary["steps"]), ("done", 4))

    def test_a_worker_says_nothing_of_checkpoints(self) -> None:
        said = self.fails_as_it_should(Trial("layer.odd", "compute_feature", "exits", "worker", 3))
        self.assertTrue(list(self.root.glob("runs/*/checkpoints/step-*")), said)
        self.assertNotIn("no checkpoint", said)

    def test_at_the_very_end(self) -> None:
        said = self.fails_as_it_should(Trial("layer.odd", "compute_feature", "exits_later"))
        self.assertIn(f"plugin 'misbehaving' ({plugin}) called _exit(0) outside every call", said)

    def test_a_worker_whose_end_nothing_can_see(self) -> None:
        said = self.fails_as_it_should(Trial("layer.odd", "compute_feature", "vanishes", "worker"))
        self.assertRegex(said, r"worker 1 is gone: process \d+ ended with exit status 0")

    def test_a_thread_of_its_own(self) -> None:
        for how, what in (("crashes_in_thread", "crashed with SIGSEGV"), ("aborts_in_thread", "crashed with SIGABRT"),
                          ("exits_in_thread", r"called exit\(0\)"), ("throws_in_thread", "ended the program by an uncaught exception")):
            with self.subTest(how=how):
                self.setUp()
                said = self.fails_as_it_should(Trial("layer.odd", "compute_feature", how))
                self.assertRegex(said, rf"plugin 'misbehaving' \(.*\) {what}.* outside every call, in a thread .*misbehaving.so\+0x")

    def test_a_hang_that_has_blocked_all_signals(self) -> None:
        for where in ("compute_feature", "destruction", "fini"):
            with self.subTest(where=where):
                self.setUp()
                said = self.fails_as_it_should(Trial("layer.odd", where, "hangs_deaf"))
                self.assertRegex(said, rf"plugin 'misbehaving' \(.*\) hangs in .*{where}.*: not back after \d+ ms")

    def test_a_hang_is_ended_by_a_signal(self) -> None:
        process = self.start(Trial("layer.odd", "compute_feature", "hangs_deaf"), "--set=train.hang_limit=inf")
        for line in process.stderr:
            if b"hangs now" in line:
                break
        process.send_signal(signal.SIGTERM)
        said = self.ends(process, 40)
        self.assertEqual(process.returncode, 70, said)
        self.assertIn("the process was asked to end", said)

    def test_text_that_is_no_text(self) -> None:
        said = self.fails_as_it_should(Trial("layer.odd", "compute_feature", "throws_garbage"))
        self.assertIn(r"\x1b[2J\x1b]0;title\x07 \xff\xfe\xc3( ", said)
        self.assertIn("... (50000000 bytes in all)", said)
        self.assertLess(len(said), 5000)


unittest.main()
