"""What is hostile on purpose, drawn from a seed: hostile_jobs_test.py has jobs. A case is drawn from the seed, the name
of its half and its number alone, so that it can be had again: DLHOST_SEED=S DLHOST_CASE=N. DLHOST_HOSTILE says how many
cases are drawn."""
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
SECONDS = 20.0  # that a command may take on a machine that has others to run as well
MEMORY = 6 << 30  # bytes of addresses; what is loaded takes most of them


@dataclasses.dataclass
class Ended:
    """How a command ended; `code` is negative where a signal ended it."""

    code: int
    said: str
    seconds: float
    in_time: bool


def run(command: list[str], folder: pathlib.Path, seconds: float = SECONDS, **environment: str) -> Ended:
    """Runs it within its limits; whatever it started is gone afterwards."""

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
        """The draws and the folder of each case, and the words that give it again."""
        print(f"{half}: {1 if ONE else CASES} of seed {SEED}", flush=True)
        for number in [int(ONE)] if ONE else range(CASES):
            with tempfile.TemporaryDirectory() as folder:
                again = f"{half} DLHOST_SEED={SEED} DLHOST_CASE={number}"
                yield random.Random(f"{SEED} {half} {number}"), pathlib.Path(folder), again


def up_to(draw: random.Random, most: int, least: int = 1) -> int:
    """As likely of one size as of another: few, many, and far too many."""
    return round(least * (most / least) ** draw.random())
