"""The samples per second of several hosts over links of 1 Gb/s, relative to one host; each host has the same batch as
one alone. `ref` computes at a stated rate, because this machine has too few cores."""

import pathlib

from drawing import Figure, figure
from runs import ROOT, mnist_settings, say, step_seconds, summary, train_on

JOB = ROOT / "bench/papers/jobs/mnist.toml"
NODES = [1, 2, 4, 8]
LINK, GIGAFLOPS = "1gbit", 0.4
WAYS = {"servers": {}, "halving": {"topology.sync": {"type": "halving", "of": "gradients"}},
        "ring": {"topology.sync": {"type": "ring", "of": "gradients"}}}
# The speedup over one node: "Poseidon", arXiv 1512.06216, of GPUs that Ethernet joins.
PUBLISHED = [("Poseidon, AlexNet", 8, 4.5), ("Poseidon, GoogLeNet", 8, 4.0)]


def measure(folder: pathlib.Path, quick: bool) -> dict:
    common = mnist_settings() | {"train.device": {"type": "ref", "rate": GIGAFLOPS}, "train.stop": {"steps": 4 if quick else 16},
                                 "test.at_end": False, "record.every": {}, "topology.gradient_factors": "off"}
    alone = step_seconds(JOB, folder / "runs", common, turns=1)
    rows = [{"way": way, "nodes": 1, "seconds": alone} for way in WAYS]
    for nodes in NODES[1:2] if quick else NODES[1:]:
        for name, way in WAYS.items():
            groups = {"topology.server_groups": nodes} if way else {"topology.servers_per_group": nodes}
            run = train_on(nodes, LINK, JOB, folder / "runs", common | way | groups | {"topology.worker_groups": nodes})
            rows.append({"way": name, "nodes": nodes, "seconds": summary(run)["step_seconds"]["median"]})
            say(f"  {nodes} nodes, {name}: {rows[-1]['seconds'] * 1e3:.0f} ms a step, {alone / rows[-1]['seconds']:.2f} of linear")
    return {"link": LINK, "rate": GIGAFLOPS, "rows": rows}


def draw(numbers: dict) -> Figure:
    drawn = figure("Samples a second against nodes: MLP 784-500-10, strict, batch 32 a node",
                   f"Links of {numbers['link']} each way between namespaces of one machine. Computing by ref, which waits as if at "
                   f"{numbers['rate']:g} GFLOP/s a node.")
    axes = drawn.axes[0]
    for way in WAYS:
        rows = [row for row in numbers["rows"] if row["way"] == way]
        axes.plot([row["nodes"] for row in rows], [32 * row["nodes"] / row["seconds"] for row in rows], "o-", label=way)
    alone = numbers["rows"][0]["seconds"]
    most = max(row["nodes"] for row in numbers["rows"])
    axes.plot([1, most], [32 / alone, 32 * most / alone], ":", color="grey", label="linear")
    for (who, nodes, times), mark in zip(PUBLISHED, "x+"):
        axes.plot([nodes], [32 * times / alone], mark, color="black", label=f"as many times as {who} (published)")
    axes.set(xlabel="nodes", ylabel="samples a second")
    axes.legend()
    return drawn
