"""Real services for tests: found where ./dev setup has unpacked them, or installed."""
import os
import pathlib
import shutil
import socket
import sys

SKIPPED = 77  # which Meson counts as skipped
UNPACKED = pathlib.Path(os.environ.get("DLHOST_SERVICES", "/nowhere"))


def find(*names: str) -> str | None:
    """A program, by any of its names."""
    folders = os.pathsep.join([f"{UNPACKED}/usr/bin", f"{UNPACKED}/usr/sbin", "/usr/sbin", os.environ.get("PATH", "")])
    return next((found for name in names if (found := shutil.which(name, path=folders))), None)


def library_folder() -> pathlib.Path:
    """Where the unpacked packages have their libraries; a folder that is not there where they are installed."""
    return next(iter(sorted(UNPACKED.glob("usr/lib/*-linux-gnu"))), UNPACKED / "usr/lib")


def environment(*own_folders: str) -> dict[str, str]:
    """In which unpacked programs find their libraries; own_folders: beside the others'."""
    folders = [str(library_folder() / own) for own in ("", *own_folders)]
    path = os.pathsep.join(filter(None, [*folders, os.environ.get("LD_LIBRARY_PATH", "")]))
    return {**os.environ, "LD_LIBRARY_PATH": path}


def skip(why: str) -> None:
    print("skipped:", why)
    sys.exit(SKIPPED)


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
