"""Runs whose workers are processes; tests observe them from outside."""
import contextlib
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

JOB = """name = "small"
seed = 3
[train]
device = "ref"
batch = 12
threads = 1
stop = { steps = 60 }
[updater]
type = "sgd"
momentum = 0.9
rate = 0.05
[topology]
framework = "allreduce"
workers = 3
slice_elements = 20
[checkpoint]
every = { steps = 20 }
[record]
every = { steps = 1 }
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [7]
classes = 3
train = 50
test = 20
[[layer]]
name = "fc"
type = "dense"
src = "data"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc", "data:label"]
"""
# Seconds for a whole run: soak's runs are long, and sanitizers make runs slow.
PATIENCE = int(os.environ.get("DLHOST_PATIENCE", "60")) + 5 * int(os.environ.get("DLHOST_KILLS", "0"))
PROCESSES = "--set=topology.run_as=processes"
FOR_EVER = (PROCESSES, "--set=train.stop.steps=1000000000", "--set=record.every.steps=1000")


class Workers(unittest.TestCase):
    """Every test has its own folder, with a small job of three workers."""

    dlhost = "dlhost"
    options: tuple[str, ...] = ()  # before the command

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(self.until, lambda: not self.workers())
        self.root = pathlib.Path(folder.name)
        (self.root / "job.toml").write_text(JOB)
        (self.root / "tmp").mkdir()

    def start(self, *words: str, **environment: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [self.dlhost, *self.options, "run", "job.toml", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.root, env=os.environ | {"TMPDIR": str(self.root / "tmp")} | environment,
            start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process: subprocess.Popen) -> None:
        """Kills it with all its processes, because a survivor takes over."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def run_job(self, *words: str) -> dict:
        """Returns the summary, and a hash of the params."""
        process = self.start(*words)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, f"{out}\n{err}")
        return self.outcome()

    def newest_run(self) -> pathlib.Path:
        return max((self.root / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)

    def outcome(self) -> dict:
        """The summary and params' hash of the newest run."""
        folder = self.newest_run()
        summary = json.loads((folder / "summary.json").read_text())
        said = folder / "output.log"
        self.assertEqual(summary["status"], "done", f"{summary} {said.read_text() if said.exists() else ''}")
        params = sorted(folder.glob("checkpoints/step-*/params.safetensors"))[-1].read_bytes()
        return summary | {"params": hashlib.sha256(params).hexdigest()}

    def audit(self, *words: str) -> dict:
        """The newest run's audit; fails if the ledger has a fault."""
        folder = self.newest_run()
        told = subprocess.run([self.dlhost, "audit", str(folder), "--json", *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(told.returncode, 0, told.stderr)
        return json.loads(told.stdout)

    def until(self, what, seconds: float = 30, what_is=lambda: "nothing more is known") -> None:
        end = time.monotonic() + seconds
        while not what():
            if time.monotonic() > end:
                self.fail(f"it does not come that far; {what_is()}")
            time.sleep(0.02)

    def begun(self) -> bool:
        return any(p.stat().st_size > 0 for p in self.root.glob("runs/*/metrics.jsonl"))

    def over(self) -> bool:
        return any(json.loads(p.read_text())["status"] != "running" for p in self.root.glob("runs/*/summary.json"))

    def leader(self) -> int:
        return json.loads(next(self.root.glob("runs/*/leader.json")).read_text())["process"]

    def command_lines(self) -> dict[int, list[str]]:
        """The command lines of this test's processes, by process id: those that name a path of it."""
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().decode().split("\0")
            except OSError:  # it has just ended
                continue
            if any(word.startswith(str(self.root)) for word in words):
                found[int(process.name)] = words
        return found

    def workers(self) -> dict[int, int]:
        """Process ids by seat."""
        return {int(words[words.index("worker") + 2]): process for process, words in self.command_lines().items() if "worker" in words}

    def nothing_is_left(self) -> None:
        def left() -> list:
            here = [f"{folder}: {folders + files}" for folder, folders, files in os.walk(self.root / "tmp") if folders or files]
            return [*(f"worker {seat} is process {process}" for seat, process in self.workers().items()), *here]

        self.until(lambda: not left(), what_is=left)
