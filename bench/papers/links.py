"""Training over slow links: data-parallel on four hosts, dense and by each codec. Accuracy against time, on MNIST."""

import pathlib

from drawing import Figure, figure
from runs import ROOT, curve, mnist_settings, records, say, summary, train_on

JOB = ROOT / "bench/papers/jobs/mnist.toml"
HOSTS, RATE = 4, "100mbit"
HALVING = {"type": "halving", "of": "gradients"}
ALL = {"type": "all_to_all", "of": "contributions"}
WAYS = {
    "dense, servers": {},
    "dense, halving": {"topology.sync": HALVING},
    "factors": {"topology.sync": ALL, "topology.gradient_factors": "on"},
    "bf16": {"topology.sync": ALL, "topology.codec": "bf16"},
    "int8": {"topology.sync": ALL, "topology.codec": "int8"},
    "dithering": {"topology.sync": ALL, "topology.codec": "dithering"},
    "one_bit": {"topology.sync": ALL, "topology.codec": "one_bit"},
    "top_k": {"topology.sync": ALL, "topology.codec": "top_k"},
    "random_k": {"topology.sync": ALL, "topology.codec": "random_k"},
    "power_sgd": {"topology.sync": ALL, "topology.codec": "power_sgd"},
    "halving, bf16": {"topology.sync": HALVING, "topology.codec": "bf16"},
    "halving, int8": {"topology.sync": HALVING, "topology.codec": "int8"},
    "halving, one_bit": {"topology.sync": HALVING, "topology.codec": "one_bit"},
}


def settings(way: dict) -> dict:
    common = {"topology.worker_groups": HOSTS, "topology.codec_elements": 1024, "topology.gradient_factors": "off"}
    groups = {"topology.server_groups": HOSTS} if "topology.sync" in way else {"topology.servers_per_group": HOSTS}
    return common | groups | mnist_settings() | way


def sent(told: dict) -> int:
    """Returns the bytes sent by all workers."""
    return sum(worker["network"][kind] for worker in told["workers"] for kind in ("params", "gradients"))


def measure(folder: pathlib.Path, quick: bool) -> dict:
    epochs = 0.1 if quick else 1
    rows = []
    for name, way in list(WAYS.items())[:4] if quick else WAYS.items():
        job = settings(way) | {"train.stop": {"epochs": epochs}, "test.every": {"epochs": epochs / 4}}
        run = train_on(HOSTS, RATE, JOB, folder / "runs", job)
        told, points = summary(run), curve(records(run), "test", "accuracy")
        step = told["step_seconds"]["median"]
        rows.append({"way": name, "step_seconds": step, "points": points,
                     "bytes_a_step": sent(told) / told["steps"]})
        first = rows[0]["step_seconds"]
        say(f"  {name}: {step * 1e3:.1f} ms a step ({first / step:.1f} times as fast), {rows[-1]['bytes_a_step'] / 1e6:.2f} MB, "
            f"accuracy {points[-1][1]:.4f}")
    return {"hosts": HOSTS, "rate": RATE, "epochs": epochs, "curves": rows}


def draw(numbers: dict) -> Figure:
    drawn = figure("Training over slow links: MLP 784-500-10 on MNIST, strict, batch 32 a host",
                   f"{numbers['hosts']} hosts with links of {numbers['rate']} each way, {numbers['epochs']} pass over the samples; hosts are "
                   "namespaces of one machine and share its cores.", columns=2)
    time, rate = drawn.axes
    for row in numbers["curves"]:
        time.plot(*zip(*row["points"]), "o-", markersize=3, label=row["way"])
    time.set(xlabel="seconds of training", ylabel="test accuracy", xscale="log")
    time.legend()
    names = [row["way"] for row in numbers["curves"]]
    rate.barh(names, [row["step_seconds"] * 1e3 for row in numbers["curves"]])
    rate.invert_yaxis()
    rate.set(xlabel="ms a step", xscale="log")
    return drawn
