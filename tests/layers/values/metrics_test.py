#!/usr/bin/env python3
"""metrics_test.py DLHOST DEVICE: accuracy and confusion count as docs/layers.md says, without ignored labels."""
from values import Array, Values, main

SCORES = Array((7, 4), [
    0.5, 0.25, 0.0, -1.0,  # the order of the classes: 0 1 2 3
    -1.0, 0.0, 0.25, 0.5,  # 3 2 1 0
    0.0, 2.0, 1.0, -1.0,  # 1 2 0 3
    3.0, -2.0, 1.0, 2.0,  # 0 3 2 1
    0.0, 1.0, 3.0, 2.0,  # 2 3 1 0
    -3.0, -1.0, -2.0, -4.0,  # 1 2 0 3
    0.0, 0.0, 0.0, 5.0])  # 3, then three equal scores
LABELS = Array((7,), [0, 2, 0, 1, 1, 2, 1])
ORDERS = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 2, 0, 3], [0, 3, 2, 1], [2, 3, 1, 0], [1, 2, 0, 3], [3, 0, 1, 2]]


def metric(name: str, kind: str, options: str = "") -> str:
    return f'[[layer]]\nname = "{name}"\ntype = "{kind}"\nsrc = ["x", "label"]\n{options}\n'


class Metrics(Values):
    def test_accuracy(self) -> None:
        """Among equal scores the lower class goes first."""
        layers = "".join(metric(f"top{top}", "accuracy", f"top = {top}") for top in (1, 2, 3, 4))
        layers += "".join(metric(f"left_out{top}", "accuracy", f"top = {top}\nignore_label = 1") for top in (1, 2, 3))
        self.run_job({"x": SCORES, "label": LABELS}, layers)
        ranks = [order.index(label) for order, label in zip(ORDERS, LABELS.numbers)]
        for top in (1, 2, 3, 4):
            self.assert_close(self.summary["test"][f"top{top}"], sum(rank < top for rank in ranks) / 7, f"top {top}")
        kept = [rank for rank, label in zip(ranks, LABELS.numbers) if label != 1]
        for top in (1, 2, 3):
            found = self.summary["test"][f"left_out{top}"]
            self.assert_close(found, sum(rank < top for rank in kept) / 4, f"top {top}, ignore_label = 1")

    def test_confusion(self) -> None:
        layers = metric("all", "confusion") + metric("some", "confusion", "ignored = 1")
        self.run_job({"x": SCORES, "label": LABELS}, layers)
        guesses = [(label, order[0]) for label, order in zip(LABELS.numbers, ORDERS)]
        counts = [[guesses.count((row, column)) for column in range(4)] for row in range(4)]
        self.assertEqual(self.summary["test"]["all"], counts)
        self.assertEqual(self.summary["test"]["some"], [counts[0], [0] * 4, counts[2], counts[3]])

    def test_minus_one_is_ignored_by_default(self) -> None:
        labels = Array((7,), [0, -1, 0, 0, -1, 1, 3])
        self.run_job({"x": SCORES, "label": labels}, metric("accuracy", "accuracy") + metric("table", "confusion"))
        self.assert_close(self.summary["test"]["accuracy"], 4 / 5, "accuracy")
        self.assertEqual(self.summary["test"]["table"], [[2, 1, 0, 0], [0, 1, 0, 0], [0] * 4, [0, 0, 0, 1]])

    def test_of_places(self) -> None:
        """Scores [n, classes, places] have a label for each place."""
        x = Array.of((3, 4, 2), lambda n, c, place: SCORES[2 * n + place, c])
        labels = Array.of((3, 2), lambda n, place: LABELS[2 * n + place])
        layers = metric("top3", "accuracy", "top = 3\nignore_label = 2") + metric("table", "confusion", "ignored = 2")
        self.run_job({"x": x, "label": labels}, layers)
        counted = [(label, order) for label, order in zip(LABELS.numbers[:6], ORDERS) if label != 2]
        expected = sum(label in order[:3] for label, order in counted) / len(counted)
        self.assert_close(self.summary["test"]["top3"], expected, "top 3")
        guesses = [(label, order[0]) for label, order in counted]
        expected = [[guesses.count((row, column)) for column in range(4)] for row in range(4)]
        self.assertEqual(self.summary["test"]["table"], expected)


main()
