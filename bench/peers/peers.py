"""./dev bench peers: one training step of the same nets in dlhost, PyTorch and JAX, each at its best setting.

For each net and dtype, every setting of every system starts from the same params and must reach the losses of PyTorch's
eager setting in that dtype. A peer's setting with other losses is left out; for dlhost, other losses are a failure. A
first heat finds each system's fastest setting; then the systems take turns, and the medians are compared."""

import argparse
import json
import math
import os
import pathlib
import pickle
import statistics
import sys
import tempfile
from dataclasses import dataclass, field

from dlhost_peer import DlhostPeer
from isa import ISAS, environment_of
from served import Peer
from workload import WORKLOADS, Prepared, Workload, prepare

TOLERANCE = {"f32": 1e-4, "bf16": 2e-2}  # of ten losses, relative
PEER_TOLERANCE = {"f32": 1e-3, "bf16": 2e-2}  # for the other peers' settings, which sum in other orders


@dataclass
class System:
    name: str
    setting: str
    process: Peer | DlhostPeer
    losses: list[float] = field(default_factory=list)
    added_bytes: int = 0
    times: list[float] = field(default_factory=list)
    least: float = math.inf
    missing: str = ""  # the reason if it cannot be measured

    def start(self) -> None:
        answer = self.process.start()
        if answer is None:
            self.missing = self.process.why()
            return
        self.losses, self.added_bytes = answer["losses"], answer["added_bytes"]

    def turn(self, seconds: float) -> None:
        """Measures one turn: its median counts as one time."""
        answer = self.process.time(seconds)
        if answer is None:
            self.missing = self.process.why()
            return
        self.times.append(answer["median"])
        self.least = min(self.least, answer["min"])

    def reaches(self, losses: list[float], dtype: str) -> bool:
        tolerance = TOLERANCE if self.name == "dlhost" else PEER_TOLERANCE
        return worst_difference(self.losses, losses) <= tolerance[dtype]

    @property
    def median(self) -> float:
        return statistics.median(self.times)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def settings_of(workload: Workload) -> list[tuple[str, str, list[str]]]:
    """Returns system, program and arguments of every tried peer setting."""
    picture = len(workload.shape) == 3
    torch = [[], ["compiled"]] + ([["channels_last"], ["channels_last", "compiled"]] if picture else [])
    jax = [["nhwc"], ["nchw"]] if picture else [[]]
    return [("pytorch", "torch_peer.py", each) for each in torch] + [("jax", "jax_peer.py", each) for each in jax]


def heat(prepared: Prepared, pickled: pathlib.Path, dtype: str,
         options: argparse.Namespace) -> tuple[list[System], System | None]:
    """Tries every setting once. Returns, still running, the fastest setting of each system that reaches the losses; and
    PyTorch's eager setting, the source of the losses: None if it was not requested, or cannot be measured."""
    environment = {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}
    environment |= environment_of(options.isa)
    best: dict[str, System] = {}
    eager: System | None = None
    for name, program, settings in settings_of(prepared.workload):
        if options.systems and name not in options.systems:
            continue
        peer = Peer(program, str(pickled), dtype, str(options.threads), *settings, environment=environment)
        system = System(name, "+".join(settings) or ("eager" if name == "pytorch" else "jit"), peer)
        system.start()
        if eager and not system.missing and not system.reaches(eager.losses, dtype):
            say(f"  {name} {system.setting}: left out: its losses differ from eager PyTorch's by "
                f"{worst_difference(system.losses, eager.losses):.1e}, over {PEER_TOLERANCE[dtype]:.0e}")
            system.process.close()
            continue
        if not system.missing:
            system.turn(options.seconds / 2)
        if system.missing:
            say(f"  {name} {system.setting}: not measured: {system.missing}")
            system.process.close()
            continue
        say(f"  {name} {system.setting}: {system.median * 1e3:.2f} ms")
        if system.setting == "eager":
            eager = system
        slower = system
        if name not in best or system.median < best[name].median:
            slower, best[name] = best.get(name), system
        if slower:
            slower.process.close()
    systems = list(best.values())
    for system in systems:
        system.times, system.least = [], math.inf
        if system.name == "pytorch" and eager:  # its own memory, without a compiler's
            system.added_bytes = min(eager.added_bytes, system.added_bytes)
    return systems, eager


def worst_difference(ours: list[float | None], theirs: list[float | None]) -> float:
    """The largest relative difference. Numbers that are not finite (None in dlhost's records) never agree."""
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a is None or b is None or not math.isfinite(a) or not math.isfinite(b):
            return math.inf
        worst = max(worst, abs(a - b) / max(abs(b), 1e-12))
    return worst


