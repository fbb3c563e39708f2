"""The cost of params with the same bits for any number of workers (`train.reproducible`): the time of a step, beside
that of the same workers without it."""

import pathlib

from drawing import Figure, figure
from runs import CORES, ROOT, say, step_seconds

NETS = {"deep MLP": ROOT / "bench/papers/jobs/mlp.toml", "convnet": ROOT / "bench/papers/jobs/convnet.toml"}


def measure(folder: pathlib.Path, quick: bool) -> dict:
    rows = []
    for net, job in NETS.items():
        for workers in (count for count in (1, 2, 4, 8) if count <= CORES):
            settings = {"train.stop.steps": 5 if quick else 40, "train.batch": 96, "record.every": {},
                        "train.threads": max(1, CORES // workers)}
            if workers > 1:
                settings |= {"topology.framework": "allreduce", "topology.workers": workers,
                             "topology.run_as": "processes"}
            took = {how: step_seconds(job, folder / "runs", {**settings, "train.reproducible": how == "reproducible"})
                    for how in ("free", "reproducible")}
            rows.append({"net": net, "workers": workers, **took})
            say(f"  {net}, {workers} workers: {took['free'] * 1e3:.1f} ms, reproducible {took['reproducible'] * 1e3:.1f}, "
                f"{took['reproducible'] / took['free']:.2f} times as long")
    return {"cores": CORES, "rows": rows}


def draw(numbers: dict) -> Figure:
    drawn = figure("Params of the same bits for any number of workers: what a step takes",
                   f"Batch 96 on {numbers['cores']} cores, which the workers share. Dashed: train.reproducible, whose sums "
                   "over the batch are made of eight blocks in a fixed tree.", columns=len(NETS))
    for axes, net in zip(drawn.axes, NETS):
        rows = [row for row in numbers["rows"] if row["net"] == net]
        for how, style in (("free", "o-"), ("reproducible", "o--")):
            axes.plot([row["workers"] for row in rows], [row[how] * 1e3 for row in rows], style, label=how)
        axes.set_xticks([row["workers"] for row in rows])
        axes.set(title=net, xlabel="workers", ylabel="ms a step", ylim=(0, None))
        axes.legend()
    return drawn
