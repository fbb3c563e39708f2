"""The net of a workload in JAX, as one compiled step. Arguments: a folder made by workload.prepare (pickled), dtype,
threads, and the layout of pictures: nhwc (the default) or nchw."""

import os
import pickle
import sys
from dataclasses import dataclass

threads = int(sys.argv[3])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])  # XLA starts a thread for each visible processor

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from served import serve  # noqa: E402
from workload import Layer, Prepared  # noqa: E402


@dataclass(frozen=True)
class Layout:
    """The layout of pictures and of convolution weights. Elsewhere, and in other systems, they are NCHW and OIHW."""

    pictures: str
    weights: str

    @property
    def convolution(self) -> tuple[str, str, str]:
        return self.pictures, self.weights, self.pictures

    @property
    def spatial(self) -> tuple[int, int]:
        return self.pictures.index("H"), self.pictures.index("W")

    def of_window(self, window: tuple, one) -> tuple:
        """A tuple over all axes: a window's two sides, and `one` at the others."""
        sides = dict(zip("HW", window, strict=True))
        return tuple(sides.get(axis, one) for axis in self.pictures)

    def of_channels(self, values):
        return values.reshape([-1 if axis == "C" else 1 for axis in self.pictures])

    def from_plain(self, x):
        if x.ndim != 4:
            return x
        return x.transpose(["NCHW".index(axis) for axis in self.pictures])

    def weight_from_plain(self, weight):
        return weight.transpose(["OIHW".index(axis) for axis in self.weights])

    def plain(self, x):
        return x.transpose([self.pictures.index(axis) for axis in "NCHW"])


LAYOUTS = {"nhwc": Layout("NHWC", "HWIO"), "nchw": Layout("NCHW", "OIHW")}