def row_of(system: System, workload: Workload, dtype: str, threads: int, operations: float, peak: float,
           best: float) -> dict:
    return {
        "workload": workload.name, "system": system.name, "setting": system.setting, "threads": threads, "dtype": dtype,
        "seconds_median": system.median, "seconds_min": system.least,
        "items_per_second": workload.batch / system.median, "share_of_peak": operations / system.median / peak,
        "ratio_to_best_peer": system.median / best, "added_bytes": system.added_bytes,
    }


def compare(workload: Workload, dtype: str, options: argparse.Namespace, folder: pathlib.Path) -> list[dict]:
    say(f"{workload.name}, batch {workload.batch}, {dtype}, {options.threads} threads")
    prepared = prepare(workload, folder / workload.name)
    pickled = folder / "prepared"
    pickled.write_bytes(pickle.dumps(prepared))
    own = DlhostPeer(prepared, dtype, options.threads, options.isa)
    us = System("dlhost", "", own)
    us.start()
    others, eager = heat(prepared, pickled, dtype, options)
    if not others:
        raise SystemExit(f"peers: no peer could do {workload.name}; the reasons stand above")
    if not eager:
        say("  no losses are compared: PyTorch's eager setting, which has the losses to reach, was not measured")
    systems = [us, *others]
    for _ in range(options.rounds):
        for system in systems:
            system.turn(options.seconds)
    for system in others:
        system.process.close()
    operations, peak = own.operations(), own.peak()
    best = min(system.median for system in others)
    rows = []
    for system in systems:
        row = row_of(system, workload, dtype, options.threads, operations, peak, best)
        if eager and system is not eager:
            row["losses_differ"] = worst_difference(system.losses, eager.losses)
            row["losses_agree"] = system.reaches(eager.losses, dtype)
        rows.append(row)
    return rows


HEAD = f"{'workload':<14}{'dtype':<6}{'system':<9}{'setting':<24}{'ms':>9}{'least':>9}{'items/s':>10}{'of peak':>9}" \
       f"{'ratio':>7}{'memory':>10}  losses"


def line(row: dict) -> str:
    text = f"{row['workload']:<14}{row['dtype']:<6}{row['system']:<9}{row['setting']:<24}" \
           f"{row['seconds_median'] * 1e3:>9.2f}{row['seconds_min'] * 1e3:>9.2f}{row['items_per_second']:>10.0f}" \
           f"{row['share_of_peak']:>9.2f}{row['ratio_to_best_peer']:>7.2f}{row['added_bytes'] / 2**20:>6.0f} MiB"
    if "losses_differ" in row:
        text += f"  {'agree within' if row['losses_agree'] else 'DISAGREE by'} {row['losses_differ']:.1e}"
    return text


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench peers", description=__doc__.split("\n\n", 1)[0],
        epilog="Ratios are our time over the best peer's: below 1, dlhost is faster. Memory is what a run adds once "
               "its params are there. Losses are compared with those of PyTorch's eager setting. Exit status 1: "
               "dlhost's disagree, or there were none to compare them with.")
    parser.add_argument("workload", nargs="*", help=f"any of: {', '.join(w.name for w in WORKLOADS)}; none: all")
    parser.add_argument("--dtype", choices=["f32", "bf16"], action="append", help="default: both")
    parser.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
    parser.add_argument("--rounds", type=int, default=5, help="turns of each system (5)")
    parser.add_argument("--seconds", type=float, default=2, help="of each turn (2)")
    parser.add_argument("--isa", choices=list(ISAS), help="every system as on a processor with no better instruction set")
    parser.add_argument("--systems", action="append", choices=["pytorch", "jax"], help="default: both")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each row")
    options = parser.parse_args()
    known = {workload.name for workload in WORKLOADS}
    if unknown := [name for name in options.workload if name not in known]:
        parser.error(f"no workload {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    return options


def main() -> int:
    options = parse()
    rows = []
    if not options.json:
        say("each system in turn; a machine that does other work as well spoils the figures\n")
        print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="dlhost-peers-") as folder:
        for workload in WORKLOADS:
            if options.workload and workload.name not in options.workload:
                continue
            for dtype in options.dtype or ["f32", "bf16"]:
                found = compare(workload, dtype, options, pathlib.Path(folder))
                rows += found
                for row in found:
                    print(json.dumps(row) if options.json else line(row), flush=True)
    return 0 if all(row.get("losses_agree") for row in rows if row["system"] == "dlhost") else 1


if __name__ == "__main__":
    sys.exit(main())
