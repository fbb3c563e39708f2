#!/usr/bin/env python3
"""shapes_test.py DLHOST DEVICE: layers that only move elements follow docs/layers.md and `dlhost inspect`; add and
multiply repeat axes of 1; an embedding looks up the right row."""
import math

from values import Array, Values, main

X = Array.of((3, 2, 3, 4), lambda n, c, i, j: float(1000 * n + 100 * c + 10 * i + j))  # an element encodes its place
Y = Array.of((3, 2, 2, 4), lambda n, c, i, j: -1 - X[n, c, i, j])


class Pieces(Values):
    def test_concat(self) -> None:
        made = self.run_job({"x": X, "y": Y}, """
[[layer]]
name = "rows"
type = "concat"
src = ["y", "x", "y"]
axis = 2
[[layer]]
name = "channels"
type = "concat"
src = ["x", "x"]
""", ["rows", "channels"])
        self.assert_near(made["rows"], Array.of((3, 2, 7, 4), lambda n, c, i, j: Y[n, c, i, j] if i < 2 else
                                                X[n, c, i - 2, j] if i < 5 else Y[n, c, i - 5, j]), "along axis 2")
        self.assert_near(made["channels"], Array.of((3, 4, 3, 4), lambda n, c, i, j: X[n, c % 2, i, j]), "along axis 1")

    def test_slice(self) -> None:
        made = self.run_job({"x": X}, """
[[layer]]
name = "default"
type = "slice"
src = "x"
[[layer]]
name = "channel"
type = "slice"
src = "x"
first = 1
[[layer]]
name = "columns"
type = "slice"
src = "x"
axis = 3
first = 1
count = 2
""", ["default", "channel", "columns"])
        self.assert_near(made["default"], Array.of((3, 1, 3, 4), lambda n, c, i, j: X[n, 0, i, j]), "by default")
        self.assert_near(made["channel"], Array.of((3, 1, 3, 4), lambda n, c, i, j: X[n, 1, i, j]), "from 1 on")
        self.assert_near(made["columns"], Array.of((3, 2, 3, 2), lambda n, c, i, j: X[n, c, i, j + 1]), "of axis 3")

    def test_split(self) -> None:
        made = self.run_job({"x": X}, """
[[layer]]
name = "sizes"
type = "split"
src = "x"
axis = 3
sizes = [1, 3]
[[layer]]
name = "parts"
type = "split"
src = "x"
axis = 2
parts = 3
[[layer]]
name = "halves"
type = "split"
src = "x"
""", ["sizes:y0", "sizes:y1", "parts:y0", "parts:y1", "parts:y2", "halves:y0", "halves:y1"])
        self.assert_near(made["sizes:y0"], Array.of((3, 2, 3, 1), lambda n, c, i, j: X[n, c, i, j]), "the first size")
        expected = Array.of((3, 2, 3, 3), lambda n, c, i, j: X[n, c, i, j + 1])
        self.assert_near(made["sizes:y1"], expected, "the second size")
        for part in range(3):
            expected = Array.of((3, 2, 1, 4), lambda n, c, i, j: X[n, c, part, j])
            self.assert_near(made[f"parts:y{part}"], expected, f"part {part}")
        for half in range(2):
            expected = Array.of((3, 1, 3, 4), lambda n, c, i, j: X[n, half, i, j])
            self.assert_near(made[f"halves:y{half}"], expected, f"half {half}")

    def test_of_indices(self) -> None:
        """Whole numbers stay exact."""
        x = Array.of((3, 4), lambda n, i: 2**30 + 10 * n + i)  # f32 cannot hold these numbers
        layer = '[[layer]]\nname = "cut"\ntype = "slice"\nsrc = "x"\nfirst = 1\ncount = 2'
        made = self.run_job({"x": x}, layer, ["cut"])
        self.assertTrue(made["cut"].whole())
        self.assertEqual(made["cut"].numbers, [x[n, i + 1] for n in range(3) for i in range(2)])


