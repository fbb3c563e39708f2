"""The net of a workload in JAX, as one compiled step; pictures lie as NHWC, which XLA's CPU backend prefers. Arguments:
a folder made by workload.prepare (pickled), dtype, threads."""

import os
import pickle
import sys

threads = int(sys.argv[3])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])  # XLA starts a thread for each processor it sees

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from served import serve  # noqa: E402
from workload import Layer, Prepared  # noqa: E402

PICTURE = ("NHWC", "HWIO", "NHWC")


def window_of(layer: Layer, size: tuple[int, int]):
    """Kernel, stride and padding; in ceil mode the padding at the end grows as far as the last window needs."""
    kernel, stride, pad = layer.pair("kernel", 1), layer.pair("stride", 1), layer.pair("pad", 0)
    padding = []
    for k, s, p, n in zip(kernel, stride, pad, size, strict=True):
        room = n + 2 * p - k
        count = -(-room // s) + 1 if layer.options.get("ceil") else room // s + 1
        padding.append((p, max(p, (count - 1) * s + k - n - p)))
    return kernel, stride, padding


def pool(layer: Layer, x):
    if layer.options.get("global"):
        return x.mean(axis=(1, 2), keepdims=True)
    kernel, stride, padding = window_of(layer, x.shape[1:3])
    dims, strides, pads = (1, *kernel, 1), (1, *stride, 1), ((0, 0), *padding, (0, 0))
    if layer.options.get("method", "max") == "max":
        return lax.reduce_window(x, -jnp.inf, lax.max, dims, strides, pads)
    total = lax.reduce_window(x, 0.0, lax.add, dims, strides, pads)
    count = lax.reduce_window(np.ones((1, *x.shape[1:3], 1), x.dtype), np.array(0, x.dtype), lax.add, dims, strides, pads)
    return total / count


def lrn_within(layer: Layer, x):
    size = layer.options["size"]
    near = ((0, 0), (size // 2, size // 2), (size // 2, size // 2), (0, 0))
    squares = lax.reduce_window(x * x, 0.0, lax.add, (1, size, size, 1), (1, 1, 1, 1), near)
    return x * (1 + layer.options["alpha"] / size**2 * squares) ** -layer.options["beta"]


def batch_norm(params: dict, x):
    wide = x.astype(jnp.float32)
    mean, variance = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
    return ((wide - mean) * lax.rsqrt(variance + 1e-5) * params["scale"] + params["shift"]).astype(x.dtype)


def apply(layer: Layer, params: dict, low, inputs):
    x = inputs[0]
    match layer.type:
        case "dense":
            flat = x if x.ndim == 2 else x.transpose(0, 3, 1, 2).reshape(len(x), -1)  # as the other systems lie
            return flat @ params["weight"].T.astype(low) + params["bias"].astype(low)
        case "convolution":
            _, stride, padding = window_of(layer, x.shape[1:3])
            y = lax.conv_general_dilated(x, params["weight"].astype(low), stride, padding, dimension_numbers=PICTURE)
            return y + params["bias"].astype(low) if "bias" in params else y
        case "pooling":
            return pool(layer, x)
        case "batch_norm":
            return batch_norm(params, x)
        case "lrn" if layer.options.get("region") == "within":
            return lrn_within(layer, x)
        case "relu":
            return jax.nn.relu(x)
        case "tanh":
            return jnp.tanh(x)
        case "scaled_tanh":
            return 1.7159 * jnp.tanh(x * (2 / 3))
        case "sigmoid":
            return jax.nn.sigmoid(x)
        case "add":
            return x + inputs[1]
        case "dropout":
            return x
    raise SystemExit(f"jax_peer: no counterpart of layer '{layer.name}' ({layer.type})")


def nested(prepared: Prepared) -> dict:
    params: dict = {}
    for path, value in prepared.params.items():
        layer, _, kind = path.rpartition(".")
        params.setdefault(layer, {})[kind] = jnp.asarray(value.transpose(2, 3, 1, 0) if value.ndim == 4 else value)
    return params


class JaxTraining:
    def __init__(self, prepared: Prepared, dtype: str):
        low = jnp.bfloat16 if dtype == "bf16" else jnp.float32
        layers = [layer for layer in prepared.layers if layer.src and layer.type != "softmax_loss"]

        def criterion(params, x, label):
            values = {layers[0].src[0]: x.astype(low)}
            for layer in layers:
                inputs = [values[src] for src in layer.src]
                values[layer.name] = apply(layer, params.get(layer.name, {}), low, inputs)
            scores = jax.nn.log_softmax(values[layers[-1].name].astype(jnp.float32))
            return -jnp.take_along_axis(scores, label[:, None], 1).mean()

        def step(params, momenta, x, label):
            loss, gradients = jax.value_and_grad(criterion)(params, x, label)
            momenta = jax.tree.map(lambda m, g: prepared.momentum * m + g, momenta, gradients)
            params = jax.tree.map(lambda p, m: p - prepared.rate * m, params, momenta)
            return params, momenta, loss

        self.params = nested(prepared)
        self.momenta = jax.tree.map(jnp.zeros_like, self.params)
        self.batches = [(jnp.asarray(x.transpose(0, 2, 3, 1) if x.ndim == 4 else x), jnp.asarray(label))
                        for x, label in prepared.batches()]
        self.compiled = jax.jit(step, donate_argnums=(0, 1))
        self.at = 0

    def step(self) -> None:
        x, label = self.batches[self.at % len(self.batches)]
        self.at += 1
        self.params, self.momenta, self.last = self.compiled(self.params, self.momenta, x, label)
        jax.block_until_ready((self.params, self.momenta, self.last))

    def loss(self) -> float:
        return float(self.last)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        prepared = pickle.load(file)
    serve(lambda: JaxTraining(prepared, sys.argv[2]))
