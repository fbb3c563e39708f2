"""The net of a workload in PyTorch. Arguments: a folder made by workload.prepare (pickled), dtype (tf32: f32 on a GPU's
tensor cores), threads, and the settings: cuda, channels_last, compiled, graphs (compiled, and replayed as a graph)."""

import itertools
import pickle
import sys

import torch
from served import serve
from torch import nn
from torch.nn import functional as F
from workload import Layer, Prepared


class ScaledTanh(nn.Module):
    def forward(self, x):
        return 1.7159 * torch.tanh(x * (2 / 3))


class LrnWithin(nn.Module):
    """Normalises by the squares in a window of the same channel."""

    def __init__(self, size: int, alpha: float, beta: float):
        super().__init__()
        self.size, self.alpha, self.beta = size, alpha, beta

    def forward(self, x):
        mean = F.avg_pool2d(x * x, self.size, 1, self.size // 2)
        return x * torch.pow(1 + self.alpha * mean, -self.beta)


class Add(nn.Module):
    def forward(self, a, b):
        return a + b


class Flattened(nn.Linear):
    def forward(self, x):
        return super().forward(torch.flatten(x, 1))


def module_of(layer: Layer, params: dict) -> nn.Module:
    options = layer.options
    weight = params.get(f"{layer.name}.weight")
    match layer.type:
        case "dense":
            return Flattened(weight.shape[1], weight.shape[0])
        case "convolution":
            return nn.Conv2d(weight.shape[1], weight.shape[0], layer.pair("kernel", 1), layer.pair("stride", 1),
                             layer.pair("pad", 0), bias=options.get("bias", True))
        case "pooling" if options.get("global"):
            return nn.AdaptiveAvgPool2d(1)
        case "pooling":
            window = (layer.pair("kernel", 1), layer.pair("stride", 1), layer.pair("pad", 0))
            if options.get("method", "max") == "max":
                return nn.MaxPool2d(*window, ceil_mode=options.get("ceil", False))
            return nn.AvgPool2d(*window, ceil_mode=options.get("ceil", False), count_include_pad=False)
        case "batch_norm":
            return nn.BatchNorm2d(len(params[f"{layer.name}.scale"]))
        case "lrn" if options.get("region") == "within":
            return LrnWithin(options["size"], options["alpha"], options["beta"])
        case "relu":
            return nn.ReLU(inplace=True)
        case "tanh":
            return nn.Tanh()
        case "scaled_tanh":
            return ScaledTanh()
        case "sigmoid":
            return nn.Sigmoid()
        case "add":
            return Add()
    raise SystemExit(f"torch_peer: no counterpart of layer '{layer.name}' ({layer.type})")


class Net(nn.Module):
    def __init__(self, prepared: Prepared):
        super().__init__()
        params = prepared.params
        self.plan = []
        for layer in prepared.layers:
            if not layer.src or layer.type in ("dropout", "softmax_loss"):
                continue
            name = layer.name.replace(".", "_")
            module = module_of(layer, params)
            for own, given in zip(module.parameters(), self._first(layer, params), strict=True):
                own.data.copy_(torch.from_numpy(given))
            self.add_module(name, module)
            self.plan.append((name, layer.src, layer.name))
        views = {layer.name: layer.src[0] for layer in prepared.layers if layer.type == "dropout"}
        self.plan = [(name, [views.get(src, src) for src in srcs], out) for name, srcs, out in self.plan]
        self.chain = all(srcs == [before[2]] for (_, srcs, _), before in zip(self.plan[1:], self.plan, strict=False))

    @staticmethod
    def _first(layer: Layer, params: dict):
        for kind in ("weight", "scale", "bias", "shift"):
            if f"{layer.name}.{kind}" in params:
                yield params[f"{layer.name}.{kind}"]

    def forward(self, x):
        if self.chain:
            for name, _, _ in self.plan:
                x = getattr(self, name)(x)
            return x
        values = {self.plan[0][1][0]: x}
        for name, srcs, out in self.plan:
            values[out] = getattr(self, name)(*(values[src] for src in srcs))
        return values[out]


class Ahead:
    """Batches on the GPU: copies the next batch from pinned memory while the GPU computes on the current one."""

    def __init__(self, batches: list):
        self.batches = [tuple(tensor.pin_memory() for tensor in batch) for batch in batches]
        self.stream, self.at = torch.cuda.Stream(), 0
        self._send()

    def _send(self) -> None:
        with torch.cuda.stream(self.stream):
            self.sent = [tensor.to("cuda", non_blocking=True) for tensor in self.batches[self.at % len(self.batches)]]
        self.at += 1

    def __next__(self) -> list:
        now = torch.cuda.current_stream()
        now.wait_stream(self.stream)
        batch = self.sent
        for tensor in batch:
            tensor.record_stream(now)
        self._send()
        return batch


class TorchTraining:
    def __init__(self, prepared: Prepared, dtype: str, settings: set[str]):
        device = "cuda" if "cuda" in settings else "cpu"
        if dtype == "tf32":
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        net = Net(prepared).train().to(device)
        batches = [(torch.from_numpy(x), torch.from_numpy(label).long()) for x, label in prepared.batches()]
        if "channels_last" in settings:
            net = net.to(memory_format=torch.channels_last)
            batches = [(x.contiguous(memory_format=torch.channels_last), label) for x, label in batches]
        self.batches = Ahead(batches) if device == "cuda" else itertools.cycle(batches)
        # A GPU's steps are not awaited singly: the host runs ahead, as in any training loop.
        self.steps, self.finish = (10, torch.cuda.synchronize) if device == "cuda" else (1, lambda: None)
        self.optimizer = torch.optim.SGD(net.parameters(), lr=prepared.rate, momentum=prepared.momentum, fused=True)
        low = dtype == "bf16"

        def criterion(x, label):
            with torch.autocast(device, torch.bfloat16, enabled=low):
                scores = net(x)
            return F.cross_entropy(scores.float(), label)

        self.criterion = criterion
        if "compiled" in settings or "graphs" in settings:
            self.criterion = torch.compile(criterion, mode="reduce-overhead" if "graphs" in settings else "default")

    def step(self) -> None:
        x, label = next(self.batches)
        self.optimizer.zero_grad(set_to_none=True)
        self.last = self.criterion(x, label)
        self.last.backward()
        self.optimizer.step()

    def loss(self) -> float:
        return self.last.item()


if __name__ == "__main__":
    path, dtype, threads, *settings = sys.argv[1:]
    with open(path, "rb") as file:
        prepared = pickle.load(file)
    torch.set_num_threads(int(threads))
    torch.set_flush_denormal(True)
    serve(lambda: TorchTraining(prepared, dtype, set(settings)))
