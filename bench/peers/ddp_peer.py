"""The net of a workload in PyTorch's DistributedDataParallel over gloo: processes of one machine, each with its part of
every batch. Arguments: a folder made by workload.prepare (pickled), dtype, threads of each, processes, and the settings
of torch_peer. The first process answers the command; it controls the others through their pipes, step by step."""

import os
import pickle
import socket
import subprocess
import sys

import torch
import torch.distributed as dist
from served import serve
from torch import nn
from torch.nn import functional as F
from torch_peer import Net
from workload import Prepared


class DdpTraining:
    def __init__(self, prepared: Prepared, dtype: str, rank: int, ranks: int, settings: set[str]):
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
        net = Net(prepared).train()
        if "channels_last" in settings:
            net = net.to(memory_format=torch.channels_last)
        self.net = nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True)
        self.optimizer = torch.optim.SGD(net.parameters(), lr=prepared.rate, momentum=prepared.momentum, fused=True)
        self.low = dtype == "bf16"
        rows = prepared.workload.batch // ranks
        mine = slice(rank * rows, (rank + 1) * rows)
        self.batches = [(torch.from_numpy(x[mine]), torch.from_numpy(label[mine]).long()) for x, label in prepared.batches()]
        self.ranks, self.at = ranks, 0

    def step(self) -> None:
        x, label = self.batches[self.at % len(self.batches)]
        self.at += 1
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.low):
            scores = self.net(x)
        self.last = F.cross_entropy(scores.float(), label)
        self.last.backward()
        self.optimizer.step()

    def loss(self) -> float:
        """The loss of the whole batch: all processes must call it."""
        sum_of_all = self.last.detach().clone()
        dist.all_reduce(sum_of_all)
        return sum_of_all.item() / self.ranks


class Leading:
    """The first process: passes requests on to the others."""

    def __init__(self, training, others: list[subprocess.Popen]):
        self.training, self.others = training, others

    def _tell(self, what: bytes) -> None:
        for other in self.others:
            other.stdin.write(what)
            other.stdin.flush()

    def step(self) -> None:
        self._tell(b"s")
        self.training.step()

    def loss(self) -> float:
        self._tell(b"l")
        return self.training.loss()


def lead(program: str, make, path: str, dtype: str, threads: str, ranks: int, settings: list[str]) -> Leading:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    others = [subprocess.Popen([sys.executable, program, path, dtype, threads, str(ranks), *settings],
                               stdin=subprocess.PIPE, env=os.environ | {"DDP_RANK": str(rank)}) for rank in range(1, ranks)]
    return Leading(begin(make, path, dtype, 0, ranks, settings), others)


def begin(make, path: str, dtype: str, rank: int, ranks: int, settings: list[str]):
    with open(path, "rb") as file:
        prepared = pickle.load(file)
    return make(prepared, dtype, rank, ranks, set(settings))


def follow(training) -> None:
    while what := sys.stdin.buffer.read(1):
        if what == b"s":
            training.step()
        else:
            training.loss()


def main(program: str, make, arguments: list[str]) -> None:
    """`make` builds the training object of each process."""
    path, dtype, threads, ranks, *settings = arguments
    torch.set_num_threads(int(threads))
    torch.set_flush_denormal(True)
    if rank := int(os.environ.get("DDP_RANK", "0")):
        follow(begin(make, path, dtype, rank, int(ranks), settings))
    else:
        serve(lambda: lead(program, make, path, dtype, threads, int(ranks), settings))


if __name__ == "__main__":
    main(__file__, DdpTraining, sys.argv[1:])
