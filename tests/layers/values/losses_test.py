#!/usr/bin/env python3
"""losses_test.py DLHOST DEVICE: losses, their metrics and their gradients are those of docs/layers.md."""
import math
from collections.abc import Callable

from values import Array, Values, main

N, CLASSES = 5, 4
SCORES = Array.drawn((N, CLASSES), 1, -3, 3)
LABELS = Array((N,), [2, 0, 3, 2, 1])
TARGETS = Array.drawn((N, CLASSES), 2, 0, 1)


def softmax(scores: list[float]) -> list[float]:
    total = sum(map(math.exp, scores))
    return [math.exp(x) / total for x in scores]


def spread(label: int, smoothing: float, classes: int = CLASSES) -> list[float]:
    """The target of the cross-entropy: the label, with `smoothing` spread over all classes."""
    return [(1 - smoothing) * (c == label) + smoothing / classes for c in range(classes)]


def cross_entropy(scores: list[float], targets: list[float]) -> float:
    return -sum(t * math.log(p) for t, p in zip(targets, softmax(scores)))


def rows(array: Array) -> list[list[float]]:
    width = len(array.numbers) // array.shape[0]
    return [array.numbers[n * width:(n + 1) * width] for n in range(array.shape[0])]


class Metrics(Values):
    def metrics(self, arrays: dict[str, Array], losses: dict[str, str]) -> dict[str, float]:
        """The metric of each loss, by its name, over all samples."""
        self.run_job(arrays, "".join(f'[[layer]]\nname = "{name}"\n{options}\n' for name, options in losses.items()))
        return self.summary["test"]

    def test_hinge(self) -> None:
        def expected(norm: int, margin: float) -> float:
            return sum(max(0, margin - (1 if c == LABELS[n] else -1) * SCORES[n, c])**norm
                       for n in range(N) for c in range(CLASSES)) / N

        hinge = 'type = "hinge_loss"\nsrc = ["x", "label"]\n'
        found = self.metrics({"x": SCORES, "label": LABELS}, {
            "plain": hinge, "wide": hinge + "margin = 2.5", "squared": hinge + 'norm = "L2"',
            "both": hinge + 'norm = "L2"\nmargin = 0.75', "weighted": hinge + "weight = 3"})
        self.assert_close(found["plain"], expected(1, 1), "hinge loss")
        self.assert_close(found["wide"], expected(1, 2.5), "margin 2.5")
        self.assert_close(found["squared"], expected(2, 1), "squared")
        self.assert_close(found["both"], expected(2, 0.75), "squared, margin 0.75")
        self.assert_close(found["weighted"], expected(1, 1), "the metric is that before the weight")

    def test_sigmoid(self) -> None:
        def of(x: float, t: float) -> float:
            p = 1 / (1 + math.exp(-x))
            return -t * math.log(p) - (1 - t) * math.log(1 - p)

        found = self.metrics({"x": SCORES, "target": TARGETS}, {"loss": 'type = "sigmoid_loss"\nsrc = ["x", "target"]'})
        self.assert_close(found["loss"], sum(map(of, SCORES.numbers, TARGETS.numbers)) / N, "sigmoid loss")

    def test_sigmoid_far_out(self) -> None:
        """Beyond the range of exp, and at a probability of 1 in f32, the loss is the distance."""
        x, targets = Array((2, 2), [200.0, -150.0, 120.0, -90.0]), Array((2, 2), [0.0, 1.0, 1.0, 0.0])
        found = self.metrics({"x": x, "target": targets}, {"loss": 'type = "sigmoid_loss"\nsrc = ["x", "target"]'})
        self.assert_close(found["loss"], (200 + 150) / 2, "sigmoid loss")

    def test_euclidean(self) -> None:
        x, targets = Array.drawn((N, 2, 3), 3), Array.drawn((N, 2, 3), 4)
        found = self.metrics({"x": x, "target": targets}, {"loss": 'type = "euclidean_loss"\nsrc = ["x", "target"]'})
        expected = sum((a - b)**2 for a, b in zip(x.numbers, targets.numbers)) / 2 / N
        self.assert_close(found["loss"], expected, "euclidean loss")

    def test_kullback_leibler(self) -> None:
        x = Array(SCORES.shape, [math.log(p) for row in rows(SCORES) for p in softmax(row)])
        targets = Array(SCORES.shape, [t / sum(row) for row in rows(TARGETS) for t in row])
        targets.numbers[:4] = [0.0, 0.25, 0.75, 0.0]
        found = self.metrics({"x": x, "target": targets}, {"loss": 'type = "kl_loss"\nsrc = ["x", "target"]'})
        expected = sum(t * (math.log(t) - a) for a, t in zip(x.numbers, targets.numbers) if t > 0) / N
        self.assert_close(found["loss"], expected, "Kullback-Leibler divergence")

    def test_softmax(self) -> None:
        weights = [0.5, 3.0, 1.25, 2.0]
        loss = 'type = "softmax_loss"\nsrc = ["x", "label"]\n'
        found = self.metrics({"x": SCORES, "label": LABELS}, {
            "plain": loss, "smooth": loss + "smoothing = 0.3", "weighted": loss + f"class_weights = {weights}",
            "both": loss + f"smoothing = 0.3\nclass_weights = {weights}", "ignored": loss + "ignored = 2",
            "all": loss + f"smoothing = 0.3\nclass_weights = {weights}\nignore_label = 3\nweight = 4"})
        for name, smoothing, factors, ignored in (
                ("plain", 0, [1] * CLASSES, -1), ("smooth", 0.3, [1] * CLASSES, -1), ("weighted", 0, weights, -1),
                ("both", 0.3, weights, -1), ("ignored", 0, [1] * CLASSES, 2), ("all", 0.3, weights, 3)):
            counted = [(row, label) for row, label in zip(rows(SCORES), LABELS.numbers) if label != ignored]
            total = sum(factors[label] * cross_entropy(row, spread(label, smoothing)) for row, label in counted)
            self.assert_close(found[name], total / sum(factors[label] for _, label in counted), name)

    def test_softmax_leaves_minus_one_out(self) -> None:
        labels = Array((N,), [2, -1, 3, -1, 1])
        found = self.metrics({"x": SCORES, "label": labels}, {"loss": 'type = "softmax_loss"\nsrc = ["x", "label"]'})
        counted = [(row, label) for row, label in zip(rows(SCORES), labels.numbers) if label >= 0]
        losses = [cross_entropy(row, spread(label, 0)) for row, label in counted]
        self.assert_close(found["loss"], sum(losses) / 3, "three labels count")

    def test_softmax_of_places(self) -> None:
        """Each place has a label, and the metric is the mean over all places that count."""
        scores = Array.drawn((3, CLASSES, 2, 2), 5, -3, 3)
        labels = Array((3, 2, 2), [0, 1, 2, 3, 2, 2, 1, 0, 3, 1, 0, 2])
        loss = 'type = "softmax_loss"\nsrc = ["x", "label"]\nignore_label = 1\n'
        made = self.run_job({"x": scores, "label": labels}, f'[[layer]]\nname = "loss"\n{loss}', ["loss:probabilities"])
        losses, probabilities = [], {}
        for n, i, j in ((n, i, j) for n in range(3) for i in range(2) for j in range(2)):
            row = [scores[n, c, i, j] for c in range(CLASSES)]
            probabilities[n, i, j] = softmax(row)
            if labels[n, i, j] != 1:
                losses.append(cross_entropy(row, spread(labels[n, i, j], 0)))
        self.assertEqual(len(losses), 9)
        self.assert_close(self.summary["test"]["loss"], sum(losses) / 9, "loss of places")
        expected = Array.of(scores.shape, lambda n, c, i, j: probabilities[n, i, j][c])
        self.assert_near(made["loss:probabilities"], expected, "probabilities")


