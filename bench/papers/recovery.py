"""Time until a run trains again after kill -9 of one of its four workers: against the servers, and the size from which
params are cut into slices. The deep MLP: twelve million params to recover."""

import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import time

from drawing import Figure, figure
from runs import CORES, ROOT, say, words

JOB = ROOT / "bench/papers/jobs/mlp.toml"
WORKERS, BOUND = 4, 120
SERVERS = [1, 2, 4]
THRESHOLDS = [10_000, 100_000, 1_000_000, 10_000_000]


class Run:
    """A run that continues until it is stopped."""

    def __init__(self, folder: pathlib.Path, settings: dict):
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        self.process = subprocess.Popen(["dlhost", "run", str(JOB), *words({"record.folder": str(folder), **settings})],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def until(self, reached) -> None:
        end = time.monotonic() + BOUND
        while not reached():
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit(f"papers: the run {self.folder} came to an end, or does not go on")
            time.sleep(0.002)

    def recorded(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.folder.glob("*/metrics.jsonl"))

    def steps(self) -> int:
        """Counts the steps since the last start: records of steps after the last `resumed`."""
        return self.recorded().rpartition(b'"resumed"')[2].count(b'"phase":"train"')

    def kill_one(self) -> float:
        """Kills a worker; returns the seconds until the next step."""
        ps = subprocess.run(["dlhost", "ps", "--json"], capture_output=True, text=True, check=True)
        (run,) = [run for run in json.loads(ps.stdout) if pathlib.Path(run["run"]).parent == self.folder]
        resumed = self.recorded().count(b'"resumed"')
        begin = time.monotonic()
        os.kill(run["workers"][0]["process"], signal.SIGKILL)
        self.until(lambda: self.recorded().count(b'"resumed"') > resumed and self.steps() > 0)
        return time.monotonic() - begin


def measure(folder: pathlib.Path, quick: bool) -> dict:
    rows = []
    for servers in SERVERS[-1:] if quick else SERVERS:
        for threshold in THRESHOLDS[:1] if quick else THRESHOLDS:
            settings = {"topology.workers_per_group": WORKERS, "topology.servers_per_group": servers,
                        "topology.slice_elements": threshold, "topology.run_as": "processes", "train.threads": 1,
                        "train.stop": {"steps": 1_000_000}, "recovery.every": {"steps": 20}, "record.every": {"steps": 1}}
            times = []
            with Run(folder / "runs", settings) as run:
                for _ in range(1 if quick else 5):
                    run.until(lambda: run.steps() > 25)
                    times.append(run.kill_one())
            rows.append({"servers": servers, "slice_elements": threshold, "seconds": times})
            say(f"  {servers} servers, slices from {threshold} elements: {statistics.median(times):.2f} s "
                f"({min(times):.2f} to {max(times):.2f})")
    return {"cores": CORES, "workers": WORKERS, "rows": rows}


def draw(numbers: dict) -> Figure:
    drawn = figure("From kill -9 of a worker to the next step: MLP of 12 million params",
                   f"{numbers['workers']} workers as processes of one thread on {numbers['cores']} cores, strict; medians "
                   f"of {len(numbers['rows'][0]['seconds'])} kills, bars from the least to the most. The run goes on at a point at most 20 steps old.")
    axes = drawn.axes[0]
    for servers in sorted({row["servers"] for row in numbers["rows"]}):
        rows = [row for row in numbers["rows"] if row["servers"] == servers]
        middle = [statistics.median(row["seconds"]) for row in rows]
        below = [value - min(row["seconds"]) for value, row in zip(middle, rows)]
        above = [max(row["seconds"]) - value for value, row in zip(middle, rows)]
        axes.errorbar([row["slice_elements"] for row in rows], middle, [below, above], fmt="o-", capsize=3,
                      label=f"{servers} server{'s' if servers > 1 else ''}")
    axes.set_xscale("log")
    axes.set(xlabel="params of so many elements and more are cut into slices", ylabel="seconds", ylim=(0, None))
    axes.legend()
    return drawn
