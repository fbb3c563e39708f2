"""Time of a step against workers and threads. All workers of a group share a batch of constant size, under `strict`
with a server each; one worker with more threads shares it within its ops. Beyond the machine's cores, simulated."""

import pathlib

from drawing import Figure, figure
from runs import CORES, ROOT, rate_of_a_core, say, simulate, step_seconds

JOB = ROOT / "bench/papers/jobs/mlp.toml"
SIMULATED = [1, 2, 4, 8, 16]


def team(workers: int) -> dict:
    return {} if workers == 1 else {"topology.framework": "allreduce", "topology.workers": workers,
                                    "topology.run_as": "processes"}


def measure(folder: pathlib.Path, quick: bool) -> dict:
    steps = {"train.stop.steps": 10 if quick else 60, "record.every": {}}
    counts = [count for count in (1, 2, 4, 8, 16, 32) if count <= CORES]
    measured = []
    for workers in counts:
        for threads in counts:
            if workers * threads > CORES:
                continue
            seconds = step_seconds(JOB, folder / "runs", {**steps, **team(workers), "train.threads": threads})
            say(f"  {workers} workers of {threads} threads: {seconds * 1e3:.1f} ms")
            measured.append({"workers": workers, "threads": threads, "seconds": seconds})
    rate = rate_of_a_core(JOB, folder / "runs", steps)
    simulated = []
    for workers in SIMULATED[:2] if quick else SIMULATED:
        few = 2
        took = [simulate(JOB, folder / "simulated", {**team(workers), "train.stop.steps": n}, rate)[0]
                for n in (few, 2 * few)]  # excludes the time before and after the steps
        simulated.append({"workers": workers, "seconds": (took[1] - took[0]) / few})
        say(f"  {workers} workers, simulated: {simulated[-1]['seconds'] * 1e3:.1f} ms")
    return {"cores": CORES, "rate": rate, "measured": measured, "simulated": simulated}


def draw(numbers: dict) -> Figure:
    title = "Time of a step: MLP 784-2500-2000-1500-1000-500-10, batch 100, strict"
    drawn = figure(title, f"Measured on {numbers['cores']} cores. Dashed: simulated workers of one thread, at "
                          f"{numbers['rate']:.0f} GFLOP/s each; memory and messages cost next to nothing there.")
    axes = drawn.axes[0]
    for threads in sorted({row["threads"] for row in numbers["measured"]}):
        rows = [row for row in numbers["measured"] if row["threads"] == threads]
        axes.plot([row["workers"] for row in rows], [row["seconds"] * 1e3 for row in rows], "o-",
                  label=f"{threads} thread{'s' if threads > 1 else ''} each")
    axes.plot([row["workers"] for row in numbers["simulated"]],
              [row["seconds"] * 1e3 for row in numbers["simulated"]], "o--", label="1 thread each, simulated")
    axes.set_xscale("log", base=2)
    axes.set_xticks(SIMULATED, SIMULATED)
    axes.set(xlabel="workers", ylabel="ms a step", ylim=(0, None))
    axes.legend()
    return drawn
