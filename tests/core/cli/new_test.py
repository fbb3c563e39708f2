#!/usr/bin/env python3
"""new_test.py DLHOST BUILD_FOLDER COMPILER...: `dlhost new` writes projects that build outside the tree and are usable.

Every kind is compiled as pkg-config says; a layer goes the whole way, with Meson, from the command to a use by name.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

dlhost, build, *compiler = sys.argv[1:]
dlhost = str(pathlib.Path(dlhost).resolve())  # the commands below run elsewhere
kinds = ["layer", "updater", "algorithm", "consistency", "sync", "transport", "rendezvous", "device", "codec", "store"]

os.environ["PKG_CONFIG_PATH"] = f"{build}/meson-uninstalled"
os.environ["PATH"] = f"{pathlib.Path(dlhost).parent}:{os.environ['PATH']}"
os.environ["DLHOST_PLUGIN_PATH"] = ""


def run(*words: str, folder: str | pathlib.Path, expected: int = 0) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == expected, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as work:
    os.environ["XDG_DATA_HOME"] = work
    flags = run("pkg-config", "--cflags", "--libs", "dlhost", folder=work).split()
    for kind in kinds:
        run(dlhost, "new", kind, f"my_{kind}", folder=work)
        folder = pathlib.Path(work) / f"my_{kind}"
        assert not any("@" in (folder / file).read_text() for file in (f"my_{kind}.cpp", "meson.build", "README.md"))
        run(*compiler, "-std=c++20", "-Wall", "-Wextra", "-fPIC", "-shared", f"my_{kind}.cpp", "-o", f"my_{kind}.so",
            *flags, folder=folder)
        shown = run(dlhost, "inspect", f"my_{kind}.so", folder=folder)
        assert shown.startswith(f"{kind} 'my_{kind}': "), shown

    assert "did you mean 'layer'" in run(dlhost, "new", "layr", "x", folder=work, expected=1)
    assert "cannot be a plugin's name" in run(dlhost, "new", "layer", "My-Layer", folder=work, expected=1)
    assert "is there already" in run(dlhost, "new", "layer", "my_layer", folder=work, expected=1)

    folder = pathlib.Path(work) / "my_layer"
    run("meson", "setup", "build", folder=folder)
    run("meson", "compile", "-C", "build", folder=folder)
    plugins = pathlib.Path(work) / "dlhost" / "plugins"
    plugins.mkdir(parents=True)
    (folder / "build" / "my_layer.so").rename(plugins / "my_layer.so")
    assert "y = scale x^3." in run(dlhost, "inspect", "my_layer", folder=work)