def window_of(layer: Layer, size: tuple[int, int]):
    """Kernel, stride and padding; in ceil mode the end padding covers the last window."""
    kernel, stride, pad = layer.pair("kernel", 1), layer.pair("stride", 1), layer.pair("pad", 0)
    padding = []
    for k, s, p, n in zip(kernel, stride, pad, size, strict=True):
        room = n + 2 * p - k
        count = -(-room // s) + 1 if layer.options.get("ceil") else room // s + 1
        padding.append((p, max(p, (count - 1) * s + k - n - p)))
    return kernel, stride, padding


def pool(layer: Layer, x, layout: Layout):
    if layer.options.get("global"):
        return x.mean(axis=layout.spatial, keepdims=True)
    size = tuple(x.shape[axis] for axis in layout.spatial)
    kernel, stride, padding = window_of(layer, size)
    dims, strides = layout.of_window(kernel, 1), layout.of_window(stride, 1)
    pads = layout.of_window(padding, (0, 0))
    if layer.options.get("method", "max") == "max":
        return lax.reduce_window(x, -jnp.inf, lax.max, dims, strides, pads)
    total = lax.reduce_window(x, 0.0, lax.add, dims, strides, pads)
    ones = np.ones(layout.of_window(size, 1), x.dtype)
    return total / lax.reduce_window(ones, np.array(0, x.dtype), lax.add, dims, strides, pads)


def lrn_within(layer: Layer, x, layout: Layout):
    size = layer.options["size"]
    near = layout.of_window(((size // 2, size // 2),) * 2, (0, 0))
    squares = lax.reduce_window(x * x, 0.0, lax.add, layout.of_window((size, size), 1), (1, 1, 1, 1), near)
    return x * (1 + layer.options["alpha"] / size**2 * squares) ** -layer.options["beta"]


def batch_norm(params: dict, running: dict, x, layout: Layout):
    """Returns y and the running means, which tests would use, of the unbiased variance, as in PyTorch."""
    wide, over = x.astype(jnp.float32), (0, *layout.spatial)
    mean, variance = wide.mean(over, keepdims=True), wide.var(over, keepdims=True)
    scale, shift = layout.of_channels(params["scale"]), layout.of_channels(params["shift"])
    y = ((wide - mean) * lax.rsqrt(variance + 1e-5) * scale + shift).astype(x.dtype)
    count = x.size // mean.size
    batch = {"mean": mean.ravel(), "variance": variance.ravel() * (count / (count - 1))}
    return y, {kind: 0.9 * value + 0.1 * batch[kind] for kind, value in running.items()}


def convolve(layer: Layer, params: dict, low, x, layout: Layout):
    _, stride, padding = window_of(layer, tuple(x.shape[axis] for axis in layout.spatial))
    weight = params["weight"].astype(low)
    y = lax.conv_general_dilated(x, weight, stride, padding, dimension_numbers=layout.convolution)
    return y + layout.of_channels(params["bias"].astype(low)) if "bias" in params else y


def apply(layer: Layer, params: dict, low, inputs, layout: Layout):
    x = inputs[0]
    match layer.type:
        case "dense":
            flat = x if x.ndim == 2 else layout.plain(x).reshape(len(x), -1)
            return flat @ params["weight"].T.astype(low) + params["bias"].astype(low)
        case "convolution":
            return convolve(layer, params, low, x, layout)
        case "pooling":
            return pool(layer, x, layout)
        case "lrn" if layer.options.get("region") == "within":
            return lrn_within(layer, x, layout)
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


def nested(prepared: Prepared, layout: Layout) -> dict:
    params: dict = {}
    for path, value in prepared.params.items():
        layer, _, kind = path.rpartition(".")
        params.setdefault(layer, {})[kind] = jnp.asarray(layout.weight_from_plain(value) if value.ndim == 4 else value)
    return params


class JaxTraining:
    def __init__(self, prepared: Prepared, dtype: str, layout: Layout):
        low = jnp.bfloat16 if dtype == "bf16" else jnp.float32
        layers = [layer for layer in prepared.layers if layer.src and layer.type != "softmax_loss"]

        def criterion(params, running, x, label):
            running = dict(running)
            values = {layers[0].src[0]: x.astype(low)}
            for layer in layers:
                name, own, inputs = layer.name, params.get(layer.name, {}), [values[src] for src in layer.src]
                if layer.type == "batch_norm":
                    values[name], running[name] = batch_norm(own, running[name], inputs[0], layout)
                else:
                    values[name] = apply(layer, own, low, inputs, layout)
            scores = jax.nn.log_softmax(values[layers[-1].name].astype(jnp.float32))
            return -jnp.take_along_axis(scores, label[:, None], 1).mean(), running

        def step(params, momenta, running, x, label):
            (loss, running), gradients = jax.value_and_grad(criterion, has_aux=True)(params, running, x, label)
            momenta = jax.tree.map(lambda m, g: prepared.momentum * m + g, momenta, gradients)
            params = jax.tree.map(lambda p, m: p - prepared.rate * m, params, momenta)
            return params, momenta, running, loss

        self.params = nested(prepared, layout)
        self.momenta = jax.tree.map(jnp.zeros_like, self.params)
        norms = [layer.name for layer in layers if layer.type == "batch_norm"]
        ones = {name: jnp.ones_like(self.params[name]["scale"]) for name in norms}
        self.running = {name: {"mean": jnp.zeros_like(one), "variance": one} for name, one in ones.items()}
        self.batches = [(jnp.asarray(layout.from_plain(x)), jnp.asarray(label)) for x, label in prepared.batches()]
        self.compiled = jax.jit(step, donate_argnums=(0, 1, 2))
        self.at = 0

    def step(self) -> None:
        x, label = self.batches[self.at % len(self.batches)]
        self.at += 1
        self.params, self.momenta, self.running, self.last = self.compiled(
            self.params, self.momenta, self.running, x, label)
        jax.block_until_ready((self.params, self.momenta, self.running, self.last))

    def loss(self) -> float:
        return float(self.last)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        prepared = pickle.load(file)
    layout = LAYOUTS[sys.argv[4] if len(sys.argv) > 4 else "nhwc"]
    serve(lambda: JaxTraining(prepared, sys.argv[2], layout))
