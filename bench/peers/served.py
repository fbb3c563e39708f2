"""The protocol between the command and a peer. Each system and setting is a process that answers a line with a line of
JSON, so that systems take turns without restarts and do not share threads or memory."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Protocol

from workload import LOSS_STEPS


class Training(Protocol):
    """A peer's training. step(): forward, backward and update on the next batch, finished on return, or when `finish`
    returns after several steps (`steps` is their number)."""

    def step(self) -> None: ...
    def loss(self) -> float: ...  # of the last step


def serve(make: Callable[[], Training]) -> None:
    """Answers `start`, `time SECONDS` and `stop` on standard input. `make` builds the net; imports precede the call."""
    training = make()
    answer = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # output of libraries goes to standard error
    before = _resident()
    for line in sys.stdin:
        verb, *arguments = line.split()
        if verb == "start":
            losses = []
            for _ in range(LOSS_STEPS):
                training.step()
                losses.append(training.loss())
            print(json.dumps({"losses": losses, "added_bytes": max(_peak() - before, 0)}), file=answer)
        elif verb == "time":
            times = _time(training, float(arguments[0]))
            print(json.dumps({"median": statistics.median(times), "min": min(times)}), file=answer)
        else:
            return


def _time(training: Training, seconds: float) -> list[float]:
    steps, finish = getattr(training, "steps", 1), getattr(training, "finish", lambda: None)
    training.step()
    finish()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(steps):
            training.step()
        finish()
        times.append((time.perf_counter() - begin) / steps)
    return times


def _peak() -> int:
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


def _resident() -> int:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Peer:
    """The command's side of such a process."""

    def __init__(self, program: str, *arguments: str, environment: dict[str, str]):
        path = pathlib.Path(__file__).resolve().parent / program
        self._process = subprocess.Popen(
            [sys.executable, str(path), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=os.environ | environment)

    def start(self) -> dict | None:
        """Returns the losses of the first steps, and their added memory. This and other requests return None if the
        peer cannot do it here; why() has the reason."""
        self.ask("start")
        return self.answer()

    def time(self, seconds: float) -> dict | None:
        """Returns the median and the minimum of the steps that fit into the time."""
        self.ask(f"time {seconds}")
        return self.answer()

    def ask(self, line: str) -> None:
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # then there is no answer

    def answer(self) -> dict | None:
        answer = self._process.stdout.readline()
        return json.loads(answer) if answer else None

    def why(self) -> str:
        lines = self._process.stderr.read().splitlines()
        errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit)\b", line)] or lines
        return errors[-1] if errors else f"it ended with {self._process.wait()}"

    def kill(self) -> None:
        """Also ends a pending answer()."""
        self._process.kill()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.stderr.close()
        self._process.wait()
