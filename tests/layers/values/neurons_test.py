#!/usr/bin/env python3
"""neurons_test.py DLHOST DEVICE: elementwise layers and softmax follow docs/layers.md and `dlhost inspect`."""
import math

from values import Array, Values, main

# Both sides of 0, 0 itself, and extremes at which a careless formula overflows or loses all digits.
X = Array((5, 4), [-0.015625, 0.0, 0.015625, -1.0, 1.0, -0.5, 0.5, 2.25, -2.25, -3.5, 3.5, 6.0, -6.0, -12.5, 12.5, 30.0,
                   -30.0, 88.0, -95.0, 100.0])


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


NEURONS = {  # the keys are a job's lines
    'type = "relu"': lambda x: max(x, 0),
    'type = "sigmoid"': logistic,
    'type = "tanh"': math.tanh,
    'type = "scaled_tanh"': lambda x: 1.7159 * math.tanh(2 * x / 3),
    'type = "softplus"': lambda x: math.log(1 + math.exp(x)),
    'type = "gelu"': lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    'type = "gelu"\nformula = "tanh"': lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    'type = "silu"': lambda x: x * logistic(x),
    'type = "leaky_relu"': lambda x: x if x > 0 else 0.01 * x,
    'type = "leaky_relu"\nslope = 0.3': lambda x: x if x > 0 else 0.3 * x,
    'type = "elu"': lambda x: x if x > 0 else math.exp(x) - 1,
    'type = "elu"\nscale = 2.5': lambda x: x if x > 0 else 2.5 * (math.exp(x) - 1),
}


class Neurons(Values):
    def computed(self, layers: str, made: list[str], params: dict[str, Array] | None = None) -> None:
        for (neuron, function), found in zip(NEURONS.items(), self.run_job({"x": X}, layers, made, params).values()):
            self.assert_near(found, Array(X.shape, [function(x) for x in X.numbers]), neuron)

    def test_by_themselves(self) -> None:
        names = [f"n{i}" for i in range(len(NEURONS))]
        layers = (f'[[layer]]\nname = "{name}"\nsrc = "x"\n{neuron}\n' for name, neuron in zip(names, NEURONS))
        self.computed("".join(layers), names)

    def test_behind_a_layer_that_may_compute_them(self) -> None:
        """The dense layer is the identity; a device that fuses may compute the neuron in its product."""
        names = [f"n{i}" for i in range(len(NEURONS))]
        layers, params = "", {}
        for name, neuron in zip(names, NEURONS):
            layers += f'[[layer]]\nname = "{name}_fc"\ntype = "dense"\nsrc = "x"\nunits = 4\nfrozen = true\n'
            layers += f'[[layer]]\nname = "{name}"\nsrc = "{name}_fc"\n{neuron}\n'
            params[f"{name}_fc.weight"] = Array.of((4, 4), lambda i, j: float(i == j))
            params[f"{name}_fc.bias"] = Array.of((4,), lambda i: 0.0)
        self.computed(layers, names, params)


class Softmax(Values):
    def test_over_an_axis_and_its_logarithm(self) -> None:
        x = Array.drawn((5, 3, 4), 1)
        layers = ""
        for axis in (1, 2):
            layers += f'[[layer]]\nname = "p{axis}"\ntype = "softmax"\nsrc = "x"\naxis = {axis}\n'
            layers += f'[[layer]]\nname = "log{axis}"\ntype = "softmax"\nsrc = "x"\naxis = {axis}\n' \
                      'logarithm = true\n'
        found = self.run_job({"x": x}, layers, ["p1", "log1", "p2", "log2"])
        first = Array.of(x.shape, lambda n, i, j: math.exp(x[n, i, j]) / sum(math.exp(x[n, c, j]) for c in range(3)))
        second = Array.of(x.shape, lambda n, i, j: math.exp(x[n, i, j]) / sum(math.exp(x[n, i, c]) for c in range(4)))
        for axis, expected in ((1, first), (2, second)):
            self.assert_near(found[f"p{axis}"], expected, f"axis {axis}")
            logarithm = Array(x.shape, list(map(math.log, expected.numbers)))
            self.assert_near(found[f"log{axis}"], logarithm, f"logarithm, axis {axis}")


main()
