"""The time of a worker's step by part and by topology: computing, copying and encoding params and gradients, serving,
waiting for others, waiting for data. As many workers of one thread as there are cores."""

import pathlib

from drawing import Figure, figure
from runs import CORES, ROOT, say, summary, train

JOB = ROOT / "bench/papers/jobs/mlp.toml"
PARTS = {"computing": "computing", "params": "params: copies, codecs", "serving": "serving: sums, updates",
         "waiting": "waiting for others", "input": "waiting for data"}
WAYS = {
    "strict, a server\nbeside each": {"topology.framework": "allreduce"},
    "the same,\nint8 sent": {"topology.framework": "allreduce", "topology.codec": "int8"},
    "strict, one server": {"topology.framework": "sandblaster"},
    "Downpour": {"topology.framework": "downpour", "topology.consistency": "eventual"},
    "elastic": {"topology.framework": "downpour", "topology.consistency": "elastic"},
    "distributed Hogwild,\nring": {"topology.framework": "hogwild", "topology.sync": {"type": "ring", "every": 10}},
}


def of_a_step(seconds: dict, steps: int) -> dict:
    return {part: seconds[part] / steps for part in PARTS}


def alone(settings: dict, folder: pathlib.Path) -> dict:
    ended = summary(train(JOB, folder, settings))
    waited = ended["input_wait_seconds"]
    parts = dict.fromkeys(PARTS, 0.0) | {"computing": ended["seconds"] - waited, "input": waited}
    return of_a_step(parts, ended["steps"])


def together(settings: dict, folder: pathlib.Path) -> dict:
    """Returns the mean of the workers."""
    workers = summary(train(JOB, folder, settings))["workers"]
    each = [of_a_step(worker, worker["steps"]) for worker in workers]
    return {part: sum(one[part] for one in each) / len(each) for part in PARTS}


def measure(folder: pathlib.Path, quick: bool) -> dict:
    settings = {"train.stop.steps": 10 if quick else 100, "train.threads": 1, "record.every": {}, "updater.rate": 0.001}
    steps = [{"way": "one worker", **alone(settings, folder / "runs")}]
    for way, topology in WAYS.items():
        team = {"topology.workers": max(2, CORES), "topology.run_as": "processes"}
        steps.append({"way": way, **together({**settings, **team, **topology}, folder / "runs")})
    for step in steps:
        told = ", ".join(f"{part} {step[part] * 1e3:.1f}" for part in PARTS)
        say(f"  {' '.join(step['way'].split())}: {told} ms")
    return {"cores": CORES, "steps": steps}


def draw(numbers: dict) -> Figure:
    drawn = figure("Where a worker's step goes: MLP 784-2500-2000-1500-1000-500-10, batch 100",
                   f"{max(2, numbers['cores'])} workers of one thread, as processes, on {numbers['cores']} cores; the mean "
                   "of them. Strict workers share a batch; the others have one each.", wide=True)
    axes, steps = drawn.axes[0], numbers["steps"]
    bottom = [0.0] * len(steps)
    for part, name in PARTS.items():
        tops = [step[part] * 1e3 for step in steps]
        axes.bar([step["way"] for step in steps], tops, bottom=bottom, label=name)
        bottom = [low + top for low, top in zip(bottom, tops)]
    axes.set(ylabel="ms a step")
    axes.tick_params(axis="x", labelsize=8)
    axes.legend()
    return drawn
