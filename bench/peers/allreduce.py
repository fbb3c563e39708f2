"""./dev bench peers allreduce: sums over this machine's processes, over the loopback interface, in dlhost (its fabric
transport), PyTorch's Gloo, and Open MPI (tcp, yielding when idle), in turns; the best of each counts. For dlhost it is
the best exchange for each size, which is named; Open MPI also chooses by size.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
EXCHANGES = ["table", "halving"]
SIZES = [1024 * 4**power for power in range(10)]  # 1 KiB to 256 MiB
HEAD = (
    f"{'nodes':>5}{'bytes':>11}{'dlhost, us':>13}{'gloo, us':>13}{'Open MPI, us':>14}{'of gloo':>9}{'of Open MPI':>12}"
    "  exchange"
)

Times = dict[int, tuple[float, str]]  # of each size, and the exchange that had it


def times_in(text: str) -> Times:
    best: Times = {}
    for row in map(json.loads, text.splitlines()):
        took = row["us"], row.get("sync", "")
        best[row["bytes"]] = min(took, best.get(row["bytes"], took))
    return best


def dlhost(nodes: int, options: argparse.Namespace) -> Times:
    words = ["dlhost", "bench", "exchange", "--json", "--turns", "1", "--nodes", str(nodes)]
    words += [word for exchange in options.exchanges for word in ("--sync", exchange)]
    words += ["--provider", options.provider] if options.provider else []
    words += ["--seconds", str(options.seconds)]
    for size in options.sizes:
        words += ["--size", str(size)]
    return times_in(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def gloo(nodes: int, options: argparse.Namespace) -> Times:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, str(HERE / "gloo_allreduce.py")]
    sizes = [str(size) for size in options.sizes]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen(
            [*words, str(rank), str(nodes), str(port), str(options.seconds), *sizes],
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        for rank in range(nodes)
    ]
    said = ranks[0].communicate()[0]
    if any(rank.wait() for rank in ranks):
        raise SystemExit("peers allreduce: gloo failed")
    return times_in(said)


class OpenMpi:
    def __init__(self, folder: pathlib.Path):
        self.program = folder / "mpi_allreduce"
        compiler = shutil.which("mpicxx.openmpi") or shutil.which("mpicxx")
        if not compiler:
            raise SystemExit("peers allreduce: there is no mpicxx; ./dev setup --for peers installs Open MPI")
        subprocess.run([compiler, "-O2", "-o", self.program, HERE / "mpi_allreduce.cpp"], check=True)

    def __call__(self, nodes: int, options: argparse.Namespace) -> Times:
        words = ["mpirun", "--oversubscribe", "-n", str(nodes), "--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]
        words += ["--mca", "btl_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "1"]
        words += ["--allow-run-as-root"] if os.geteuid() == 0 else []
        words += [str(self.program), str(options.seconds), *map(str, options.sizes)]
        return times_in(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench peers allreduce", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="BYTES")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each size and turn (0.5)")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--exchanges", nargs="+", default=EXCHANGES, help=f"dlhost's ({' '.join(EXCHANGES)})")
    parser.add_argument("--provider", default="net", help="of dlhost's fabric transport (net)")
    parser.add_argument("--json", action="store_true", help="a line for each row")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        systems = {"dlhost": dlhost, "gloo": gloo, "open_mpi": OpenMpi(pathlib.Path(folder))}
        if not options.json:
            print(HEAD)
        for nodes in options.nodes:
            best: dict[str, Times] = {name: {} for name in systems}
            for _ in range(options.turns):
                for name, run in systems.items():
                    for size, took in run(nodes, options).items():
                        best[name][size] = min(took, best[name].get(size, took))
            for size in options.sizes:
                took = {name: best[name][size][0] for name in systems}
                exchange = best["dlhost"][size][1]
                of_gloo, of_mpi = took["dlhost"] / took["gloo"], took["dlhost"] / took["open_mpi"]
                if options.json:
                    print(json.dumps({"nodes": nodes, "bytes": size, **took, "of_gloo": of_gloo, "of_open_mpi": of_mpi, "exchange": exchange}))
                else:
                    numbers = f"{took['dlhost']:>13.1f}{took['gloo']:>13.1f}{took['open_mpi']:>14.1f}"
                    print(f"{nodes:>5}{size:>11}{numbers}{of_gloo:>9.2f}{of_mpi:>12.2f}  {exchange}", flush=True)


if __name__ == "__main__":
    main()
