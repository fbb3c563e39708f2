"""One gradient of a workload's size, summed by gloo over the processes of one machine: what DistributedDataParallel does
between backward and update. Nothing is computed. Settings: `buckets`, several sums under way at once, as there; else one.
Arguments as those of ddp_peer, whose processes these are."""

import sys

import ddp_peer
import torch
import torch.distributed as dist
from workload import Prepared

BUCKET = 25 * 2**20 // 4  # elements that DistributedDataParallel sums at once


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
        """How far the sum of so many ones is from what it has to be."""
        wrong = float((self.sum - self.ranks).abs().max())
        self.sum.fill_(1)
        return wrong


if __name__ == "__main__":
    ddp_peer.main(__file__, Exchange, sys.argv[1:])
