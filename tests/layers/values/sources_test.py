#!/usr/bin/env python3
"""sources_test.py DLHOST DEVICE HAS_PNG: sources read files by their options as docs/data.md and `dlhost inspect` say.
The tests look through the layers that read the sources."""
import csv
import json
import pathlib
import struct
import subprocess
import sys
import unittest
import zlib

from values import Array, Values, main, read_npy, write_npy

HAS_PNG = sys.argv.pop(3) == "yes"
Colour = tuple[int, int, int]


class Sources(Values):
    def train(self, source: str) -> None:
        """Runs a job that predicts classes."""
        self.run_text(f'name = "source"\n[train]\ndevice = "{self.device}"\nthreads = 1\nbatch = 2\nlast_batch = "wrap"\n'
                      f'stop = {{ steps = 1 }}\n[record]\ntensorboard = false\n[[layer]]\nname = "data"\n{source}\n'
                      '[[layer]]\nname = "out"\ntype = "dense"\nsrc = "data"\nunits = 3\n'
                      '[[layer]]\nname = "loss"\ntype = "softmax_loss"\nsrc = ["out", "data:label"]\n')

    def predicted(self, *words: str) -> list[dict[str, str]]:
        self.call("predict", str(self.run_folder), *words, "-o", "predicted.csv")
        with (self.root / "predicted.csv").open() as file:
            return list(csv.DictReader(file))

    def read(self, source: str, label: bool = True) -> tuple[Array, Array]:
        """Returns the test samples of a source, and their labels."""
        outputs = {"data.npy": "data"} | ({"label.npy": "data:label"} if label else {})
        job = f'name = "source"\n[train]\ndevice = "{self.device}"\nthreads = 1\nbatch = 2\nlast_batch = "wrap"\n' \
              f'stop = {{ steps = 1 }}\n[record]\ntensorboard = false\n[[layer]]\nname = "data"\n{source}\n' \
              '[[layer]]\nname = "loss"\ntype = "euclidean_loss"\nsrc = ["data", "data"]\n'
        for file, output in outputs.items():
            job += f'[[layer]]\nname = "{file[:-4]}_rows"\ntype = "npy_output"\nsrc = "{output}"\nfile = "{file}"\n'
        self.run_text(job)
        return read_npy(self.root / "data.npy"), read_npy(self.root / "label.npy") if label else Array((0,), [])


class Csv(Sources):
    def rows(self, text: str, options: str, label: bool = True) -> tuple[Array, Array]:
        (self.root / "rows.csv").write_text(text)
        return self.read(f'type = "csv"\ntrain = "rows.csv"\ntest = "rows.csv"\n{options}', label)

    def found(self, text: str, options: str, numbers: list[float], labels: list[float],
              shape: tuple[int, ...] = (3, 2)) -> None:
        data, label = self.rows(text, options)
        self.assert_near(data, Array(shape, numbers), options)
        self.assert_near(label, Array((len(labels),), labels), options)

    def test_label_column(self) -> None:
        """label_column counts from 0, or back from the end; the other columns are the values, in order."""
        text = "1,2,0.5\n3,0,0.25\n5,1,-4\n"
        self.found(text, "label_column = 0", [2, 0.5, 0, 0.25, 1, -4], [1, 3, 5])
        self.found(text, "label_column = 1", [1, 0.5, 3, 0.25, 5, -4], [2, 0, 1])
        self.found(text, "label_column = -2", [1, 0.5, 3, 0.25, 5, -4], [2, 0, 1])
        self.found("0.5,1,2\n0.25,3,0\n-4,5,1\n", "", [0.5, 1, 0.25, 3, -4, 5], [2, 0, 1])

    def test_classes(self) -> None:
        """Words are numbered in the order of the option, not of the file."""
        text = "1,cat,2\n3,dog,4\n5,ant,6\n"
        self.found(text, 'label_column = 1\nclasses = ["dog", "cat", "ant"]', [1, 2, 3, 4, 5, 6], [1, 0, 2])

    def test_what_a_label_is(self) -> None:
        text = "1.5,2,0.5\n2.5,0,0.25\n-3.5,1,-4\n"
        self.found(text, 'label = "value"\nlabel_column = 0', [2, 0.5, 0, 0.25, 1, -4], [1.5, 2.5, -3.5])
        data, _ = self.rows(text, 'label = "none"', label=False)
        self.assert_near(data, Array((3, 3), [1.5, 2, 0.5, 2.5, 0, 0.25, -3.5, 1, -4]), "no label")

    def test_delimiter_and_header(self) -> None:
        for name, sign in (("tab", "\t"), (";", ";"), ("|", "|")):
            text = "first,second,class\n1,2,0\n-3.5,4,2\n5,6e-1,1\n".replace(",", sign)
            self.found(text, f'delimiter = "{name}"\nheader = true', [1, 2, -3.5, 4, 5, 0.6], [0, 2, 1])
        self.found("1 2 0\n3 4 2\n5 6 1\n", 'delimiter = " "', [1, 2, 3, 4, 5, 6], [0, 2, 1])

    def test_shape_mean_and_scale(self) -> None:
        """(x - mean) * scale; labels stay as they are."""
        self.found("1,2,3,4,7\n5,6,7,8,9\n", "shape = [2, 2]\nmean = 1.5\nscale = 0.5",
                   [(x - 1.5) * 0.5 for x in range(1, 9)], [7, 9], (2, 2, 2))


