"""Runs of dlhost for the figures: trains or simulates jobs, and reads their records."""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DIGITS = ROOT / "examples/digits/job.toml"
CORES = len(os.sched_getaffinity(0))
Settings = dict[str, object]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def write(value: object) -> str:
    """Returns the value in TOML, for a command line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {write(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def words(settings: Settings) -> list[str]:
    return [f"--set={key}={write(value)}" for key, value in settings.items()]


def dlhost(verb: str, job: pathlib.Path, settings: Settings, *flags: str) -> str:
    command = ["dlhost", verb, str(job), *flags, *words(settings)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"papers: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def train(job: pathlib.Path, folder: pathlib.Path, settings: Settings) -> pathlib.Path:
    """Trains, and returns the run's folder, which replaces the previous one."""
    shutil.rmtree(folder, ignore_errors=True)
    dlhost("run", job, {"record.folder": str(folder), "checkpoint.keep": 0, **settings})
    (run,) = folder.iterdir()
    return run


def mnist_settings() -> Settings:
    for folder in (os.environ.get("DLHOST_DATA", ""), str(ROOT / "examples/data")):
        mnist = pathlib.Path(folder) / "mnist"
        if folder and (mnist / "train-images-idx3-ubyte.gz").exists():
            return {f"layer.data.{phase}": [str(mnist / f"{name}-{what}-ubyte.gz") for what in ("images-idx3", "labels-idx1")]
                    for phase, name in (("train", "train"), ("test", "t10k"))}
    raise SystemExit("papers: this figure wants MNIST: examples/get-data mnist fetches it")


def train_on(hosts: int, rate: str, job: pathlib.Path, folder: pathlib.Path, settings: Settings) -> pathlib.Path:
    """Trains on hosts that are namespaces of this machine, with links of that rate."""
    shutil.rmtree(folder, ignore_errors=True)
    all_settings = {"record.folder": str(folder), "checkpoint.keep": 0, **settings}
    command = [sys.executable, str(ROOT / "bench/papers/on_hosts.py"), str(hosts), rate, str(job), *words(all_settings)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"papers: {' '.join(command)}\n{done.stdout}{done.stderr}")
    (run,) = folder.iterdir()
    return run


def summary(run: pathlib.Path) -> dict:
    return json.loads((run / "summary.json").read_text())


def step_seconds(job: pathlib.Path, folder: pathlib.Path, settings: Settings, turns: int = 3) -> float:
    """Returns the median over `turns` runs of the runs' medians."""
    return statistics.median(summary(train(job, folder, settings))["step_seconds"]["median"] for _ in range(turns))


def operations(job: pathlib.Path, settings: Settings) -> float:
    """Returns the operations of one step."""
    return json.loads(dlhost("check", job, settings, "--json"))["operations"]


def rate_of_a_core(job: pathlib.Path, folder: pathlib.Path, settings: Settings) -> float:
    """GFLOP/s of one worker on one thread: the rate of simulated devices."""
    alone = {**settings, "train.threads": 1, "record.every": {}, "test.every": {}, "test.at_end": False}
    return operations(job, alone) / step_seconds(job, folder, alone) / 1e9


def simulate(job: pathlib.Path, folder: pathlib.Path, settings: Settings, rate: float, *flags: str) -> tuple[float, list]:
    """Returns the simulated seconds and the records."""
    shutil.rmtree(folder, ignore_errors=True)
    device = {"train.device": {"type": "ref", "rate": rate}, "checkpoint.keep": 0, "recovery.restarts": 0}
    told = dlhost("simulate", job, {**settings, **device}, "--record", str(folder), *flags)
    took = re.search(r"in ([\d.]+) simulated s", told)
    assert took, told
    return float(took[1]), records(folder)


def records(run: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def curve(run: list[dict], phase: str, metric: str) -> list[tuple[float, float]]:
    """Returns pairs (seconds, value)."""
    return [(line["seconds"], line["metrics"][metric]) for line in run if line["phase"] == phase]
