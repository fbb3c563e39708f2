#!/usr/bin/env python3
"""get_data_imagenet_test.py SOURCES: examples/get-data unpacks ImageNet's archives into the folders that the jobs read.

The archives are synthetic; a copy of the script has their sums in place of the published ones.
"""
import hashlib
import io
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zlib

SOURCES = pathlib.Path(sys.argv.pop(1)).resolve()

TRAIN, VAL, KIT = "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar", "ILSVRC2012_devkit_t12.tar.gz"
PUBLISHED = {
    TRAIN: "1d675b47d978889d74fa0da5fadfb00e",
    VAL: "29b22e2961454d5413ddabcf34fc5622",
    KIT: "fa75699e90414af021442c21a62c3abf",
}
# The numbers differ from the order of the names, and synsets above the classes have numbers as well.
SYNSETS = [(1, "n00000030", 0), (2, "n00000010", 0), (3, "n00000020", 0), (4, "n00000001", 3)]
TRUTH = [3, 1, 2, 2, 1]  # the class of each validation picture
NAME = {number: name for number, name, _ in SYNSETS}


def element(kind: int, content: bytes) -> bytes:
    """An element as MATLAB writes it: up to four bytes follow their type directly."""
    if 0 < len(content) <= 4:
        return struct.pack("<HH", kind, len(content)) + content.ljust(4, b"\0")
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def array(kind: int, sides: tuple[int, int], content: bytes, name: bytes = b"") -> bytes:
    flags = element(6, struct.pack("<II", kind, 0))
    return element(14, flags + element(5, struct.pack("<ii", *sides)) + element(1, name) + content)


def number(of: int) -> bytes:
    return array(6, (1, 1), element(2, bytes([of])))


def text(of: str) -> bytes:
    return array(4, (1, len(of)), element(16, of.encode()))


def meta(compressed: bool) -> bytes:
    fields = [b"ILSVRC2012_ID", b"WNID", b"words", b"gloss", b"num_children", b"children"]
    content = element(5, struct.pack("<i", 16)) + element(1, b"".join(field.ljust(16, b"\0") for field in fields))
    for own, name, children in SYNSETS:
        content += number(own) + text(name) + text("its words") + text("") + number(children)
        content += array(6, (0, 0), element(9, b"")) if not children else array(6, (1, 3), element(2, bytes([1, 2, 3])))
    synsets = array(2, (len(SYNSETS), 1), content, b"synsets")
    if compressed:
        packed = zlib.compress(synsets)
        synsets = struct.pack("<II", 15, len(packed)) + packed
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + array(6, (1, 1), element(2, b"\7"), b"other") + synsets


def pack(path: pathlib.Path | io.BytesIO, files: dict[str, bytes], mode: str = "w") -> None:
    where = {"fileobj": path} if isinstance(path, io.BytesIO) else {"name": path}
    with tarfile.open(mode=mode, **where) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def packed(files: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    pack(archive, files)
    return archive.getvalue()


class GetImagenet(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.have, self.into = self.root / "have/imagenet", self.root / "into/imagenet"
        self.have.mkdir(parents=True)
        self.make_archives(compressed=True)

    def make_archives(self, compressed: bool) -> None:
        pack(self.have / TRAIN, {f"{name}.tar": packed({f"{name}_{i}.JPEG": f"{name} {i}".encode() for i in range(2)})
                                 for name in sorted(NAME[n] for n in (1, 2, 3))})
        pack(self.have / VAL, {f"ILSVRC2012_val_{i + 1:08}.JPEG": NAME[TRUTH[i]].encode() for i in (4, 2, 0, 1, 3)})
        kit = "ILSVRC2012_devkit_t12/data"
        truth = "".join(f"{n}\n" for n in TRUTH).encode()
        pack(self.have / KIT, {f"{kit}/meta.mat": meta(compressed),
                               f"{kit}/ILSVRC2012_validation_ground_truth.txt": truth}, "w:gz")
        script = (SOURCES / "examples/get-data").read_text()
        for name, sum_ in PUBLISHED.items():
            self.assertEqual(script.count(f"{sum_} {name}"), 1, name)
            script = script.replace(sum_, hashlib.md5((self.have / name).read_bytes()).hexdigest())
        self.script = self.root / "examples/get-data"
        self.script.parent.mkdir(exist_ok=True)
        self.script.write_text(script)

    def get(self, code: int = 0, path: str = "", what: str = "imagenet") -> str:
        environment = os.environ | {"DLHOST_DATA": str(self.have.parent), "PATH": path + os.environ["PATH"]}
        done = subprocess.run(["sh", self.script, what, self.into.parent], env=environment, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def files(self) -> dict[str, str]:
        return {str(f.relative_to(self.into)): f.read_text() for f in self.into.rglob("*") if f.is_file()}

    def expect_all(self) -> None:
        train = {f"train/{NAME[n]}/{NAME[n]}_{i}.JPEG": f"{NAME[n]} {i}" for n in (1, 2, 3) for i in range(2)}
        val = {f"val/{NAME[n]}/ILSVRC2012_val_{i + 1:08}.JPEG": NAME[n] for i, n in enumerate(TRUTH)}
        self.assertEqual(self.files(), train | val)

    def make_tar_that_fails(self, when: str) -> str:
        """Makes a folder for PATH. `when` is a shell pattern of tar's arguments."""
        folder = self.root / "bin"
        folder.mkdir(exist_ok=True)
        tar = folder / "tar"
        tar.write_text(f'#!/bin/sh\n{shutil.which("tar")} "$@" || exit\ncase "$*" in {when}) exit 2 ;; esac\n')
        tar.chmod(tar.stat().st_mode | stat.S_IXUSR)
        return f"{folder}:"

    def test_pictures_lie_in_the_folders_of_their_classes(self) -> None:
        for compressed in True, False:
            with self.subTest(compressed=compressed):
                shutil.rmtree(self.into, ignore_errors=True)
                self.make_archives(compressed)
                self.get()
                self.expect_all()

    def test_what_is_there_is_left_alone(self) -> None:
        self.get()
        shutil.rmtree(self.have)
        self.get()
        self.expect_all()

    def test_archives_may_lie_beside_what_is_made(self) -> None:
        self.into.parent.mkdir()
        self.have.rename(self.into)
        self.get()
        for name in PUBLISHED:
            (self.into / name).unlink()
        self.expect_all()

    def test_it_goes_on_where_it_was_stopped(self) -> None:
        self.get(2, self.make_tar_that_fails("*.class/n00000020.tar*"))
        self.assertFalse((self.into / "train").exists())
        whole = next(self.into.glob("*/n00000010")).stat().st_ino
        self.get(2, self.make_tar_that_fails("*img_val.tar*"))
        self.assertEqual((self.into / "train/n00000010").stat().st_ino, whole)
        self.assertFalse((self.into / "val").exists())
        (self.have / TRAIN).unlink()  # the archive has been unpacked
        self.get()
        self.expect_all()

    def test_an_archive_that_is_missing_is_told_first(self) -> None:
        (self.have / KIT).unlink()
        told = self.get(1)
        self.assertIn(KIT, told)
        self.assertIn("image-net.org", told)
        self.assertFalse(self.into.exists())

    def test_an_archive_that_is_another_is_refused(self) -> None:
        with (self.have / VAL).open("ab") as file:
            file.write(b"more")
        self.assertIn("is not the published file", self.get(1))
        self.assertFalse(self.into.exists())

    def test_an_unknown_name_lists_the_known_ones(self) -> None:
        self.assertIn("imagenet", self.get(1, what="imagenets"))


if __name__ == "__main__":
    unittest.main()
