"""PyTorch's Gloo all-reduce: for each size, the time of one, as a line of JSON.

gloo_allreduce.py RANK RANKS PORT SECONDS BYTES...; called by allreduce.py.
"""

import json
import sys
import time

import torch
import torch.distributed as dist


def run(values: torch.Tensor, times: int) -> float:
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(times):
        dist.all_reduce(values)
    slowest = torch.tensor([(time.perf_counter() - begin) / times], dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def main(rank: int, ranks: int, port: int, seconds: float, sizes: list[int]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    for size in sizes:
        values = torch.zeros(size // 4)
        run(values, 1)
        times = int(min(max(seconds / run(values, 3), 3), 100_000))
        one = run(values, times)
        if rank == 0:
            print(json.dumps({"bytes": size, "us": one * 1e6}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), float(sys.argv[4]), [int(size) for size in sys.argv[5:]])
