#!/usr/bin/env python3
"""norms_test.py DLHOST DEVICE: batch_norm with its running means, layer_norm, group_norm, rms_norm and lrn follow
docs/layers.md."""
import json
import math
import statistics

from values import Array, Values, main, read_npy


class BatchNorm(Values):
    """x is 7 samples of 2 channels and 3 places; in batches of 4, the second has 3 valid rows."""

    EPSILON, MOMENTUM = 0.3, 0.35
    LAYERS = f"""
[[layer]]
name = "bn"
type = "batch_norm"
src = "x"
epsilon = {EPSILON}
momentum = {MOMENTUM}
[[layer]]
name = "loss"
type = "euclidean_loss"
src = ["bn", "target"]
"""

    def setUp(self) -> None:
        super().setUp()
        self.x = Array.drawn((7, 2, 3), 1)
        self.x.numbers = [number + 1.5 * (i // 3 % 2) for i, number in enumerate(self.x.numbers)]  # channels differ
        self.target = Array.drawn((7, 2, 3), 2)
        self.start = {"bn.scale": Array((2,), [1.5, -0.75]), "bn.shift": Array((2,), [0.25, 2.0]),
                      "bn.running_mean": Array((2,), [0.5, -1.0]), "bn.running_variance": Array((2,), [2.0, 0.5])}

    def train(self, steps: int) -> Array:
        arrays = {"x": self.x, "target": self.target}
        return self.run_job(arrays, self.LAYERS, ["bn"], self.start, batch=4, steps=steps)["bn"]

    def of_channel(self, channel: int, samples: list[int]) -> list[float]:
        return [self.x[n, channel, place] for n in samples for place in range(3)]

    def test_running_means_and_what_an_evaluation_makes_of_them(self) -> None:
        """Running means move by `momentum` towards each batch's mean and unbiased variance, of its valid rows."""
        made, left = self.train(3), self.params()
        for name in ("bn.scale", "bn.shift"):
            self.assert_near(left[name], self.start[name], f"{name} at a rate of 0")
        mean, variance = self.start["bn.running_mean"].numbers, self.start["bn.running_variance"].numbers
        for batch in ([0, 1, 2, 3], [4, 5, 6], [0, 1, 2, 3]):
            of = [self.of_channel(channel, batch) for channel in range(2)]
            mean = [m + self.MOMENTUM * (statistics.fmean(x) - m) for m, x in zip(mean, of)]
            variance = [v + self.MOMENTUM * (statistics.variance(x) - v) for v, x in zip(variance, of)]  # unbiased
        self.assert_near(left["bn.running_mean"], Array((2,), mean), "running mean")
        self.assert_near(left["bn.running_variance"], Array((2,), variance), "running variance")
        expected = self.normalised(range(7), mean, variance)
        self.assert_near(made, expected, "the test at the end")
        self.call("predict", str(self.run_folder), "--layer", "bn", "-o", "predicted.npy")
        self.assert_near(read_npy(self.root / "predicted.npy"), expected, "predict")
        loss = json.loads(self.call("eval", str(self.run_folder), "--json"))["metrics"]["loss"]
        squares = sum((a - b)**2 for a, b in zip(expected.numbers, self.target.numbers))
        self.assert_close(loss, squares / 2 / 7, "eval")

    def normalised(self, samples: range, mean: list[float], variance: list[float]) -> Array:
        scale, shift = self.start["bn.scale"], self.start["bn.shift"]
        return Array.of((len(samples), 2, 3), lambda n, c, place: scale[c] * (self.x[samples[n], c, place] - mean[c]) /
                        math.sqrt(variance[c] + self.EPSILON) + shift[c])

    def test_training_goes_by_the_batch(self) -> None:
        """Training uses the batch's mean and biased variance: the loss of a step shows it."""
        self.train(1)
        of = [self.of_channel(channel, [0, 1, 2, 3]) for channel in range(2)]
        y = self.normalised(range(4), list(map(statistics.fmean, of)), list(map(statistics.pvariance, of)))
        expected = sum((a - b)**2 for a, b in zip(y.numbers, self.target.numbers)) / 2 / 4
        self.assert_close(self.summary["train"]["loss"], expected, "loss of the first step")


    def test_one_value_a_channel_is_no_batch(self) -> None:
        """One value has variance 0: training says so, at once or at a short batch; evaluation uses no batch."""
        flat = {"x": Array.drawn((5, 2), 1), "target": Array.drawn((5, 2), 2)}
        self.run_job(flat, self.LAYERS, batch=4, steps=1)
        again = ("run", "job.toml", "--set", "record.folder=runs", "--set")
        said = self.call(*again, "train.batch=1", code=1)
        self.assertRegex(said, r"layer 'bn': trains on one value for each channel, .*1x2; make train.batch larger")
        said = self.call(*again, "train.batch=2", "--set", "topology.workers_per_group=2", code=1)
        self.assertRegex(said, r"dlhost: job.toml:\d+:1: layer 'bn': trains on one value for each channel")
        said = self.call(*again, "train.stop.steps=2", code=1)
        self.assertRegex(said, "train.last_batch: \"partial\" leaves a worker 1 row of an epoch's last batch, which layer 'bn' "
                               "refuses: say \"drop\" or \"wrap\", .*trains on one value for each channel")
        self.assertFalse((self.root / "runs").is_dir() and len(list((self.root / "runs").iterdir())) > 1)
        self.call("eval", str(self.run_folder), "--set", "train.batch=1")
        self.run_job({"x": self.x, "target": self.target}, self.LAYERS, batch=1)  # three values for each channel


class LayerNorm(Values):
    def test_over_the_axis_and_all_after_it(self) -> None:
        x = Array.drawn((5, 2, 3, 4), 1)
        layers, params = "", {}
        for axis, epsilon in ((1, 0.2), (2, 0.7), (3, 1e-5)):
            layers += f'[[layer]]\nname = "ln{axis}"\ntype = "layer_norm"\nsrc = "x"\nfrozen = true\n' \
                      f'axis = {axis}\nepsilon = {epsilon}\n'
            params[f"ln{axis}.scale"] = Array.drawn(x.shape[axis:], axis)
            params[f"ln{axis}.shift"] = Array.drawn(x.shape[axis:], 9 + axis)
        made = self.run_job({"x": x}, layers, ["ln1", "ln2", "ln3"], params)
        for axis, epsilon in ((1, 0.2), (2, 0.7), (3, 1e-5)):
            length = math.prod(x.shape[axis:])
            scale, shift = params[f"ln{axis}.scale"].numbers, params[f"ln{axis}.shift"].numbers
            expected = []
            for first in range(0, len(x.numbers), length):
                piece = x.numbers[first:first + length]
                mean, deviation = statistics.fmean(piece), math.sqrt(statistics.pvariance(piece) + epsilon)
                expected += [s * (number - mean) / deviation + t for number, s, t in zip(piece, scale, shift)]
            self.assert_near(made[f"ln{axis}"], Array(x.shape, expected), f"axis {axis}")


class GroupNorm(Values):
    def test_each_group_of_a_sample_by_itself(self) -> None:
        for shape, groups, epsilon in (((5, 6, 3, 2), 3, 0.2), ((3, 4, 5), 1, 1e-5), ((3, 4, 5), 4, 0.7), ((4, 6), 2, 1e-5)):
            x = Array.drawn(shape, groups)
            scale, shift = Array.drawn(shape[1:2], 1), Array.drawn(shape[1:2], 2)
            made = self.run_job({"x": x}, f"""
[[layer]]
name = "gn"
type = "group_norm"
src = "x"
frozen = true
groups = {groups}
epsilon = {epsilon}
""", ["gn"], {"gn.scale": scale, "gn.shift": shift})
            expected, length, places = [], math.prod(shape[1:]) // groups, math.prod(shape[2:])
            for first in range(0, len(x.numbers), length):
                group = x.numbers[first:first + length]
                mean, deviation = statistics.fmean(group), math.sqrt(statistics.pvariance(group) + epsilon)
                for place, number in enumerate(group, first):
                    channel = place // places % shape[1]
                    expected.append(scale[channel] * (number - mean) / deviation + shift[channel])
            self.assert_near(made["gn"], Array(shape, expected), f"{groups} groups of {shape}")

    def test_as_pytorch(self) -> None:
        """The defined result of torch.nn.GroupNorm(2, 4) for 1, 2, ..., 8 as [1, 4, 2]: groups of 1 to 4 and 5 to 8."""
        made = self.run_job({"x": Array((1, 4, 2), [float(number) for number in range(1, 9)])},
                            '[[layer]]\nname = "gn"\ntype = "group_norm"\nsrc = "x"\nfrozen = true\ngroups = 2\n', ["gn"])
        self.assert_near(made["gn"], Array((1, 4, 2), 2 * [-1.3416355, -0.4472118, 0.4472118, 1.3416355]))

    def test_groups_that_do_not_divide(self) -> None:
        self.run_job({"x": Array.drawn((2, 6, 2), 1)},
                     '[[layer]]\nname = "gn"\ntype = "group_norm"\nsrc = "x"\nfrozen = true\ngroups = 3\n')
        said = self.call("check", "job.toml", "--set", "layer.gn.groups=4", code=1)
        self.assertRegex(said, "layer 'gn': groups is 4, which does not divide the 6 channels of .*: .*, 3 for example")

    def test_one_value_a_group_is_no_group(self) -> None:
        """One value has variance 0: training says so."""
        layers = '[[layer]]\nname = "norm"\ntype = "{}"\nsrc = "x"\n{}\n' \
                 '[[layer]]\nname = "loss"\ntype = "euclidean_loss"\nsrc = ["norm", "target"]\n'
        for shape, kind, option, told in (
                ((2, 4, 1, 1), "group_norm", "groups = 4", "for each group, .*2x4x1x1; say fewer groups"),
                ((2, 1), "layer_norm", "", "for each sample, .*2x1; leave the layer out"),
                ((2, 3, 1), "layer_norm", "axis = 2", "for each sample, .*2x3x1; .*name an axis")):
            with self.assertRaisesRegex(AssertionError, f"layer 'norm': trains on one value {told}"):
                self.run_job({"x": Array.drawn(shape, 1), "target": Array.drawn(shape, 2)}, layers.format(kind, option))


class RmsNorm(Values):
    def test_over_the_axis_and_all_after_it(self) -> None:
        x = Array.drawn((5, 2, 3, 4), 1)
        cases = ((1, 0.2), (2, 0.7), (3, 1e-5))
        layers = "".join(f'[[layer]]\nname = "rms{axis}"\ntype = "rms_norm"\nsrc = "x"\nfrozen = true\n'
                         f'axis = {axis}\nepsilon = {epsilon}\n' for axis, epsilon in cases)
        params = {f"rms{axis}.scale": Array.drawn(x.shape[axis:], axis) for axis, _ in cases}
        made = self.run_job({"x": x}, layers, ["rms1", "rms2", "rms3"], params)
        for axis, epsilon in cases:
            length, scale = math.prod(x.shape[axis:]), params[f"rms{axis}.scale"].numbers
            expected = []
            for first in range(0, len(x.numbers), length):
                piece = x.numbers[first:first + length]
                root = math.sqrt(statistics.fmean(number**2 for number in piece) + epsilon)
                expected += [s * number / root for number, s in zip(piece, scale)]
            self.assert_near(made[f"rms{axis}"], Array(x.shape, expected), f"axis {axis}")

    def test_as_pytorch(self) -> None:
        """The defined result of torch.nn.RMSNorm(4, eps=1e-5) for 1, 2, 3, 4, whose mean square is 7.5."""
        made = self.run_job({"x": Array((1, 4), [1.0, 2.0, 3.0, 4.0])},
                            '[[layer]]\nname = "rms"\ntype = "rms_norm"\nsrc = "x"\nfrozen = true\n', ["rms"])
        self.assert_near(made["rms"], Array((1, 4), [0.3651481, 0.7302962, 1.0954443, 1.4605924]))


class LocalResponse(Values):
    """y = x / (k + alpha / n sum x^2)^beta; n is the size of a whole window, at the edges too."""

    def test_across_channels(self) -> None:
        x = Array.drawn((3, 6, 2, 2), 1)
        made = self.run_job({"x": x}, """
[[layer]]
name = "default"
type = "lrn"
src = "x"
[[layer]]
name = "other"
type = "lrn"
src = "x"
size = 3
alpha = 0.9
beta = 0.4
k = 2.5
[[layer]]
name = "even"
type = "lrn"
src = "x"
size = 4
alpha = 0.9
""", ["default", "other", "even"])

        def expected(n: int, c: int, i: int, j: int, size: int, alpha: float, beta: float, k: float) -> float:
            near = [x[n, d, i, j] for d in range(6) if -(size // 2) <= d - c <= (size - 1) // 2]
            return x[n, c, i, j] / (k + alpha / size * sum(number**2 for number in near))**beta

        for name, options in (("default", (5, 1e-4, 0.75, 1)), ("other", (3, 0.9, 0.4, 2.5)),
                              ("even", (4, 0.9, 0.75, 1))):
            self.assert_near(made[name], Array.of(x.shape, lambda *place: expected(*place, *options)), name)

    def test_within_a_channel(self) -> None:
        x = Array.drawn((3, 2, 4, 5), 2)
        made = self.run_job({"x": x}, """
[[layer]]
name = "lrn"
type = "lrn"
src = "x"
region = "within"
size = 3
alpha = 1.8
beta = 0.6
k = 1.5
""", ["lrn"])

        def expected(n: int, c: int, i: int, j: int) -> float:
            near = [x[n, c, u, v] for u in range(4) for v in range(5) if abs(u - i) <= 1 and abs(v - j) <= 1]
            return x[n, c, i, j] / (1.5 + 1.8 / 9 * sum(number**2 for number in near))**0.6

        self.assert_near(made["lrn"], Array.of(x.shape, expected), "within a channel")


main()
