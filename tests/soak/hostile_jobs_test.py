#!/usr/bin/env python3
"""hostile_jobs_test.py DLHOST: jobs with a wrong structure (too deep, doubling, of special files, of junk names, of
values out of range), drawn from a seed (hostile.py). `dlhost check` accepts or refuses each: it does not crash, does
not hang, and its message names a file."""
import os
import pathlib
import random
import re
import socket
import sys
import unittest

from hostile import SECONDS, Hostile, run, up_to

dlhost = os.path.realpath(sys.argv.pop(1))

SOURCE = '[[layer]]\nname = "data"\ntype = "csv"\ntrain = "data.csv"\n'
NET = '[[layer]]\nname = "fc"\ntype = "dense"\nsrc = "data"\nunits = 2\n[[layer]]\nname = "loss"\ntype = "softmax_loss"\nsrc = ["fc", "data:label"]\n'
JOB = f'name = "x"\n[train]\nbatch = 2\ndevice = "ref"\nstop = {{ steps = 1 }}\n[updater]\ntype = "sgd"\nrate = 0.1\n[topology]\nrun_as = "threads"\n{SOURCE}{NET}'
# Keys of every kind of option.
KEYS = ("seed", "train.batch", "train.readers", "train.prefetch", "train.threads", "train.hang_limit", "train.stop.steps",
        "train.stop.epochs", "train.last_batch", "train.device", "train.algorithm", "train.init_from", "updater.type", "updater.rate",
        "updater.momentum", "updater.clip_norm", "topology.worker_groups", "topology.workers_per_group",
        "topology.server_groups", "topology.servers_per_group", "topology.machines", "topology.slice_elements",
        "topology.exchange_memory", "topology.batch_shares", "topology.consistency", "topology.codec", "topology.sync",
        "topology.transport",
        "topology.network", "topology.rendezvous", "topology.device", "topology.framework", "checkpoint.folder",
        "checkpoint.every", "checkpoint.keep", "recovery.timeout", "record.folder", "record.every", "validate.every",
        "test.batch", "layer.fc.units", "layer.fc.src", "layer.fc.type", "layer.fc.param.weight.init", "layer.data.train",
        "layer.data.test_every", "layer.data.augment", "layer.data.folder", "layer.loss.phases", "layer.loss.dtype")
NUMBERS = ("-1", "0", "1", "2147483648", "4294967296", "9223372036854775807", "-9223372036854775808", "1e308", "-1e-320", "nan", "inf", "0.5")

Case = list[str]  # the command line after the job


def write(folder: pathlib.Path, text: str, name: str = "job.toml") -> Case:
    (folder / name).write_bytes(text.encode(errors="surrogatepass"))
    return []


def junk(draw: random.Random, most: int = 300) -> str:
    """A text that a job can hold, but no user would write."""
    letters = draw.choice(("a", "./", "a.", " \t", "é日\U0001f600", "$@{}", "'", "\x01\x1b[31m\x7f", "%s%n", "\x00", "-+=", "\u2028\ufeff"))
    text = "".join(draw.choice(letters) for _ in range(up_to(draw, most)))
    return "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or c in '\x7f"\\' else c for c in text)


def deep(draw: random.Random, folder: pathlib.Path) -> Case:
    levels = up_to(draw, 200_000)
    key = ".".join(["a"] * levels)
    value = draw.choice(("[" * levels + "]" * levels, "{a=" * levels + "1" + "}" * levels, "[{a=" * levels, "1"))
    how = draw.randrange(5)
    if how == 0:
        return write(folder, f"{JOB}[{key}]\n") or ["--set", f"{key[:60_000]}=1"][: 2 * draw.randrange(2)]
    if how == 1:
        return write(folder, f"{key} = {value}\n{JOB}")
    if how == 2:
        return write(folder, JOB + "".join(f"[[{'.'.join(['a'] * i)}]]\n" for i in range(1, min(levels, 400) + 1)))
    write(folder, JOB)
    return ["--set", f"{draw.choice(KEYS)}={value[:100_000]}"] if how == 3 else ["--set", f"train.{key[:60_000]}=1"]


def includes(draw: random.Random, folder: pathlib.Path) -> Case:
    files, copies = up_to(draw, 2000), draw.choice((1, 1, 2, 3))
    for i in range(files):
        following = f'"{i + 1}.toml"' if draw.random() < 0.99 else '"job.toml"'
        write(folder, f"include = [{', '.join([following] * copies)}]\n", f"{i}.toml")
    write(folder, JOB, f"{files}.toml")
    return write(folder, 'include = "0.toml"\n')


def blocks(draw: random.Random, folder: pathlib.Path) -> Case:
    depth, copies = up_to(draw, 5000), draw.choice((1, 1, 2, 3))
    given = draw.choice(('with = { p = "$p$p" }', 'with = { p = ["$p", "$p"] }', "with = { p = 1 }", 'with = { p = "($p) + ($p)" }'))
    src = draw.choice(("", 'src = ["@in", "@in"]\n', 'src = "@in.1"\n'))
    text = JOB
    for b in range(depth):
        uses = "".join(f'[[block.layer]]\nname = "l{u}"\nblock = "b{b + 1}"\n{given}\n{src}' for u in range(copies))
        text += f'[[block]]\nname = "b{b}"\nparams = ["p"]\n{uses}'
    text += f'[[block]]\nname = "b{depth}"\nparams = ["p"]\n[[block.layer]]\nname = "l"\ntype = "relu"\n'
    repeat = f"repeat = {up_to(draw, 10_000)}\n" if draw.random() < 0.3 else ""
    return write(folder, f'{text}[[layer]]\nname = "u"\nblock = "b0"\nsrc = "fc"\nwith = {{ p = "xy" }}\n{repeat}')


