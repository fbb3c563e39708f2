"""Accuracy against time by the number of groups: Downpour (groups share servers) and distributed Hogwild (groups have
servers of their own, which exchange periodically). Data: the digits that come with dlhost."""

import pathlib

from drawing import Figure, figure
from runs import CORES, DIGITS, curve, rate_of_a_core, records, say, simulate, train

GROUPS = [1, 2, 4, 8]
FRAMEWORKS = {"downpour": {"topology.consistency": "eventual"},
              "hogwild": {"topology.consistency": "eventual", "topology.sync": {"type": "all_to_all", "every": 10}}}


def settings(framework: str, groups: int, epochs: float) -> dict:
    one = {"train.batch": 16, "train.threads": 1, "test.every": {"epochs": epochs / 20}, "record.every": {},
           "train.stop": {"epochs": epochs}, "updater.rate": 0.01, "updater.momentum": 0.5}
    if groups == 1:
        return one
    return one | FRAMEWORKS[framework] | {"topology.framework": framework, "topology.workers": groups,
                                          "topology.group_data": "disjoint", "topology.run_as": "processes"}


def measure(folder: pathlib.Path, quick: bool) -> dict:
    epochs = 2 if quick else 10
    rate = rate_of_a_core(DIGITS, folder / "runs", {"train.batch": 16, "train.stop": {"epochs": 4}})
    rows = []
    for framework in FRAMEWORKS:
        for groups in GROUPS[:2] if quick else GROUPS:
            job = settings(framework, groups, epochs)
            simulated = simulate(DIGITS, folder / "simulated", job, rate)[1]
            measured = records(train(DIGITS, folder / "runs", job)) if groups <= CORES else None
            for how, run in (("simulated", simulated), ("measured", measured)):
                if run is None:
                    continue
                points = curve(run, "test", "accuracy")
                rows.append({"framework": framework, "groups": groups, "how": how, "points": points})
                say(f"  {framework}, {groups} groups, {how}: {points[-1][1]:.3f} after {points[-1][0]:.2f} s")
    return {"cores": CORES, "rate": rate, "epochs": epochs, "curves": rows}


def draw(numbers: dict) -> Figure:
    drawn = figure("Accuracy against time, by the number of groups: digits, 64-512-10, batch 16 each",
                   f"{numbers['epochs']} passes over the samples by all groups together. Solid: measured on "
                   f"{numbers['cores']} cores; dashed: simulated, one thread a group at {numbers['rate']:.1f} GFLOP/s.",
                   columns=2)
    for axes, framework in zip(drawn.axes, FRAMEWORKS):
        for row in numbers["curves"]:
            if row["framework"] != framework:
                continue
            measured = row["how"] == "measured"
            axes.plot(*zip(*row["points"]), "-" if measured else "--", color=f"C{GROUPS.index(row['groups'])}",
                      label=f"{row['groups']} group{'s' if row['groups'] > 1 else ''}, {row['how']}")
        axes.set(title=framework, xlabel="seconds of training", ylabel="test accuracy", ylim=(0, 1))
        axes.legend(loc="lower right")
    return drawn
