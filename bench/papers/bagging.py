"""Bagging-Down: the first T gradients make an update, late ones are dropped. The auto-encoder 784-500-784 on MNIST by
eight uneven workers, in simulated time. T = 0 is one worker without distribution."""

import os
import pathlib

from drawing import Figure, figure
from runs import ROOT, curve, rate_of_a_core, say, simulate

JOB = ROOT / "bench/papers/jobs/autoencoder.toml"
TS = [0, 1, 2, 4, 6, 8]
PACES = [1.0, 1.0, 0.9, 0.8, 0.7, 0.6, 0.4, 0.25]


def mnist() -> str:
    for folder in (os.environ.get("DLHOST_DATA", ""), str(ROOT / "examples/data")):
        file = pathlib.Path(folder) / "mnist/t10k-images-idx3-ubyte.gz"
        if folder and file.exists():
            return str(file)
    raise SystemExit("papers: bagging wants MNIST: examples/get-data mnist fetches it")


def measure(folder: pathlib.Path, quick: bool) -> dict:
    common = {"layer.data.train": mnist()}
    rate = rate_of_a_core(JOB, folder / "runs", {**common, "train.stop": {"steps": 50}})
    steps = 8 if quick else 120
    rows = []
    for t in TS[:2] if quick else TS:
        settings = {**common, "test.every": {"steps": max(1, steps // 12)}, "record.every": {}}
        flags = []
        if t > 0:
            settings |= {"topology.worker_groups": len(PACES), "topology.group_data": "bootstrap",
                         "topology.consistency": {"type": "first_t", "t": t}}
            flags = ["--speeds", ",".join(map(str, PACES))]
        # The same time for each T: workers that wait for slow ones make fewer steps in it.
        slowest = 1 if t == 0 else sorted(PACES, reverse=True)[t - 1]
        took, run = simulate(JOB, folder / "simulated", {**settings, "train.stop": {"steps": max(2, int(steps * slowest))}},
                             rate, *flags)
        points = curve(run, "test", "loss")
        rows.append({"t": t, "points": points, "seconds": took})
        say(f"  T = {t}: loss {points[-1][1]:.3f} after {points[-1][0]:.2f} simulated s")
    return {"rate": rate, "paces": PACES, "curves": rows}


def draw(numbers: dict) -> Figure:
    paces = ", ".join(f"{pace:g}" for pace in numbers["paces"])
    drawn = figure("Bagging-Down: auto-encoder 784-500-784 on MNIST, batch 20 a worker",
                   f"Simulated: eight workers that compute at {paces} of {numbers['rate']:.0f} GFLOP/s, what one core was "
                   "measured at. T = 0: one worker, nothing distributed.")
    axes = drawn.axes[0]
    for row in numbers["curves"]:
        axes.plot(*zip(*row["points"]), "o-", markersize=3, label=f"T = {row['t']}")
    axes.set(xlabel="simulated seconds of training", ylabel="reconstruction loss, test samples")
    axes.legend()
    return drawn