class Npy(Sources):
    def test_mean_and_scale(self) -> None:
        x = Array((3, 4), list(range(0, 120, 10)))
        write_npy(self.root / "x.npy", x)
        write_npy(self.root / "y.npy", Array((3,), [2, 0, 1]))
        files = '["x.npy", "y.npy"]'
        data, label = self.read(f'type = "npy"\ntrain = {files}\ntest = {files}\nmean = 20\nscale = 0.25')
        self.assert_near(data, Array(x.shape, [(number - 20) * 0.25 for number in x.numbers]), "mean and scale")
        self.assertEqual(label.numbers, [2, 0, 1])

    def test_samples_without_labels(self) -> None:
        """Predictions equal those for samples with labels, also without the training files."""
        write_npy(self.root / "x.npy", Array((3, 4), list(range(12))))
        write_npy(self.root / "y.npy", Array((3,), [2, 0, 1]))
        files = '["x.npy", "y.npy"]'
        self.train(f'type = "npy"\ntrain = {files}\ntest = {files}')
        expected = self.predicted()
        self.assertEqual([row["sample"] for row in expected], ["0", "1", "2"])
        self.assertEqual(self.predicted("--data", "x.npy"), expected)
        (self.root / "x.npy").rename(self.root / "other.npy")
        (self.root / "y.npy").unlink()
        self.assertEqual(self.predicted("--data", "other.npy"), expected)