class Gradients(Values):
    """By contract the gradient is that of weight / batch x (sum of the losses). Sample n of x is 1 at n and 0
    elsewhere. So a dense layer's weight is the scores, [score, sample], and a step of rate 1 subtracts the gradient."""

    def gradients(self, shape: tuple[int, ...], losses: dict[str, str], others: dict[str, Array]) -> None:
        """Draws scores into self.scores and puts their gradients into self.found, both by the loss's name."""
        n, units = shape[0], math.prod(shape[1:])
        scores = {name: Array.drawn(shape, seed, -3, 3) for seed, name in enumerate(losses)}
        layers, params = "", {}
        for name, options in losses.items():
            layers += f'[[layer]]\nname = "{name}_fc"\ntype = "dense"\nsrc = "x"\nunits = {units}\nbias = false\n'
            layers += f'[[layer]]\nname = "{name}_scores"\ntype = "reshape"\nsrc = "{name}_fc"\n' \
                      f'shape = {list(shape[1:])}\n'
            layers += f'[[layer]]\nname = "{name}"\n{options.replace("SCORES", f"{name}_scores")}\n'
            own = rows(scores[name])
            params[f"{name}_fc.weight"] = Array.of((units, n), lambda unit, sample: own[sample][unit])
        x = Array.of((n, n), lambda i, j: float(i == j))
        self.run_job({"x": x} | others, layers, params=params, batch=n, rate=1)
        left = self.params()
        self.scores = scores
        self.found = {}
        for name in losses:
            before, after = params[f"{name}_fc.weight"], left[f"{name}_fc.weight"]
            self.found[name] = Array(shape, [before[unit, sample] - after[unit, sample]
                                             for sample in range(n) for unit in range(units)])

    def test_of_elements(self) -> None:
        self.gradients((N, CLASSES), {
            "sigmoid": 'type = "sigmoid_loss"\nsrc = ["SCORES", "target"]',
            "euclidean": 'type = "euclidean_loss"\nsrc = ["SCORES", "target"]\nweight = 0.5',
            "kl": 'type = "kl_loss"\nsrc = ["SCORES", "target"]\nweight = 2',
            "hinge": 'type = "hinge_loss"\nsrc = ["SCORES", "label"]\nmargin = 1.5',
            "squared": 'type = "hinge_loss"\nsrc = ["SCORES", "label"]\nnorm = "L2"',
        }, {"target": TARGETS, "label": LABELS})

        def sign(n: int, c: int) -> int:
            return 1 if c == LABELS[n] else -1

        def check(name: str, gradient: Callable[[int, int, float], float]) -> None:
            expected = Array.of((N, CLASSES), lambda n, c: gradient(n, c, self.scores[name][n, c]) / N)
            self.assert_near(self.found[name], expected, name)

        check("sigmoid", lambda n, c, x: 1 / (1 + math.exp(-x)) - TARGETS[n, c])
        check("euclidean", lambda n, c, x: 0.5 * (x - TARGETS[n, c]))
        check("kl", lambda n, c, x: -2 * TARGETS[n, c])
        check("hinge", lambda n, c, x: -sign(n, c) * (1.5 - sign(n, c) * x > 0))
        check("squared", lambda n, c, x: -2 * sign(n, c) * max(0, 1 - sign(n, c) * x))

    def test_of_softmax(self) -> None:
        """Ignored labels have no gradient, and the divisor stays the batch."""
        weights = [0.5, 3.0, 1.25, 2.0]
        self.gradients((N, CLASSES), {
            "plain": 'type = "softmax_loss"\nsrc = ["SCORES", "label"]',
            "all": 'type = "softmax_loss"\nsrc = ["SCORES", "label"]\nsmoothing = 0.2\nignore_label = 2\nweight = 3\n'
                   f'class_weights = {weights}',
        }, {"label": LABELS})
        for name, smoothing, factors, ignored, weight in (("plain", 0, [1] * CLASSES, -1, 1),
                                                          ("all", 0.2, weights, 2, 3)):
            expected = []
            for row, label in zip(rows(self.scores[name]), LABELS.numbers):
                factor = 0 if label == ignored else weight * factors[label] / N
                expected += [factor * (p - t) for p, t in zip(softmax(row), spread(label, smoothing))]
            self.assert_near(self.found[name], Array((N, CLASSES), expected), name)

    def test_of_softmax_of_places(self) -> None:
        """Divides by the number of places, ignored ones included; or by the counted labels, or their weights."""
        labels = Array((3, 2), [0, 1, 3, 3, 2, 1])
        weights = [0.5, 3.0, 1.25, 2.0]
        loss = 'type = "softmax_loss"\nsrc = ["SCORES", "label"]\nignore_label = 3\n'
        by_valid = loss + 'normalize = "valid"\nweight = 2\n'
        self.gradients((3, CLASSES, 2), {"loss": loss, "valid": by_valid, "weighted": by_valid + f"class_weights = {weights}",
                                         "none": by_valid.replace('"label"]', '"nowhere"]')},
                       {"label": labels, "nowhere": Array((3, 2), [3] * 6)})

        def check(name: str, factor: Callable[[int], float]) -> None:
            scores = self.scores[name]

            def expected(n: int, c: int, place: int) -> float:
                label = labels[n, place]
                if label == 3 or name == "none":
                    return 0
                return factor(label) * (softmax([scores[n, k, place] for k in range(CLASSES)])[c] - (c == label))

            self.assert_near(self.found[name], Array.of(scores.shape, expected), f"gradient of places, {name}")

        check("loss", lambda label: 1 / 3 / 2)
        check("valid", lambda label: 2 / 4)
        check("weighted", lambda label: 2 * weights[label] / sum(weights[of] for of in (0, 1, 2, 1)))
        check("none", lambda label: 0)


main()
