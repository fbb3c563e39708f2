#!/usr/bin/env python3
"""samples.py CASES.toml [PICTURE | PROGRAM]...: writes a few samples in each format of the bundled sources, and cases
that name them. A program writes a database to the file in its argument."""
import pathlib
import shutil
import struct
import subprocess
import sys

cases, *given = map(pathlib.Path, sys.argv[1:])
pictures = [file for file in given if file.suffix == ".jpg"]
programs = [file for file in given if file not in pictures]
folder = cases.parent / "samples"
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
ROWS = 11
bytes_of = lambda row, count: bytes((row * 37 + at * 11) % 251 for at in range(count))

with open(folder / "rows.csv", "w") as rows:
    for row in range(ROWS):
        rows.write(",".join(str(value) for value in bytes_of(row, 6)) + f",{row % 3}\n")
pixels = b"".join(bytes_of(row, 20) for row in range(ROWS))
labels = bytes(row % 3 for row in range(ROWS))
(folder / "pixels.idx").write_bytes(struct.pack(">HBB3I", 0, 8, 3, ROWS, 4, 5) + pixels)
(folder / "labels.idx").write_bytes(struct.pack(">HBBI", 0, 8, 1, ROWS) + labels)
for name, shape, data in (("pixels", f"({ROWS}, 4, 5)", pixels), ("labels", f"({ROWS},)", labels)):
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    (folder / f"{name}.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)
(folder / "batch.bin").write_bytes(b"".join(bytes([row % 10]) + bytes_of(row, 3072) for row in range(ROWS)))
(folder / "letters.txt").write_text("the quick brown fox jumps over the lazy dog" * 3)
for number, picture in enumerate(pictures):
    place = folder / f"pictures/class{number % 2}"
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(picture, place / picture.name)
for program in programs:
    subprocess.run([program.absolute(), folder / "database"], check=True)

SOURCES = (
    ("csv", '{ train = "samples/rows.csv", test_every = 3 }'),
    ("idx", '{ train = ["samples/pixels.idx", "samples/labels.idx"], validate_every = 4 }'),
    ("npy", '{ train = ["samples/pixels.npy", "samples/labels.npy"], test = ["samples/pixels.npy", "samples/labels.npy"], scale = 0.5 }'),
    ("cifar", '{ train = ["samples/batch.bin"], test_every = 2 }'),
    ("text", '{ train = "samples/letters.txt", length = 9 }'),
    ("synthetic", "{ shape = [2, 5], train = 40, test = 7 }"),
    ("images", '{ train = "samples/pictures", size = 16 }'),
    ("lmdb", '{ train = "samples/database", test_every = 4 }'),
)
missing = {"images": not pictures, "lmdb": not programs}
cases.write_text("".join(f'[[case]]\nlayer = "{layer}"\noptions = {options}\n\n'
                         for layer, options in SOURCES if not missing.get(layer)))
