#!/usr/bin/env python3
"""new_test.py DLHOST KIND... [--cuda]: projects of `dlhost new` build outside the tree and pass their kind's suite.

Meson and, if installed, CMake build and test each project, with the SDK of the environment (PKG_CONFIG_PATH,
CMAKE_PREFIX_PATH), as for a user of the project's README.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

dlhost, *kinds = (word for word in sys.argv[1:] if word != "--cuda")
cuda = ["--cuda"] if "--cuda" in sys.argv else []
dlhost = str(pathlib.Path(dlhost).resolve())  # the commands below run elsewhere
JOB = """name = "small"
train = { device = "ref", batch = 4, threads = 1, stop = { steps = 4 } }
[[layer]]
name = "data"
type = "synthetic"
shape = [5]
classes = 2
train = 16
[[layer]]
name = "fc"
type = "dense"
src = "data"
units = 2
[[layer]]
name = "act"
type = "relu"
src = "fc"
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["act", "data:label"]
"""
# Structs of the SDK with designated initialisers: no warning at the project's warning level.
BY_NAME = """
#include <dlhost/ops.h>
dlhost::MapSpec by_name();
dlhost::MapSpec by_name() { return dlhost::MapSpec{.in = {}, .out = {}}; }
"""
TWO = "topology.worker_groups=2"
# Job settings that use a product. Kinds without an entry are for later, or their template cannot be used in a run.
USES = {
    "layer": ("layer.act.type=my_layer",),
    "loss": ("layer.loss.type=my_loss", "layer.data.classes=0", "layer.loss.src=[\"act\", \"data\"]", "layer.fc.units=5"),
    "source": (),
    "augmentation": ("layer.data.augment=my_augmentation",),
    "initializer": ("layer.fc.param.weight.init=my_initializer",),
    "schedule": ("updater.rate=my_schedule",),
    "updater": ("updater.type=my_updater",),
    "algorithm": ("train.algorithm=my_algorithm",),
    "consistency": ("topology.consistency=my_consistency", TWO),
    "sync": ("topology.sync=my_sync", TWO, "topology.server_groups=2"),
    "codec": ("topology.codec=my_codec", "topology.codec_elements=1", TWO),
}


def run(*words: str, folder: pathlib.Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def passed(log: pathlib.Path) -> int:
    """The number of passed checks of the suite, from the log of the project's own test."""
    counts = [line.split() for line in log.read_text().splitlines() if "[  PASSED  ]" in line]
    return int(counts[-1][3]) if counts else 0


def has_kernels(build: pathlib.Path, name: str) -> None:
    """With nvcc, the layer's GPU kernels are a plugin that `inspect` can read without a GPU."""
    if not cuda:
        return
    if not shutil.which("nvcc"):
        print("there is no nvcc: the kernels are not compiled")
        return
    shown = run(dlhost, "inspect", str(build / f"{name}_cuda.so"), folder=build)
    assert shown.startswith(f"kernel '{name}@cuda': "), shown


with tempfile.TemporaryDirectory() as work:
    os.environ["PATH"] = f"{pathlib.Path(dlhost).parent}:{os.environ['PATH']}"
    os.environ["XDG_DATA_HOME"] = work
    for kind in kinds:
        name = f"my_{kind}"
        run(dlhost, "new", kind, name, *cuda, folder=pathlib.Path(work))
        project = pathlib.Path(work) / name
        for file in project.iterdir():
            blank = re.search("@(?!INPUT|OUTPUT)[A-Z_]+@", file.read_text())
            assert not blank, f"{file.name} has a blank that was not filled: {blank[0]}"

        with open(project / f"{name}.cpp", "a") as source:
            source.write(BY_NAME)
        run("meson", "setup", "build", "-Dwerror=true", folder=project)
        run("meson", "compile", "-C", "build", folder=project)
        run("meson", "test", "-C", "build", "--print-errorlogs", folder=project)
        count = passed(project / "build/meson-logs/testlog.txt")
        assert count > 0, f"the suite of '{kind}' tried nothing on {name}"
        shown = run(dlhost, "inspect", f"build/{name}.so", folder=project)
        assert shown.startswith(f"{'layer' if kind in ('source', 'loss') else kind} '{name}': "), shown
        print(f"{kind}: Meson, {count} checks")
        has_kernels(project / "build", name)
        if kind in USES:
            drawn = 'type = "synthetic"\nshape = [5]\nclasses = 2'
            (project / "job.toml").write_text(JOB.replace(drawn, f'type = "{name}"') if kind == "source" else JOB)
            settings = [word for setting in USES[kind] for word in ("--set", setting)]
            run(dlhost, "--plugin-dir", "build", "run", "job.toml", *settings, folder=project)

        if not shutil.which("cmake"):
            print(f"{kind}: CMake is not here")
            continue
        run("cmake", "-S", ".", "-B", "cmake", folder=project)
        assert "-O3" in run("cmake", "--build", "cmake", "--verbose", folder=project), "CMake does not optimise"
        run("ctest", "--test-dir", "cmake", "--output-on-failure", "--no-tests=error", folder=project)
        count = passed(project / "cmake/Testing/Temporary/LastTest.log")
        assert count > 0, f"the suite of '{kind}' tried nothing on {name} as CMake built it"
        print(f"{kind}: CMake, {count} checks")
        has_kernels(project / "cmake", name)
