"""One gradient of a workload's size, summed by gloo over the processes of one machine, as DistributedDataParallel does
between backward and update, without computing. Setting: `buckets`, several concurrent sums, as there; else one.
Arguments and processes are those of ddp_peer."""

import sys

import ddp_peer
import torch
import torch.distributed as dist
from workload import Prepared

BUCKET = 25 * 2**20 // 4  # elements in one sum of DistributedDataParallel


class Exchange:
    def __init__(self, prepared: Prepared, dtype: str, rank: int, ranks: int, settings: set[str]):
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
        elements = sum(value.size for value in prepared.params.values())
        self.sum, self.ranks = torch.ones(elements), ranks
        self.parts = self.sum.split(BUCKET if "buckets" in settings else elements)

    def step(self) -> None:
        for under_way in [dist.all_reduce(part, async_op=True) for part in self.parts]:
            under_way.wait()

    def loss(self) -> float:
        """The largest error of a sum of ones."""
        wrong = float((self.sum - self.ranks).abs().max())
        self.sum.fill_(1)
        return wrong


if __name__ == "__main__":
    ddp_peer.main(__file__, Exchange, sys.argv[1:])
