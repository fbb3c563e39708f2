#!/usr/bin/env python3
"""run_test.py DLHOST MISBEHAVING: `dlhost run` as a process: signals, full disks, files without permission."""
import fcntl
import hashlib
import json
import os
import pathlib
import pty
import pwd
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

dlhost, plugin = map(os.path.realpath, sys.argv[1:3])  # the commands below run elsewhere
del sys.argv[1:3]
JOB = """name = "small"
[train]
device = "ref"
batch = 5
threads = 1
hang_limit = inf
stop = { steps = 40 }
[checkpoint]
every = { steps = 10 }
[record]
every = { steps = 1 }
[[layer]]
name = "data"
type = "synthetic"
shape = [30]
classes = 3
train = 50
test = 10
[[layer]]
name = "fc"
type = "dense"
src = "data"
units = 100
[[layer]]
name = "odd"
type = "misbehaving"
src = "fc"
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["odd", "data:label"]
"""
FOR_EVER = ("--set=train.stop.steps=1000000000", "--set=checkpoint.every.steps=1000000000", "--set=record.every.steps=1000")


def rewrite(change, seal: bool):
    """Changes a checkpoint's manifest. `seal`: with a new checksum, as if another program had written it."""

    def rewritten(checkpoint: pathlib.Path) -> None:
        path = checkpoint / "manifest.json"
        told = json.loads(path.read_text())
        change(told)
        if seal:
            told["blake2b"] = ""
        text = json.dumps(told, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
        digest = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
        path.write_text(text.replace('"blake2b": ""', f'"blake2b": "{digest}"', 1))

    return rewritten


def cut(file: str, part: float):
    return lambda checkpoint: os.truncate(checkpoint / file, int(part * (checkpoint / file).stat().st_size))


def remove(file: str):
    return lambda checkpoint: (checkpoint / file).unlink()


NEVER_WRITTEN = {"worker-0.safetensors": {"bytes": 8, "blake2b": 64 * "0"}}
# Damages of a checkpoint, and the message of each.
SPOILT = {
    "no manifest": (
        remove("manifest.json"),
        r"'\S+' is not a checkpoint: it has no manifest.json, or was not written to its end"),
    "a torn manifest": (
        cut("manifest.json", 0.5),
        r"\S+/manifest.json: is torn, or not a manifest of dlhost"),
    "an empty manifest": (
        cut("manifest.json", 0),
        r"\S+/manifest.json: is torn, or not a manifest of dlhost"),
    "another version": (
        rewrite(lambda told: told.update(format=told["format"] + 1), seal=True),
        r"\S+/manifest.json: is of another version of dlhost; this one reads format \d"),
    "a changed manifest": (
        rewrite(lambda told: told["run"].update(step=7), seal=False),
        r"\S+/manifest.json: its hash does not match its text: damaged or tampered with"),
    "no seal": (
        rewrite(lambda told: told.pop("blake2b"), seal=False),
        r"\S+/manifest.json: its hash does not match its text: damaged or tampered with"),
    "a file that is gone": (
        remove("state.safetensors"),
        r"cannot open \S+/state.safetensors: No such file or directory"),
    "a file that never was": (
        rewrite(lambda told: told["files"].update(NEVER_WRITTEN), seal=True),
        r"cannot open \S+/worker-0.safetensors: No such file or directory"),
    "a file that is not listed": (
        rewrite(lambda told: told["files"].pop("history.safetensors"), seal=True),
        r"\S+/manifest.json: does not list history.safetensors"),
    "files that are none": (
        rewrite(lambda told: told.update(files=[]), seal=True),
        r"\S+/manifest.json: its list of files is not a JSON object"),
    "a file that none has": (
        rewrite(lambda told: told["files"].update({"worker-1.safetensors": NEVER_WRITTEN["worker-0.safetensors"]}), seal=True),
        r"\S+/manifest.json: lists a file that no checkpoint has"),
    "a step before the first": (
        rewrite(lambda told: told["run"].update(step=-1), seal=True),
        r"\S+/manifest.json: run.step is -1, and must be a count of at most \d+"),
    "a step beyond all": (
        rewrite(lambda told: told["run"]["training"].update(step=2**64 - 1), seal=True),
        r"\S+/manifest.json: run.training.step is 18446744073709551615, and must be a count of at most \d+"),
    "a seed that is none": (
        rewrite(lambda told: told["run"].update(seed=None), seal=True),
        r"\S+/manifest.json: run.seed is null, and must be a count of at most \d+"),
    "a plan of other threads": (
        rewrite(lambda told: told["run"]["plan"].update(threads=64), seal=True),
        r"\S+/manifest.json: run.plan.hash is \"\w{16}\", and must be the hash of the plan beside it, \w{16}"),
    "a file that was cut": (
        cut("params.safetensors", 0.5),
        r"\S+/params.safetensors: has \d+ bytes, but the manifest says \d+: truncated or replaced"),
}


def as_from_a_shell() -> None:
    """Resets SIGHUP, which the caller of these tests may ignore."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def read_all(terminal: int, shown: list[bytes]) -> None:
    try:
        while piece := os.read(terminal, 4096):
            shown.append(piece)
    except OSError:
        pass  # the other end is closed


class Run(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "job.toml").write_text(JOB)

    def start(self, *words: str, **how) -> subprocess.Popen:
        command = [dlhost, "--plugin-dir", os.path.dirname(plugin), "run", "job.toml", *words]
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": self.root} | how
        process = subprocess.Popen(command, **how)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def run_job(self, code: int, *words: str, **how) -> str:
        process = self.start(*words, **how)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, f"{out}\n{err}")
        return err

    def folder(self) -> pathlib.Path:
        return next(self.root.glob("*runs/*"))

    def summary(self) -> dict:
        return json.loads((self.folder() / "summary.json").read_text())

    def checkpoints(self) -> list[str]:
        return sorted(p.name for p in (self.folder() / "checkpoints").iterdir())

    def until(self, what) -> None:
        for _ in range(600):
            if what():
                return
            time.sleep(0.05)
        self.fail("it does not come that far")

    def begun(self) -> bool:
        return any(p.stat().st_size > 0 for p in self.root.glob("*runs/*/metrics.jsonl"))

    def pending(self, process: subprocess.Popen, number: int) -> bool:
        """Whether the signal was sent and not yet delivered."""
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return bool(int(re.search(r"^ShdPnd:\s*(\w+)", status, re.MULTILINE)[1], 16) >> (number - 1) & 1)

    def test_the_first_interrupt_saves_and_ends(self) -> None:
        user = pwd.getpwuid(os.getuid()).pw_name
        for number, reason in ((signal.SIGINT, f"by SIGINT from {user}"), (signal.SIGHUP, f"by SIGHUP from {user}"),
                               (signal.SIGTERM, f"by SIGTERM from {user} (dlhost stop, or kill)")):
            self.setUp()
            process = self.start(*FOR_EVER, preexec_fn=as_from_a_shell)
            self.until(self.begun)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, err)
            summary = self.summary()
            self.assertEqual((summary["status"], summary["reason"]), ("interrupted", reason))
            self.assertEqual(self.checkpoints(), [f"step-{summary['steps']:09}"])

    def test_a_terminal_asks_it_to_end(self) -> None:
        for ends, reason in ((lambda: os.write(near, b"\x03"), "by Ctrl-C"),
                             (lambda: os.close(near), "by its terminal, which was closed")):
            self.setUp()
            near, far = pty.openpty()
            process = self.start(*FOR_EVER, stdin=far, stdout=far, stderr=far, start_new_session=True,
                                 preexec_fn=lambda: (as_from_a_shell(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
            os.close(far)
            shown = []
            reads = threading.Thread(target=read_all, args=(near, shown))
            if reason == "by Ctrl-C":
                reads.start()
            self.until(self.begun)
            ends()
            self.assertEqual(process.wait(60), 130)
            summary = self.summary()
            self.assertEqual((summary["status"], summary["reason"]), ("interrupted", reason))
            self.assertEqual(self.checkpoints(), [f"step-{summary['steps']:09}"])
            if reason == "by Ctrl-C":
                reads.join(60)
                os.close(near)
                self.assertIn(b"Ctrl-C again ends it at once", b"".join(shown))

    def test_who_is_to_outlive_its_terminal_does(self) -> None:
        process = self.start(*FOR_EVER, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.until(self.begun)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertIsNone(process.poll())

    def test_what_it_says_how_to_go_on_does(self) -> None:
        process = self.start(*FOR_EVER, "--set=layer.fc.units=7", "--set=record.folder=my runs")
        self.until(self.begun)
        self.assertEqual(self.summary()["status"], "running")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        hint = re.search(r"dlhost( --plugin-dir .* run --resume 'my runs/.*')\s+goes on from the newest checkpoint", out)
        self.assertIsNotNone(hint, out)
        # The hint needs neither the job file nor the settings.
        (self.root / "job.toml").unlink()
        again = f"{dlhost}{hint[1]} --set train.stop.steps=1"
        done = subprocess.run(again, shell=True, cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.summary()["status"], "done")
        self.assertEqual(len(list((self.root / "my runs").iterdir())), 1)

    def test_what_is_wrong_before_the_first_step_leaves_no_folder(self) -> None:
        self.run_job(1, "--set=layer.odd.src=data:label")
        self.run_job(1, "--resume", "nowhere")
        init = 'units = 100\nparam.bias.init = { type = "uniform", low = 1, high = 0 }'
        (self.root / "job.toml").write_text(JOB.replace("units = 100", init))
        self.assertRegex(self.run_job(1), r"job.toml:\d+:7: param 'fc.bias', initializer 'uniform': low is 1, but high is 0")
        self.assertFalse((self.root / "runs").exists())
        (self.root / "job.toml").write_text(JOB)
        self.run_job(0)
        checkpoint = f"{self.folder()}/checkpoints/{self.checkpoints()[-1]}"
        self.assertIn("'fc.weight' is 100x30 there and 9x30 here", self.run_job(1, "--set=layer.fc.units=9", "--resume", checkpoint))
        self.assertEqual(len(list((self.root / "runs").iterdir())), 1)

    def test_a_refused_resume_leaves_the_record(self) -> None:
        self.run_job(0)
        before = (self.folder() / "summary.json").read_bytes()
        self.assertEqual(json.loads(before)["status"], "done")
        process = self.start("--resume", str(self.folder()), "--set=layer.fc.units=9")
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (1, ""))
        self.assertIn("'fc.weight' is 100x30 there and 9x30 here", err)
        self.assertEqual((self.folder() / "summary.json").read_bytes(), before)

    def test_a_checkpoint_without_its_job(self) -> None:
        """Each command names a remedy that it has."""
        self.run_job(0)
        shutil.copytree(self.folder() / "checkpoints/step-000000040", self.root / "alone")
        (self.root / "job.toml").rename(self.root / "net.toml")
        for words, remedy in ((("eval", "alone"), "where a checkpoint's run has one: name the job (--job)"), (("audit", "alone"), "name a run's folder"),
                              (("run", "--resume", "alone"), "where a checkpoint's run has one: name the job as well (dlhost run JOB.toml --resume alone)")):
            done = self.use(*words)
            self.assertEqual(done.returncode, 1, words)
            self.assertTrue(done.stderr.endswith(f"{remedy}\n"), done.stderr)
        self.assertEqual(self.use("eval", "alone", "--job", "net.toml").returncode, 0)
        self.assertEqual(self.use("run", "net.toml", "--resume", "alone").returncode, 0)

    def test_a_torn_checkpoint_is_passed_over_aloud(self) -> None:
        self.run_job(0)
        torn = self.folder() / "checkpoints/step-000000040/params.safetensors"
        torn.write_bytes(torn.read_bytes()[:-1] + b"?")
        told = r"warning: .*step-000000040/params.safetensors: its hash does not match the manifest.*\n.*step-000000030 is taken in its place\n$"
        done = self.use("eval", str(self.folder()))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, told)
        self.assertIn("step-000000030", done.stdout)
        self.assertRegex(self.run_job(0, "--resume", str(self.folder())), told)
        records = [json.loads(line) for line in (self.folder() / "metrics.jsonl").read_text().splitlines()]
        self.assertIn({"step": 30, "phase": "resumed", "resumed_from": 30}, records)
        self.assertEqual(self.run_job(0, "--resume", str(self.folder())), "")  # by now the newest is whole again

    def test_each_way_to_spoil_a_checkpoint_is_told_and_the_newest_good_one_is_there(self) -> None:
        """A command that names the run uses the older checkpoint; one that names the spoilt checkpoint suggests it."""
        self.run_job(0)
        good = self.folder()
        for way, (spoil, reason) in SPOILT.items():
            with self.subTest(way):
                run = self.root / way.replace(" ", "-")
                shutil.copytree(good, run)
                newest, older = (run / f"checkpoints/step-{step:09}" for step in (40, 30))
                spoil(newest)
                taken = rf"\Awarning: {reason}\n{older} is taken in its place\n\Z"
                offered = rf"\Adlhost: {reason}; the newest good one is {older}\n\Z"
                done = self.use("eval", str(run), "--json")
                self.assertRegex(done.stderr, taken)
                self.assertEqual((done.returncode, json.loads(done.stdout)["checkpoint"]), (0, str(older)))
                done = self.use("eval", str(newest))
                self.assertRegex(done.stderr, offered)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(self.run_job(1, "--resume", str(newest)), offered)
                self.assertRegex(self.run_job(0, "--resume", str(run)), taken)
                self.assertEqual(json.loads((newest / "manifest.json").read_text())["run"]["step"], 40)  # written again

    def test_where_no_checkpoint_is_good_each_is_told(self) -> None:
        self.run_job(0)
        for name in self.checkpoints():
            (self.folder() / "checkpoints" / name / "manifest.json").unlink()
        for command in (["eval"], ["run", "--resume"]):
            done = self.use(*command, str(self.folder()))
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"no good checkpoint in '{self.folder()}/checkpoints'", done.stderr)
            self.assertEqual(done.stderr.count("it has no manifest.json"), 3, done.stderr)

    def test_the_last_checkpoints_and_the_best_are_kept_and_no_other(self) -> None:
        """Validation samples contradict the training samples: the first validation is the best, and long past."""
        for name, shift in ("train", 0), ("validate", 1):
            rows = (f"{i % 3 == 0:d},{i % 3 == 1:d},{i % 3 == 2:d},{(i + shift) % 3}\n" for i in range(30))
            (self.root / f"{name}.csv").write_text("".join(rows))
        synthetic = 'type = "synthetic"\nshape = [30]\nclasses = 3\ntrain = 50\ntest = 10'
        rows = 'type = "csv"\ntrain = "train.csv"\nvalidate = "validate.csv"'
        (self.root / "job.toml").write_text(JOB.replace(synthetic, rows))
        words = ("--set=layer.fc.units=3", "--set=updater.rate=0.1", "--set=checkpoint.every.steps=3",
                 "--set=validate.every.steps=4")

        def left() -> list[str]:
            return sorted(p.name for p in self.root.glob("runs/*/checkpoints/*"))

        for keep, steps in (1, [40]), (2, [39, 40]), (5, [30, 33, 36, 39, 40]):
            with self.subTest(keep=keep):
                shutil.rmtree(self.root / "runs", ignore_errors=True)
                self.run_job(0, *words, f"--set=checkpoint.keep={keep}")
                self.assertEqual(left(), ["best", *(f"step-{step:09}" for step in steps)])
                best = json.loads((self.folder() / "checkpoints/best/manifest.json").read_text())["run"]
                losses = self.recorded("validation", "loss")
                self.assertEqual(losses, sorted(losses))
                self.assertEqual((best["step"], best["training"]["best"]), (4, losses[0]))
        with self.subTest("and of a run that goes on"):
            longer = ("--set=checkpoint.keep=2", "--set=train.stop.steps=50")
            self.run_job(0, *words, *longer, "--resume", str(self.folder()))
            self.assertEqual(left(), ["best", "step-000000049", "step-000000050"])
        for keep, best, names in (0, "auto", []), (2, "none", ["step-000000039", "step-000000040"]):
            with self.subTest(keep=keep, best=best):
                shutil.rmtree(self.root / "runs")
                self.run_job(0, *words, f"--set=checkpoint.keep={keep}", f"--set=checkpoint.best_by={best}")
                self.assertEqual(left(), names)

    def use(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([dlhost, "--plugin-dir", os.path.dirname(plugin), *words], cwd=self.root, capture_output=True, text=True, timeout=60)

    def test_without_a_checkpoint_none_is_promised(self) -> None:
        process = self.start("--set=updater.rate=3e38", "--set=checkpoint.every.steps=1000")
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, err)
        self.assertIn("dlhost plot", out)
        self.assertNotIn(" eval ", out)
        self.assertNotIn("--resume", out)
        for command in (["eval"], ["run", "--resume"]):
            done = self.use(*command, str(self.folder()))
            self.assertEqual((done.returncode, done.stderr), (1, f"dlhost: the run '{self.folder()}' has no checkpoint\n"))

    def test_what_it_says_how_to_measure_does(self) -> None:
        """Also if the job keeps its checkpoints in another folder."""
        process = self.start("--set=checkpoint.folder=kept here")
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        hint = re.search(r"dlhost( --plugin-dir .* eval 'kept here' --job runs/.* --phase test)", out)
        self.assertIsNotNone(hint, out)
        done = subprocess.run(f"{dlhost}{hint[1]}", shell=True, cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_label_beyond_the_classes(self) -> None:
        rows = "".join(f"0.{i},0.2,{i % 3}\n" for i in range(10))
        (self.root / "good.csv").write_text(rows)
        (self.root / "bad.csv").write_text(rows.replace(",1\n", ",8\n", 1))
        synthetic = 'type = "synthetic"\nshape = [30]\nclasses = 3\ntrain = 50\ntest = 10'
        (self.root / "job.toml").write_text(JOB.replace(synthetic, 'type = "csv"\ntrain = "good.csv"\ntest = "bad.csv"'))
        words = ("--set=train.shuffle=false", "--set=layer.fc.units=4")
        said = self.run_job(1, *words)
        self.assertRegex(said, r"layer 'loss' \(softmax_loss\) in batch 0 of an evaluation: .*label 8 of row 1 of the batch is not in \[0, 4\): give the layer before the loss more units")
        said = self.run_job(1, *words, "--set=layer.data.train=bad.csv", '--set=train.device={ type = "ref", far = true }')
        self.assertRegex(said, r"layer 'loss' \(softmax_loss\) in step 0: .*label 8 of row 1 of the batch is not in \[0, 4\): give the layer before the loss more units")

    def test_the_second_ends_at_once(self) -> None:
        """In a step that never ends; before it, an interrupt would end the run in good order."""
        said = self.root / "said"
        hangs = ("--set=layer.odd.how=hangs", "--set=layer.odd.where=compute_feature", "--set=layer.odd.step=3")
        with said.open("w") as err:
            process = self.start(*hangs, stderr=err)
        self.until(lambda: "hangs now" in said.read_text())
        process.send_signal(signal.SIGINT)
        self.until(lambda: not self.pending(process, signal.SIGINT))  # two pending signals would merge into one
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)  # the step does not end
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)

    def test_threads_do_not_spin_for_long(self) -> None:
        """Unless the user sets the spin time."""
        names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
        for said, spins in (({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, None)):
            environment = {name: value for name, value in os.environ.items() if name not in names} | said
            process = self.start(*FOR_EVER, env=environment)
            self.until(lambda: list(self.root.glob("runs/*/metrics.jsonl")))
            there = pathlib.Path(f"/proc/{process.pid}/environ").read_bytes().decode().split("\0")
            self.assertEqual([one for one in there if one.startswith("GOMP_SPINCOUNT=")],
                             [f"GOMP_SPINCOUNT={spins}"] if spins else [])
            self.assertEqual(pathlib.Path(f"/proc/{process.pid}/comm").read_text(), "dlhost\n")
            process.kill()
            process.communicate()
            shutil.rmtree(self.root / "runs")

    def test_no_step_is_left(self) -> None:
        """A run that is resumed after its last step records no step that it did not make, and its summary equals that
        of the uninterrupted run."""
        self.run_job(0)
        told = self.summary()["train"]
        self.assertIn("loss", told)
        before = (self.folder() / "metrics.jsonl").read_text().splitlines()
        self.run_job(0, "--resume", str(self.folder()))
        after = [json.loads(line)["phase"] for line in (self.folder() / "metrics.jsonl").read_text().splitlines()]
        self.assertNotIn("train", after[len(before) :])
        self.assertEqual(self.summary()["train"], told)
        (self.folder() / "metrics.jsonl").write_text("")
        self.run_job(0, "--resume", str(self.folder()))
        self.assertEqual(self.summary()["train"], {})

    def test_a_file_that_may_not_grow(self) -> None:
        """As on a full disk: the error names the file, earlier checkpoints are whole, and the run can continue."""
        limit = (4000, resource.RLIM_INFINITY)  # bytes: the log exceeds it in some step, checkpoints do not

        def few_bytes() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)

        check = [dlhost, "--plugin-dir", os.path.dirname(plugin), "check", "job.toml"]
        if subprocess.run(check, preexec_fn=few_bytes, cwd=self.root, capture_output=True).returncode == -signal.SIGBUS:
            self.skipTest("clang's ThreadSanitizer maps a longer file of its own when a program starts")
        said = self.run_job(1, "--set=layer.fc.units=4", preexec_fn=few_bytes)
        self.assertRegex(said, r"dlhost: cannot write runs/.*/(metrics.jsonl|events.*): .*ulimit -f")
        self.assertTrue((self.folder() / "metrics.jsonl").read_text().endswith("}\n"))
        newest = self.checkpoints()[-1]
        self.assertRegex(newest, "step-0000000[123]0$")
        summary = self.summary()
        self.assertEqual(summary["status"], "failed")
        self.assertIn("cannot write runs/", summary["reason"])
        self.assertGreaterEqual(summary["steps"], int(newest[-2:]))
        self.run_job(0, "--set=layer.fc.units=4", "--resume", str(self.folder()))

        self.setUp()
        limit = (9000, resource.RLIM_INFINITY)  # now checkpoints exceed it
        said = self.run_job(1, "--set=record.every.steps=1000", preexec_fn=few_bytes)
        self.assertRegex(said, r"checkpoint 'runs/.*/checkpoints/step-000000010': cannot write .*params.safetensors: .*ulimit -f")
        self.assertEqual(self.checkpoints(), [])

    def test_a_full_disk(self) -> None:
        if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
            self.skipTest("this system gives no mount namespace")
        (self.root / "runs").mkdir()
        # Room for two checkpoints of about 27 KB each and the records, not for three.
        script = f"""mount -t tmpfs -o size=10m none runs || exit 99
head -c {(10240 - 90) * 1024} /dev/zero >runs/.others
{dlhost} --plugin-dir {os.path.dirname(plugin)} run job.toml --set checkpoint.wait=1 2>err; echo $? >code
find runs/*/checkpoints >found
rm runs/.others
{dlhost} --plugin-dir {os.path.dirname(plugin)} run job.toml --resume runs/* >out 2>&1; echo $? >again"""
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=self.root, capture_output=True, text=True, timeout=120)
        if done.returncode == 99:
            self.skipTest("this system mounts nothing in a namespace")
        said = (self.root / "err").read_text()
        self.assertEqual((self.root / "code").read_text(), "1\n", said)
        self.assertRegex(said, r"No space left on device \(\d+ KiB are free there\); free some space, or choose another folder")
        found = (self.root / "found").read_text()
        self.assertIn("step-000000010/manifest.json", found)
        self.assertNotIn("unfinished", found)
        self.assertEqual((self.root / "again").read_text(), "0\n", (self.root / "out").read_text())

    def test_a_folder_that_may_not_be_written(self) -> None:
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        (self.root / "runs").mkdir(mode=0o500)
        line = JOB[: JOB.index("record]")].count("\n") + 1
        self.assertRegex(self.run_job(1), f"dlhost: job.toml:{line}:2: record.folder: cannot .* runs/small-.*: Permission denied")

    def test_a_folder_that_cannot_be_made(self) -> None:
        (self.root / "file").write_text("")
        for key in ("record", "checkpoint"):
            job = JOB.replace(f"[{key}]\n", f'[{key}]\nfolder = "file/x"\n')
            line = job[: job.index("folder")].count("\n") + 1
            (self.root / "job.toml").write_text(job)
            said = self.run_job(1)
            self.assertIn(f"dlhost: job.toml:{line}:1: {key}.folder: cannot make the folder file/x", said)
            self.assertIn("Not a directory; name a folder that can be made", said)
        self.assertFalse((self.root / "runs").exists())

    def test_nobody_reads_what_it_says(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        self.run_job(0, stdout=writing)
        os.close(writing)

    def test_closed_standard_files(self) -> None:
        """Files opened later do not get their descriptors: no message goes into a record."""
        command = f"exec {dlhost} --plugin-dir {os.path.dirname(plugin)} run job.toml <&- >&- 2>&-"
        self.assertEqual(subprocess.run(["sh", "-c", command], cwd=self.root, timeout=60).returncode, 0)
        for line in (self.folder() / "metrics.jsonl").read_text().splitlines():
            json.loads(line)

    def test_a_full_standard_output(self) -> None:
        with open("/dev/full", "w") as full:
            done = subprocess.run([dlhost, "--plugin-dir", os.path.dirname(plugin), "check", "job.toml"], cwd=self.root, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr)

    def test_records_as_often_as_asked(self) -> None:
        for every, steps in (("{ steps = 15 }", [1, 15, 30, 40]), ("{ epochs = 1 }", [1, 10, 20, 30, 40]), ("{ seconds = 1e6 }", [1, 40]),
                             ("{ seconds = 1e-9 }", list(range(1, 41))), ("{ steps = 25, epochs = 2 }", [1, 20, 25, 40]), ("{}", [40])):
            with self.subTest(every):
                self.setUp()
                self.run_job(0, f"--set=record.every={every}", "--set=layer.fc.units=4")
                self.assertEqual(self.recorded("train"), steps)
        self.setUp()
        self.run_job(0, "--set=record.every.steps=15", "--set=train.stop.steps=22")
        self.run_job(0, "--set=record.every.steps=15", "--resume", str(self.folder()))
        self.assertEqual(self.recorded("train"), [1, 15, 22, 30, 40])

    def recorded(self, phase: str, metric: str = "") -> list:
        records = [json.loads(line) for line in (self.folder() / "metrics.jsonl").read_text().splitlines()]
        return [record["metrics"][metric] if metric else record["step"] for record in records if record["phase"] == phase]

    def test_the_best_is_that_of_the_metric_that_was_named(self) -> None:
        (self.root / "job.toml").write_text(JOB + '[[layer]]\nname = "right"\ntype = "accuracy"\nsrc = ["odd", "data:label"]\n')
        validated = ("--set=layer.data.validate=30", "--set=validate.every.steps=3", "--set=updater.rate=0.02")
        for name, best in (("loss", min), ("right", max), ("auto", max)):
            with self.subTest(name):
                for run in self.root.glob("runs/*"):
                    shutil.rmtree(run)
                self.run_job(0, f"--set=checkpoint.best_by={name}", *validated)
                kept = json.loads((self.folder() / "checkpoints/best/manifest.json").read_text())["run"]
                values = self.recorded("validation", "right" if name == "auto" else name)[:13]  # without the last one
                self.assertEqual(kept["training"]["best"], best(values))
                self.assertEqual(kept["step"], 3 * (1 + values.index(best(values))))
        self.assertIn("--set checkpoint.best_by=los: checkpoint.best_by: unknown metric 'los'; did you mean 'loss'? (known: loss, right)", self.run_job(1, "--set=checkpoint.best_by=los", *validated))
        said = self.run_job(1, "--set=checkpoint.best_by=loss")
        self.assertIn("checkpoint.best_by looks at validations, but there are no validation samples", said)

    def test_the_best_is_what_is_tested_and_used(self) -> None:
        """Validation and test samples contradict the training samples: the first validation is the best."""
        for name, shift in ("train", 0), ("held", 1):
            rows = (f"{i % 3 == 0:d},{i % 3 == 1:d},{i % 3 == 2:d},{(i + shift) % 3}\n" for i in range(30))
            (self.root / f"{name}.csv").write_text("".join(rows))
        synthetic = 'type = "synthetic"\nshape = [30]\nclasses = 3\ntrain = 50\ntest = 10'
        (self.root / "job.toml").write_text(JOB.replace(synthetic, 'type = "csv"\ntrain = "train.csv"\nvalidate = "held.csv"\ntest = "held.csv"'))
        words = ("--set=layer.fc.units=3", "--set=updater.rate=0.1", "--set=validate.every.steps=4")
        self.run_job(0, *words)
        losses, summary, run = self.recorded("validation", "loss"), self.summary(), str(self.folder())
        self.assertEqual(summary["best"], {"metric": "loss", "value": losses[0], "step": 4})
        self.assertEqual(summary["test"]["loss"], losses[0])
        self.assertEqual((self.recorded("test"), self.recorded("test", "loss")), ([4], losses[:1]))

        def told(*command: str) -> dict:
            done = self.use(*command)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        best, last = told("eval", run, "--json"), told("eval", run, "--json", "--last")
        self.assertEqual((best["checkpoint"], best["metrics"]["loss"]), (f"{run}/checkpoints/best", losses[0]))
        self.assertEqual(last["checkpoint"], f"{run}/checkpoints/step-000000040")
        self.assertGreater(last["metrics"]["loss"], losses[0])
        for words_of_export, written in ((), "best"), (("--last",), "last"):
            self.assertEqual(self.use("export", run, *words_of_export, "-o", f"{written}.safetensors").returncode, 0)
        self.assertNotEqual(*((self.root / f"{written}.safetensors").read_bytes() for written in ("best", "last")))
        shutil.rmtree(self.folder() / "checkpoints/best")  # as a user might to free space
        self.assertIn("the last params are tested in its place", self.run_job(0, *words, "--resume", run, "--set=train.stop.steps=43"))
        self.assertEqual(told("eval", run, "--json")["metrics"], self.summary()["test"])

    def test_other_data_than_the_run_had_are_told(self) -> None:
        rows = [f"{i % 3 == 0:d},{i % 3 == 1:d},{i % 3 == 2:d},{i % 3}\n" for i in range(30)]
        synthetic = 'type = "synthetic"\nshape = [30]\nclasses = 3\ntrain = 50\ntest = 10'
        (self.root / "job.toml").write_text(JOB.replace(synthetic, 'type = "csv"\ntrain = "train.csv"'))
        for changed, told in ((rows[:10], "it has 10 training samples, but had 30"),
                              (rows[1:] + rows[:1], "its 30 training samples differ, or their order")):
            with self.subTest(told):
                (self.root / "train.csv").write_text("".join(rows))
                self.run_job(0, "--set=layer.fc.units=3")
                run = str(max(self.root.glob("runs/*"), key=lambda folder: folder.stat().st_mtime))
                longer = ("--resume", run, "--set=train.stop.steps=60", "--set=layer.fc.units=3")
                (self.root / "train.csv").write_text("".join(changed))
                said = self.run_job(1, *longer)
                self.assertIn(f"source 'data' does not read the data that the run was trained on: {told}", said)
                self.assertIn("--accept-data", said)
                self.run_job(0, *longer, "--accept-data")

    def test_each_sample_counts_where_all_are_verified(self) -> None:
        rows = [f"{i % 3 == 0:d},{i % 3 == 1:d},{i % 3 == 2:d},{i % 3}\n" for i in range(30)]
        synthetic = 'type = "synthetic"\nshape = [30]\nclasses = 3\ntrain = 50\ntest = 10'
        (self.root / "job.toml").write_text(JOB.replace(synthetic, 'type = "csv"\ntrain = "train.csv"'))
        one_other = [*rows[:2], "5" + rows[2][1:], *rows[3:]]  # not among the nine checked samples
        (self.root / "train.csv").write_text("".join(rows))
        self.run_job(0, "--set=layer.fc.units=3", "--verify")
        longer = ("--resume", str(self.folder()), "--set=layer.fc.units=3")
        (self.root / "train.csv").write_text("".join(one_other))
        said = self.run_job(1, *longer, "--set=train.stop.steps=60", "--verify")
        self.assertIn("source 'data' does not read the data that the run was trained on: its 30 training samples differ", said)
        (self.root / "train.csv").write_text("".join(rows))
        self.run_job(0, *longer, "--set=train.stop.steps=60", "--verify")
        (self.root / "train.csv").write_text("".join(one_other))
        self.run_job(0, *longer, "--set=train.stop.steps=80")  # checks only a few
        said = self.run_job(0, *longer, "--set=train.stop.steps=90", "--verify")
        self.assertIn("source 'data': only a few of the samples that the run was trained on are known", said)

    def test_what_a_resumed_job_has_otherwise_is_listed(self) -> None:
        self.run_job(0)
        process = self.start("--resume", str(self.folder()), "--set=train.stop.steps=50", "--set=updater.rate=0.005")
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        told = [line for line in out.splitlines() if line.startswith("changed: ")]
        self.assertEqual(len(told), 2, told)
        self.assertIn("changed: train.stop.steps = 50 (was 40)", told)
        self.assertRegex("\n".join(told), r"changed: updater.rate.base = 0.005 \(was [^)]+\)")
        process = self.start("--resume", str(self.folder()), "--set=train.stop.steps=50", "--set=updater.rate=0.005")
        self.assertNotIn("changed: ", process.communicate(timeout=60)[0])

    def test_a_loss_that_has_risen_is_told(self) -> None:
        for rate, told in ("0.001", False), ("50", True):
            self.setUp()
            out, err = self.start(f"--set=updater.rate={rate}").communicate(timeout=60)
            self.assertEqual("the loss has risen, from " in out, told, f"{out}\n{err}")

    def test_what_never_comes_is_not_waited_for(self) -> None:
        self.assertIn("train.stop.patience looks at validations, but validate.every is {}", self.run_job(1, "--set=layer.data.validate=30", "--set=validate.every={}", "--set=train.stop.patience=2"))
        self.assertIn("train.stop.accuracy is looked at when", self.run_job(1, "--set=train.stop.accuracy=0.9"))

    def test_numbers_beyond_all_measure(self) -> None:
        for change, words in (
            ("layer.fc.units=9223372036854775807", "layer 'fc': its output 'y' would be 5x9223372036854775807, more elements than any machine holds"),
            ("layer.data.shape=[2000000000,2000000000]", "layer 'data': its output 'data': would be 2000000000x2000000000, more"),
            ("layer.data.shape=[4294967296,4294967296,4294967296,4294967296]", "layer 'data': shape[0]: must be at least 1 and at most 2147483647"),
        ):
            with self.subTest(change):
                self.assertIn(words, self.run_job(1, f"--set={change}"))


unittest.main()