def write_png(path: pathlib.Path, rows: list[list[Colour]] | list[list[int]]) -> None:
    """Writes a colour picture, or a grey one if pixels are single numbers."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    grey = isinstance(rows[0][0], int)
    lines = b"".join(b"\0" + bytes(row if grey else [part for pixel in row for part in pixel]) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0 if grey else 2, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) +
                     chunk(b"IEND", b""))


@unittest.skipUnless(HAS_PNG, "this build reads no PNG")
class Images(Sources):
    RED, GREEN, BLUE = (200, 10, 20), (30, 220, 40), (50, 60, 240)

    def pictures(self, options: str, train: str = "pictures") -> tuple[Array, Array]:
        return self.read(f'type = "images"\ntrain = "{train}"\ntest = "{train}"\n{options}')

    def test_classes_and_the_order_of_channels(self) -> None:
        """Folders are classes, in the order of their names; a sample is red, green, blue, each by rows."""
        picture = [[(10 * y + x, 100 + 10 * y + x, 200 + 10 * y + x) for x in range(3)] for y in range(2)]
        write_png(self.root / "pictures/b_second/one.png", picture)
        write_png(self.root / "pictures/a_first/two.png", [[(1, 2, 3)] * 3] * 2)
        data, label = self.pictures("size = [2, 3]")
        self.assertEqual(label.numbers, [0, 1])
        self.assertEqual(data.shape, (2, 3, 2, 3))
        self.assertEqual(data.numbers[:18], [1] * 6 + [2] * 6 + [3] * 6)
        self.assertEqual(data.numbers[18:], [picture[y][x][c] for c in range(3) for y in range(2) for x in range(3)])

    def test_pictures_without_labels(self) -> None:
        """Predicts files, folders, and paths from standard input; classes have their names of training."""
        for name, colour in (("ant", self.RED), ("bee", self.GREEN), ("cow", self.BLUE)):
            write_png(self.root / f"pictures/{name}/one.png", [[colour] * 2] * 2)
        self.train('type = "images"\ntrain = "pictures"\ntest = "pictures"\nsize = [2]')
        expected = self.predicted()
        files = [str(self.root / f"pictures/{name}/one.png") for name in ("ant", "bee", "cow")]
        self.assertEqual([row["sample"] for row in expected], files)
        self.assertEqual(list(expected[0]), ["sample", "class", "ant", "bee", "cow"])
        self.assertTrue(all(row["class"] == max(("ant", "bee", "cow"), key=lambda name: float(row[name])) for row in expected))
        self.assertEqual(self.predicted("--data", "pictures"), expected)
        self.assertEqual(self.predicted("--data", "pictures/cow/one.png", "pictures/ant"), expected[2::-2])
        words = [self.dlhost, "predict", str(self.run_folder), "--data", "-", "-o", "piped.csv"]
        piped = subprocess.run(words, cwd=self.root, input="pictures/bee/one.png\n", capture_output=True, text=True, timeout=60)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.assertIn(",".join(expected[1].values()), (self.root / "piped.csv").read_text())
        (self.root / "empty").mkdir()
        for missing, said in (("none.png", "no picture or folder has this name"), ("empty", "has no pictures")):
            self.assertIn(said, self.call("predict", str(self.run_folder), "--data", missing, "-o", "no.csv", code=1))

    def test_a_list(self) -> None:
        for name, colour in (("red", self.RED), ("blue", self.BLUE)):
            write_png(self.root / f"lists/{name}.png", [[colour] * 2] * 2)
        (self.root / "lists/all.txt").write_text("red.png 4\nblue.png 1\nred.png 0\n")
        data, label = self.pictures("size = [2]", "lists/all.txt")
        self.assertEqual(label.numbers, [4, 1, 0])
        corners = [tuple(data[n, c, 1, 1] for c in range(3)) for n in range(3)]
        self.assertEqual(corners, [self.RED, self.BLUE, self.RED])

    def test_broken_pictures(self) -> None:
        """The next picture takes a broken one's place, for any number of readers and workers, and in a resumed run."""
        for name, colour in (("ant", self.RED), ("bee", self.GREEN), ("cow", self.BLUE)):
            for number in range(3):
                shade = [[tuple(part // (number + 1) for part in colour)] * 2] * 2
                write_png(self.root / f"pictures/{name}/{number}.png", shade)
        for broken in ("ant/2", "cow/0"):
            (self.root / f"pictures/{broken}.png").write_bytes(b"no picture")
        source = 'type = "images"\ntrain = "pictures"\nsize = [2]\nbroken_limit = 0.25\n'
        job = f'name = "broken"\n[train]\ndevice = "{self.device}"\nthreads = 1\nbatch = 4\nlast_batch = "wrap"\n' \
              'stop = { steps = 12 }\n[record]\ntensorboard = false\nfolder = "runs"\n' \
              '[updater]\nmomentum = 0.9\nrate = 1e-5\n[[layer]]\nname = "data"\n' + source + \
              '[[layer]]\nname = "out"\ntype = "dense"\nsrc = "data"\nunits = 3\n' \
              '[[layer]]\nname = "loss"\ntype = "softmax_loss"\nsrc = ["out", "data:label"]\n'
        (self.root / "job.toml").write_text(job)
        self.assertRegex(self.call("run", "job.toml", code=1), r"pictures/(ant/2|cow/0)\.png: is not a picture")
        skip = "--set=layer.data.broken=skip"

        def losses(*words: str) -> list[float]:
            """The loss of each step, including the steps before a resumption."""
            before = set((self.root / "runs").glob("*"))
            self.call("run", *words)
            folder = next(iter(set((self.root / "runs").iterdir()) - before), None) or self.run_folder
            self.run_folder = folder
            rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
            return [row["metrics"]["loss"] for row in rows if row.get("phase") == "train"]

        every = "--set=record.every={ steps = 1 }"
        whole = losses("job.toml", skip, every)
        self.assertEqual(len(whole), 12)
        self.assertEqual(losses("job.toml", skip, every, "--set=train.readers=3"), whole)
        for one, other in zip(losses("job.toml", skip, every, "--set=topology.workers_per_group=2"), whole):
            self.assert_close(one, other, "two workers")
        losses("job.toml", skip, every, "--set=train.stop.steps=5")
        self.assertEqual(losses("--resume", str(self.run_folder), "--set=train.stop.steps=12"), whole)
        said = self.call("run", "job.toml", skip, "--set=layer.data.broken_limit=0.2", code=1)
        self.assertRegex(said, r"source 'data'.*: 2 of 9 pictures cannot be read so far, more than broken_limit = 0\.2")
        self.assertIn("warning: source 'data': the next picture takes the place of one that cannot be read: ", said)

    def test_fit(self) -> None:
        """The bars are red, green, green, red, two columns each: `crop` shows the green middle, `stretch` all."""
        picture = [[self.RED] * 2 + [self.GREEN] * 4 + [self.RED] * 2] * 4
        write_png(self.root / "pictures/a/wide.png", picture)
        write_png(self.root / "pictures/b/high.png", [list(row) for row in zip(*picture)])
        green = [part for part in self.GREEN for _ in range(16)]
        for options in ("", 'fit = "crop"\n'):
            data, _ = self.pictures(options + "size = [4]")
            self.assertEqual(data.numbers, green * 2, options)
        data, _ = self.pictures('fit = "crop"\nsize = [2]')  # half the picture's size
        self.assertEqual(data.numbers, [part for part in self.GREEN for _ in range(4)] * 2)
        data, _ = self.pictures('fit = "stretch"\nsize = [4]')
        for c in range(3):
            across = [[data[0, c, y, x] for x in range(4)] for y in range(4)]
            self.assertEqual(across, [across[0]] * 4, "the rows of the wide picture are alike")
            down = [[data[1, c, y, x] for y in range(4)] for x in range(4)]
            self.assertEqual(across, down, "the high picture is the wide one, turned")
            ends, middle = across[0][::3], across[0][1:3]
            for found, colour, other in ((ends, self.RED, self.GREEN), (middle, self.GREEN, self.RED)):
                self.assertEqual(found[0], found[1], "left is as right")
                self.assertLess(abs(found[0] - colour[c]), abs(found[0] - other[c]), "mostly its own colour")

    def test_crop_takes_the_middle(self) -> None:
        """Without resizing, the pixels are exact."""
        write_png(self.root / "pictures/a/grey.png", [[10 * y + x for x in range(7)] for y in range(3)])
        data, _ = self.pictures("size = [3]\nchannels = 1")
        self.assertEqual(data.shape, (1, 1, 3, 3))
        self.assertEqual(data.numbers, [10 * y + x for y in range(3) for x in range(2, 5)])

    def test_channels(self) -> None:
        write_png(self.root / "pictures/a/grey.png", [[17, 170], [200, 3]])
        write_png(self.root / "pictures/b/no_colour.png", [[(17,) * 3, (170,) * 3], [(200,) * 3, (3,) * 3]])
        data, _ = self.pictures("size = [2]")
        self.assertEqual(data.numbers, [17, 170, 200, 3] * 6, "a grey picture in colour has three equal channels")
        data, _ = self.pictures("size = [2]\nchannels = 1")
        self.assertEqual((data.shape, data.numbers[:4]), ((2, 1, 2, 2), [17, 170, 200, 3]))
        for found, expected in zip(data.numbers[4:], [17, 170, 200, 3]):
            self.assertLessEqual(abs(found - expected), 1, "a grey made of three equal parts is that part")
        for name, colour in (("a", (255, 0, 0)), ("b", (0, 255, 0)), ("c", (0, 0, 255))):
            write_png(self.root / f"colours/{name}/one.png", [[colour] * 2] * 2)
        data, _ = self.pictures("size = [2]\nchannels = 1", "colours")
        red, green, blue = data.numbers[::4]
        for found, expected in ((red, 0.299), (green, 0.587), (blue, 0.114)):
            self.assertLessEqual(abs(found - 255 * expected), 1, "as JPEG weighs colours")


main()
