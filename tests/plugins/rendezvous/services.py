"""Real services for tests, unpacked by ./dev setup or installed."""
import os
import pathlib
import shutil
import socket
import sys

SKIPPED = 77  # Meson counts 77 as skipped
UNPACKED = pathlib.Path(os.environ.get("DLHOST_SERVICES", "/nowhere"))


def find(*names: str) -> str | None:
    """Finds a program by any of its names."""
    folders = os.pathsep.join([f"{UNPACKED}/usr/bin", f"{UNPACKED}/usr/sbin", "/usr/sbin", os.environ.get("PATH", "")])
    return next((found for name in names if (found := shutil.which(name, path=folders))), None)


def library_folder() -> pathlib.Path:
    """The library folder of the unpacked packages; it does not exist if they are installed."""
    return next(iter(sorted(UNPACKED.glob("usr/lib/*-linux-gnu"))), UNPACKED / "usr/lib")


def environment(*own_folders: str) -> dict[str, str]:
    """The environment in which unpacked programs find their libraries, also those in own_folders."""
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
