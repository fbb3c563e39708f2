"""./dev bench peers ddp: one step of two workers of one thread each, in dlhost and in PyTorch's DistributedDataParallel
over gloo, from the same params, on halves of the same batches. `exchange` is a single gradient of 48 MB without a net:
gloo sums it; dlhost's step zeroes it, sums it, updates the param with it and sends out the param."""

import argparse
import json
import pathlib
import pickle
import sys
import tempfile

from dlhost_peer import DlhostPeer
from peers import HEAD, TOLERANCE, System, line, row_of, say, worst_difference
from served import Peer
from workload import WORKLOADS, Workload, prepare

WORKERS = 2
EXCHANGE = Workload("exchange", (64,), 196608, 2)
ALL = [*WORKLOADS, EXCHANGE]


def compare(workload: Workload, options: argparse.Namespace, folder: pathlib.Path) -> list[dict]:
    say(f"{workload.name}, batch {workload.batch}, {options.dtype}, {WORKERS} workers of 1 thread")
    prepared = prepare(workload, folder / workload.name)
    pickled = folder / "prepared"
    pickled.write_bytes(pickle.dumps(prepared))
    topology = {"topology.framework": "allreduce", "topology.workers": WORKERS}
    systems = []
    for run_as in ("threads", "processes"):
        peer = DlhostPeer(prepared, options.dtype, 1)
        peer.settings |= topology | {"topology.run_as": run_as}
        systems.append(System("dlhost", run_as, peer))
    environment = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    name, program = ("gloo", "exchange_peer.py") if workload is EXCHANGE else ("ddp gloo", "ddp_peer.py")
    other = ["buckets"] if workload is EXCHANGE else ["channels_last"] if len(workload.shape) == 3 else None
    for settings in [[], other] if other else [[]]:
        peer = Peer(program, str(pickled), options.dtype, "1", str(WORKERS), *settings, environment=environment)
        systems.append(System(name, "+".join(settings), peer))
    for system in systems:
        system.start()
        if system.missing:
            raise SystemExit(f"peers ddp: {system.name} cannot do {workload.name}: {system.missing}")
    for _ in range(options.rounds):
        for system in systems:
            system.turn(options.seconds)
    for system in systems:
        if isinstance(system.process, Peer):
            system.process.close()
    alone = DlhostPeer(prepared, options.dtype, WORKERS)
    operations, peak = alone.operations(), alone.peak()
    peers = [system for system in systems if system.name != "dlhost"]
    best = min(peers, key=lambda system: system.median)
    rows = []
    for system in systems:
        row = row_of(system, workload, options.dtype, WORKERS, operations, peak, best.median)
        if workload is EXCHANGE:  # its peer has no net: its losses are the error of the sum
            if system in peers and any(system.losses):
                raise SystemExit(f"peers ddp: {system.name} sums wrongly, by {max(system.losses)}")
        elif system is not best:
            row["losses_differ"] = worst_difference(system.losses, best.losses)
            row["losses_agree"] = row["losses_differ"] <= TOLERANCE[options.dtype]
        rows.append(row)
    return rows


def main() -> int:
    names = [workload.name for workload in ALL]
    parser = argparse.ArgumentParser(prog="./dev bench peers ddp", description=__doc__,
                                     epilog="Ratios are our time over the best peer's. Memory is the first worker's.")
    parser.add_argument("workload", nargs="*", default=["mlp-deep", "alexnet", "exchange"],
                        help=f"any of: {', '.join(names)}")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each system (5)")
    parser.add_argument("--seconds", type=float, default=2, help="of each turn (2)")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each row")
    options = parser.parse_args()
    if unknown := [name for name in options.workload if name not in names]:
        parser.error(f"no workload {', '.join(unknown)}; known: {', '.join(names)}")
    rows = []
    if not options.json:
        print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="dlhost-peers-") as folder:
        for workload in ALL:
            if workload.name not in options.workload:
                continue
            for row in compare(workload, options, pathlib.Path(folder)):
                rows.append(row)
                print(json.dumps(row) if options.json else line(row), flush=True)
    return 0 if all(row.get("losses_agree", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