def crowds(draw: random.Random, folder: pathlib.Path) -> Case:
    many = up_to(draw, 30_000)
    names = [f"{draw.choice(('layer_number_', 'x', 'data'))}{i}" for i in range(many)]
    kind = draw.randrange(5)
    if kind == 0:
        more = "".join(f"{name} = 1\n" for name in names)
        return write(folder, draw.choice((more + JOB, JOB + more, f"{JOB}[record]\n{more}")))
    if kind == 1:
        return write(folder, JOB + "".join(f'[[layer]]\nname = "l{i}"\ntype = "relu"\nsrc = "no_{name}"\n' for i, name in enumerate(names)))
    if kind == 2:
        return write(folder, JOB + "".join(f'[[layer]]\nname = "{name}"\ntype = "relu{i}"\nsrc = "fc"\n' for i, name in enumerate(names)))
    if kind == 3:
        return write(folder, JOB + "".join(f'[[layer]]\nname = "{name}"\nblock = "b{i}"\n' for i, name in enumerate(names)))
    params = ", ".join(f'"{name}"' for name in names)
    text = " ".join(f"$n{i}" for i in range(many))
    block = f'[[block]]\nname = "b"\nparams = [{params}]\n[[block.layer]]\nname = "l"\ntype = "relu"\nx = "{text}"\n'
    given = ", ".join(f"{name[:-1]} = 1" for name in set(names))
    return write(folder, f'{JOB}{block}[[layer]]\nname = "u"\nblock = "b"\nsrc = "fc"\nwith = {{ {given} }}\n')


def special_files(draw: random.Random, folder: pathlib.Path) -> Case:
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "circle").symlink_to("circle")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(folder / "socket"))
    what = draw.choice(("pipe", "folder", "circle", "socket", "none", "/dev/zero", "/dev/full", "/proc/self/mem", "pipe/x", "", "x" * 5000, "a\\u0000b"))
    key = draw.choice(("include", "train.init_from", "train.init_from.from", "layer.data.train", "layer.data.folder", "folder", "record.folder", "checkpoint.folder"))
    if key == "include":
        return write(folder, f'include = ["{what}"]\n{JOB}')
    if key == "layer.data.train":
        return write(folder, JOB.replace('"data.csv"', f'"{what}"'))
    if draw.random() < 0.2 and what and not what.startswith("/") and (folder / what[:200]).exists():
        write(folder, JOB)
        (folder / "job.toml").unlink()
        (folder / "job.toml").symlink_to(what)
        return []
    return write(folder, JOB) or ["--set", f'{key}="{what}"']


def odd_values(draw: random.Random, folder: pathlib.Path) -> Case:
    write(folder, JOB)
    words = []
    for _ in range(up_to(draw, 8)):
        value = draw.choice((draw.choice(NUMBERS), f'"{junk(draw)}"', "[]", "{}", "true", f"[{draw.choice(NUMBERS)}]", '{ type = "' + junk(draw, 20) + '" }'))
        words += ["--set", f"{draw.choice(KEYS)}={value}"]
    return words


def junk_names(draw: random.Random, folder: pathlib.Path) -> Case:
    text = JOB
    for _ in range(up_to(draw, 4)):
        old = draw.choice(("fc", "data", "loss", "x", "csv", "dense", "sgd", "train", "units", "src"))
        new = junk(draw, 100_000 if draw.random() < 0.1 else 300)
        quoted = f'"{new}"'
        text = re.sub(rf'"{old}"', lambda _: quoted, text) if f'"{old}"' in text else re.sub(rf"(?m)^{old}\b", lambda _: quoted, text)
    return write(folder, text)


def spoilt_text(draw: random.Random, folder: pathlib.Path) -> Case:
    data = bytearray(JOB.encode())
    for _ in range(up_to(draw, 20)):
        at, length = draw.randrange(len(data)), up_to(draw, 40)
        how = draw.randrange(4)
        if how == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            del data[at : at + length]
        elif how == 2:
            data[at:at] = data[at : at + length] * up_to(draw, 200)
        else:
            data[at:at] = draw.choice((b'"""', b"'''", b"[[", b"]]", b"{", b"\\", b"\r", b"\xff\xfe", b"#", b"\xe2\x80\xa8", b"1979-05-27")) * up_to(draw, 20)
        data = data or bytearray(b"\n")
    (folder / "job.toml").write_bytes(data)
    return []


WAYS = (deep, includes, blocks, crowds, special_files, odd_values, junk_names, spoilt_text)


class Jobs(Hostile):
    def test_each_is_refused_or_taken(self) -> None:
        for draw, folder, again in self.cases("jobs"):
            way = draw.choice(WAYS)
            with self.subTest(way=way.__name__, again=again):
                (folder / "data.csv").write_text("1,0\n2,1\n3,0\n4,1\n")
                words = way(draw, folder)
                ended = run([dlhost, "check", "job.toml", *words], folder)
                said = ended.said[:2000]
                self.assertTrue(ended.in_time, f"it hangs, and said {said!r}")
                self.assertIn(ended.code, (0, 1), said)
                self.assertLess(ended.seconds, SECONDS)
                if ended.code == 1:
                    self.assertRegex(ended.said, r"\.toml|--set |data\.csv", "the message names no file")


unittest.main()