class Views(Values):
    def test_transpose(self) -> None:
        made = self.run_job({"x": X}, """
[[layer]]
name = "last"
type = "transpose"
src = "x"
order = [2, 3, 1]
[[layer]]
name = "swapped"
type = "transpose"
src = "x"
order = [1, 3, 2]
""", ["last", "swapped"])
        self.assert_near(made["last"], Array.of((3, 3, 4, 2), lambda n, i, j, c: X[n, c, i, j]), "channels to the end")
        self.assert_near(made["swapped"], Array.of((3, 2, 4, 3), lambda n, c, j, i: X[n, c, i, j]), "rows and columns")

    def test_flatten_and_reshape(self) -> None:
        made = self.run_job({"x": X}, """
[[layer]]
name = "flat"
type = "flatten"
src = "x"
[[layer]]
name = "places"
type = "flatten"
src = "x"
axis = 2
[[layer]]
name = "other"
type = "reshape"
src = "x"
shape = [4, -1, 2]
[[layer]]
name = "line"
type = "reshape"
src = "x"
shape = [24]
""", ["flat", "places", "other", "line"])
        for name, shape in (("flat", (3, 24)), ("places", (3, 2, 12)), ("other", (3, 4, 3, 2)), ("line", (3, 24))):
            self.assert_near(made[name], Array(shape, X.numbers), name)

    def test_behind_layers_that_choose_their_format(self) -> None:
        """A device may choose another layout for a convolution's output: moving layers still see their order."""
        made = self.run_job({"x": X}, """
[[layer]]
name = "conv"
type = "convolution"
src = "x"
filters = 2
kernel = 1
bias = false
frozen = true
[[layer]]
name = "flat"
type = "flatten"
src = "conv"
[[layer]]
name = "last"
type = "transpose"
src = "conv"
order = [3, 1, 2]
[[layer]]
name = "joined"
type = "concat"
src = ["conv", "x"]
""", ["flat", "last", "joined"], {"conv.weight": Array((2, 2, 1, 1), [0.0, 1.0, 1.0, 0.0])})  # swaps the channels
        swapped = Array.of(X.shape, lambda n, c, i, j: X[n, 1 - c, i, j])
        self.assert_near(made["flat"], Array((3, 24), swapped.numbers), "flat")
        self.assert_near(made["last"], Array.of((3, 4, 2, 3), lambda n, j, c, i: swapped[n, c, i, j]), "columns first")
        expected = Array.of((3, 4, 3, 4), lambda n, c, i, j: swapped[n, c, i, j] if c < 2 else X[n, c - 2, i, j])
        self.assert_near(made["joined"], expected, "joined")


class Several(Values):
    def test_add_and_multiply(self) -> None:
        x, y, z = (Array.drawn((3, 2, 3), seed) for seed in range(3))
        made = self.run_job({"x": x, "y": y, "z": z}, "".join(
            f'[[layer]]\nname = "{name}{count}"\ntype = "{name}"\nsrc = {["x", "y", "z"][:count]}\n'
            for name in ("add", "multiply") for count in (2, 3)), ["add2", "add3", "multiply2", "multiply3"])
        for count in (2, 3):
            elements = list(zip(*(array.numbers for array in (x, y, z)[:count])))
            self.assert_near(made[f"add{count}"], Array(x.shape, list(map(sum, elements))), f"sum of {count}")
            product = Array(x.shape, list(map(math.prod, elements)))
            self.assert_near(made[f"multiply{count}"], product, f"product of {count}")

    def test_axes_of_one_are_repeated(self) -> None:
        x, y, z = Array.drawn((3, 2, 3, 4), 1), Array.drawn((3, 2, 1, 1), 2), Array.drawn((3, 1, 3, 1), 3)
        made = self.run_job({"x": x, "y": y, "z": z}, "".join(
            f'[[layer]]\nname = "{name}_{first}"\ntype = "{name}"\nsrc = {src}\n' for name in ("add", "multiply")
            for first, src in (("x", ["x", "y", "z"]), ("y", ["y", "z"]))),
            ["add_x", "add_y", "multiply_x", "multiply_y"])
        some = Array.of((3, 2, 3, 1), lambda n, c, i, j: y[n, c, 0, 0] + z[n, 0, i, 0])
        self.assert_near(made["add_y"], some, "y + z")
        expected = Array.of(x.shape, lambda n, c, i, j: x[n, c, i, j] + some[n, c, i, 0])
        self.assert_near(made["add_x"], expected, "x + y + z")
        some = Array.of((3, 2, 3, 1), lambda n, c, i, j: y[n, c, 0, 0] * z[n, 0, i, 0])
        self.assert_near(made["multiply_y"], some, "y z")
        expected = Array.of(x.shape, lambda n, c, i, j: x[n, c, i, j] * some[n, c, i, 0])
        self.assert_near(made["multiply_x"], expected, "x y z")


class Learned(Values):
    def test_embedding(self) -> None:
        table, indices = Array.drawn((6, 3), 1), Array((3, 4), [0, 5, 2, 2, 1, 3, 4, 0, 5, 5, 1, 2])
        layer = '[[layer]]\nname = "e"\ntype = "embedding"\nsrc = "x"\nrows = 6\nunits = 3\nfrozen = true'
        made = self.run_job({"x": indices}, layer, ["e"], {"e.weight": table})
        expected = Array.of((3, 4, 3), lambda n, i, unit: table[indices[n, i], unit])
        self.assert_near(made["e"], expected, "rows of the table")

    def test_dense(self) -> None:
        """y = x W^T + b, for samples of any shape, flattened."""
        x, weight, bias = Array.drawn((3, 2, 3), 1), Array.drawn((4, 6), 2), Array.drawn((4,), 3)
        made = self.run_job({"x": x}, """
[[layer]]
name = "fc"
type = "dense"
src = "x"
units = 4
frozen = true
[[layer]]
name = "flat"
type = "flatten"
src = "x"
[[layer]]
name = "plain"
type = "dense"
src = "flat"
units = 4
bias = false
frozen = true
""", ["fc", "plain"], {"fc.weight": Array((4, 2, 3), weight.numbers), "fc.bias": bias, "plain.weight": weight})
        product = Array.of((3, 4), lambda n, unit: sum(x[n, i // 3, i % 3] * weight[unit, i] for i in range(6)))
        self.assert_near(made["plain"], product, "without bias")
        self.assert_near(made["fc"], Array.of((3, 4), lambda n, unit: product[n, unit] + bias[unit]), "with bias")


main()
