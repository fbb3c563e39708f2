#!/usr/bin/env python3
"""windows_test.py DLHOST DEVICE: pooling, convolution and deconvolution over one to three axes follow docs/layers.md
and `dlhost inspect`, place by place."""
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from values import Array, Values, main, places


class Window(NamedTuple):
    """A job's options of a window, a number for each spatial axis."""

    kernel: Sequence[int]
    stride: Sequence[int]
    pad: Sequence[int]
    pad_end: Sequence[int]
    dilation: Sequence[int]

    @classmethod
    def of(cls, *kernel: int, stride: Sequence[int] = (), pad: Sequence[int] = (), pad_end: Sequence[int] = (),
           dilation: Sequence[int] = ()) -> "Window":
        axes = len(kernel)
        pad = pad or [0] * axes
        return cls(kernel, stride or [1] * axes, pad, pad_end or pad, dilation or [1] * axes)

    def text(self, options: Sequence[str] = ("kernel", "stride", "pad", "dilation")) -> str:
        if self.pad_end != self.pad:
            options = (*options, "pad_end")
        return "".join(f"{option} = {list(getattr(self, option))}\n" for option in options)

    def reach(self, axis: int) -> int:
        return self.dilation[axis] * (self.kernel[axis] - 1) + 1

    def sizes(self, source: Sequence[int], ceil: bool = False) -> list[int]:
        """The documented number of places along each axis."""
        sizes = []
        for axis, size in enumerate(source):
            steps = (size + self.pad[axis] + self.pad_end[axis] - self.reach(axis)) / self.stride[axis]
            count = (math.ceil(steps) if ceil else math.floor(steps)) + 1
            if ceil and (count - 1) * self.stride[axis] - self.pad[axis] >= size:  # would begin behind the source
                count -= 1
            sizes.append(count)
        return sizes

    def seen(self, at: Sequence[int], source: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The source's places under the window at a place, each with its own place in the kernel."""
        for within in places(self.kernel):
            place = tuple(a * s - p + d * k for a, s, p, d, k in zip(at, self.stride, self.pad, self.dilation, within))
            if all(0 <= i < size for i, size in zip(place, source)):
                yield place, within

    def counted(self, at: Sequence[int], source: Sequence[int]) -> int:
        """Counts the elements under the window at a place, in the source and its padding, not in the overhang."""
        firsts = [a * s - p for a, s, p in zip(at, self.stride, self.pad)]
        return math.prod(min(size, length + end - first)
                         for first, size, length, end in zip(firsts, self.kernel, source, self.pad_end))


class Pooling(Values):
    def pooled(self, x: Array, window: Window, ceil: bool = False) -> None:
        """Checks max, and average with and without the padding in the divisor."""
        text = window.text(("kernel", "stride", "pad")) + f"ceil = {str(ceil).lower()}\n"
        methods = {"max": 'method = "max"\n', "average": 'method = "average"\n',
                   "all": 'method = "average"\ncount_padding = true\n'}
        layers = "".join(f'[[layer]]\nname = "{name}"\ntype = "pooling"\nsrc = "x"\n{options}{text}'
                         for name, options in methods.items())
        made = self.run_job({"x": x}, layers, list(methods))
        spatial = x.shape[2:]

        def each(n: int, c: int, at: Sequence[int]) -> list[float]:
            return [x[(n, c, *place)] for place, _ in window.seen(at, spatial)]

        shape = (*x.shape[:2], *window.sizes(spatial, ceil))
        self.assert_near(made["max"], Array.of(shape, lambda n, c, *at: max(each(n, c, at))), f"max of {window}")
        expected = Array.of(shape, lambda n, c, *at: statistics.fmean(each(n, c, at)))
        self.assert_near(made["average"], expected, f"average of {window}")
        expected = Array.of(shape, lambda n, c, *at: sum(each(n, c, at)) / window.counted(at, spatial))
        self.assert_near(made["all"], expected, f"average with the padding of {window}")

    def test_over_one_axis(self) -> None:
        self.pooled(Array.drawn((3, 2, 9), 1), Window.of(3, stride=[2]))
        self.pooled(Array.drawn((3, 2, 8), 2), Window.of(4, stride=[3], pad=[2]))

    def test_over_two(self) -> None:
        self.pooled(Array.drawn((3, 2, 6, 7), 3), Window.of(3, 2, stride=[2, 1], pad=[1, 0]))
        self.pooled(Array.drawn((3, 5, 5, 5), 4), Window.of(2, 3, stride=[1, 3], pad=[1, 2]))

    def test_over_three(self) -> None:
        self.pooled(Array.drawn((2, 2, 4, 5, 3), 5), Window.of(2, 3, 2, stride=[2, 2, 1], pad=[0, 1, 1]))

    def test_rounded_up(self) -> None:
        """Rounds up as long as the last window begins inside the source or the padding before it."""
        self.pooled(Array.drawn((3, 2, 6), 6), Window.of(3, stride=[2]), ceil=True)  # 1.5 steps: three windows
        self.pooled(Array.drawn((3, 2, 5), 7), Window.of(2, stride=[3], pad=[1]), ceil=True)  # a third has no source
        self.pooled(Array.drawn((3, 2, 6, 8), 8), Window.of(3, 3, stride=[2, 3], pad=[1, 1]), ceil=True)
        self.pooled(Array.drawn((2, 2, 4, 5, 6), 9), Window.of(3, 2, 3, stride=[2, 2, 2]), ceil=True)

    def test_what_rounding_up_adds_is_not_counted(self) -> None:
        """The defined result of torch.nn.AvgPool1d(3, 2, padding=1, ceil_mode=True) for 1, 2, ..., 6, and the same
        without the padding for 1, 2, ..., 4: the last windows are (6 + 0) / 2 and (3 + 4) / 2."""
        for numbers, pad, expected in (([1, 2, 3, 4, 5, 6], 1, [1, 3, 5, 3]), ([1, 2, 3, 4], 0, [2, 3.5])):
            made = self.run_job({"x": Array((1, 1, len(numbers)), [float(number) for number in numbers])}, f"""
[[layer]]
name = "pool"
type = "pooling"
src = "x"
method = "average"
kernel = 3
stride = 2
pad = {pad}
ceil = true
count_padding = true
""", ["pool"])
            self.assert_near(made["pool"], Array((1, 1, len(expected)), expected), f"pad {pad}")

    def test_padded_otherwise_at_the_end(self) -> None:
        self.pooled(Array.drawn((3, 2, 6, 7), 10), Window.of(3, 2, stride=[2, 1], pad=[0, 1], pad_end=[2, 0]))
        self.pooled(Array.drawn((3, 2, 6, 8), 11), Window.of(3, 3, stride=[2, 3], pad=[1, 0], pad_end=[0, 1]), ceil=True)

    def test_global(self) -> None:
        for seed, spatial in enumerate(((5,), (4, 3), (2, 3, 4))):
            x = Array.drawn((3, 2, *spatial), seed)
            made = self.run_job({"x": x}, "".join(
                f'[[layer]]\nname = "{method}"\ntype = "pooling"\nsrc = "x"\nmethod = "{method}"\nglobal = true\n'
                for method in ("max", "average")), ["max", "average"])
            length = math.prod(spatial)
            channels = [x.numbers[first:first + length] for first in range(0, len(x.numbers), length)]
            shape = (3, 2, *[1] * len(spatial))
            self.assert_near(made["max"], Array(shape, list(map(max, channels))), f"max of {spatial}")
            means = Array(shape, list(map(statistics.fmean, channels)))
            self.assert_near(made["average"], means, f"average of {spatial}")


class Convolution(Values):
    def convolved(self, x: Array, filters: int, window: Window, groups: int = 1, bias: bool = True) -> None:
        spatial, channels = x.shape[2:], x.shape[1] // groups
        weight = Array.drawn((filters, channels, *window.kernel), 11)
        added = Array.drawn((filters,), 12) if bias else Array.of((filters,), lambda _: 0.0)
        layer = f'[[layer]]\nname = "y"\ntype = "convolution"\nsrc = "x"\nfrozen = true\nfilters = {filters}\n' \
                f'groups = {groups}\nbias = {str(bias).lower()}\n{window.text()}'
        made = self.run_job({"x": x}, layer, ["y"], {"y.weight": weight} | ({"y.bias": added} if bias else {}))

        def expected(n: int, f: int, *at: int) -> float:
            first = f // (filters // groups) * channels  # the first channel of the filter's group
            return added[f] + sum(x[(n, first + c, *place)] * weight[(f, c, *within)]
                                  for place, within in window.seen(at, spatial) for c in range(channels))

        shape = (x.shape[0], filters, *window.sizes(spatial))
        self.assert_near(made["y"], Array.of(shape, expected), f"{window}, {groups} groups")

    def test_over_one_axis(self) -> None:
        self.convolved(Array.drawn((3, 4, 11), 1), 6, Window.of(3, stride=[2], pad=[3], dilation=[2]), groups=2)
        self.convolved(Array.drawn((3, 2, 7), 2), 3, Window.of(4), bias=False)

    def test_over_two(self) -> None:
        self.convolved(Array.drawn((3, 3, 5, 6), 3), 4, Window.of(3, 2, pad=[1, 0]))
        self.convolved(Array.drawn((3, 4, 7, 8), 4), 6, Window.of(3, 2, stride=[2, 1], pad=[1, 2], dilation=[1, 3]),
                       groups=2)
        self.convolved(Array.drawn((3, 4, 7, 6), 5), 4, Window.of(3, 3, stride=[1, 2], pad=[2, 1], dilation=[2, 1]),
                       groups=4, bias=False)

    def test_padded_otherwise_at_the_end(self) -> None:
        """Other frameworks' "same" padding, for an even kernel or a stride with a remainder."""
        self.convolved(Array.drawn((3, 2, 5, 6), 7), 3, Window.of(2, 4, pad=[0, 1], pad_end=[1, 2]))
        self.convolved(Array.drawn((3, 2, 6, 7), 8), 3, Window.of(3, 3, stride=[2, 2], pad=[0, 1], pad_end=[1, 1]), bias=False)

    def test_over_three(self) -> None:
        window = Window.of(2, 3, 2, stride=[1, 2, 1], pad=[1, 1, 0], dilation=[2, 1, 1])
        self.convolved(Array.drawn((2, 2, 4, 5, 3), 6), 4, window, groups=2)


class Deconvolution(Values):
    def deconvolved(self, x: Array, filters: int, window: Window, groups: int = 1, bias: bool = True,
                    more: Sequence[int] = ()) -> None:
        """Each element of the source adds its kernel to the output, at the window of the reverse convolution."""
        spatial, channels, own = x.shape[2:], x.shape[1], filters // groups
        more = more or [0] * len(spatial)
        weight = Array.drawn((channels, own, *window.kernel), 21)
        added = Array.drawn((filters,), 22) if bias else Array.of((filters,), lambda _: 0.0)
        layer = f'[[layer]]\nname = "y"\ntype = "deconvolution"\nsrc = "x"\nfrozen = true\nfilters = {filters}\n' \
                f'groups = {groups}\nbias = {str(bias).lower()}\noutput_pad = {list(more)}\n{window.text()}'
        made = self.run_job({"x": x}, layer, ["y"], {"y.weight": weight} | ({"y.bias": added} if bias else {}))
        sizes = [(size - 1) * window.stride[axis] + window.reach(axis) - window.pad[axis] - window.pad_end[axis] + more[axis]
                 for axis, size in enumerate(spatial)]
        sums = {place: added[place[1]] for place in places((x.shape[0], filters, *sizes))}
        for n, c, *at in places(x.shape):
            for place, within in window.seen(at, sizes):
                for f in range(own):
                    sums[(n, c // (channels // groups) * own + f, *place)] += x[(n, c, *at)] * weight[(c, f, *within)]
        expected = Array.of((x.shape[0], filters, *sizes), lambda *place: sums[place])
        self.assert_near(made["y"], expected, f"{window}, {groups} groups, {more} more")

    def test_over_one_axis(self) -> None:
        self.deconvolved(Array.drawn((3, 2, 5), 1), 3, Window.of(3, stride=[3], dilation=[2]), bias=False, more=[2])

    def test_over_two(self) -> None:
        self.deconvolved(Array.drawn((3, 2, 4, 3), 2), 3, Window.of(3, 2, stride=[2, 1], pad=[1, 0]))
        self.deconvolved(Array.drawn((3, 2, 4, 3), 6), 3, Window.of(3, 3, stride=[2, 1], pad=[0, 1], pad_end=[1, 0]))
        self.deconvolved(Array.drawn((3, 2, 4, 3), 3), 3, Window.of(3, 2, stride=[1, 2], pad=[2, 0], dilation=[2, 3]),
                         bias=False)
        self.deconvolved(Array.drawn((3, 4, 3, 3), 4), 6, Window.of(2, 3, stride=[2, 3], pad=[0, 1], dilation=[2, 1]),
                         groups=2, more=[1, 2])

    def test_over_three(self) -> None:
        window = Window.of(2, 2, 3, stride=[2, 1, 2], pad=[0, 1, 1])
        self.deconvolved(Array.drawn((2, 2, 3, 2, 3), 5), 2, window, bias=False)


main()
