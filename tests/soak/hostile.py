"""Hostile input, drawn from a seed: hostile_jobs_test.py has jobs. A case depends only on the seed, the name of its
half and its number, and so can be repeated: DLHOST_SEED=S DLHOST_CASE=N. DLHOST_HOSTILE is the number of cases."""
import contextlib
import dataclasses
import os
import pathlib
import random
import resource
import signal
import subprocess
import tempfile
import time
import unittest
from collections.abc import Iterator

SEED = int(os.environ.get("DLHOST_SEED", "1"))
CASES = int(os.environ.get("DLHOST_HOSTILE", "40"))
ONE = os.environ.get("DLHOST_CASE")
SECONDS = 20.0  # a command's limit, on a machine with other work
MEMORY = 6 << 30  # bytes of address space; loaded files take most of it


@dataclasses.dataclass
class Ended:
    """A command's end; `code` is negative after a signal."""

    code: int
    said: str
    seconds: float
    in_time: bool


def run(command: list[str], folder: pathlib.Path, seconds: float = SECONDS, **environment: str) -> Ended:
    """Runs a command within its limits, then kills the rest of its process group."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    begin = time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | environment, preexec_fn=limit, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    in_time = True
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        in_time = False
        os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return Ended(process.returncode, said.decode(errors="replace"), time.monotonic() - begin, in_time)


class Hostile(unittest.TestCase):
    """A half draws its cases in a loop over cases()."""

    def cases(self, half: str) -> Iterator[tuple[random.Random, pathlib.Path, str]]:
        """Yields the draws and the folder of each case, and the words that repeat it."""
        print(f"{half}: {1 if ONE else CASES} of seed {SEED}", flush=True)
        for number in [int(ONE)] if ONE else range(CASES):
            with tempfile.TemporaryDirectory() as folder:
                again = f"{half} DLHOST_SEED={SEED} DLHOST_CASE={number}"
                yield random.Random(f"{SEED} {half} {number}"), pathlib.Path(folder), again


def up_to(draw: random.Random, most: int, least: int = 1) -> int:
    """Every magnitude is equally likely: few, many, and far too many."""
    return round(least * (most / least) ** draw.random())
