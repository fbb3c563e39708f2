#!/usr/bin/env python3
"""seams.py BUILD_FOLDER: core and plugins do not bypass the seams that simulation replaces.

Looks at the undefined symbols of each built object: time, sleep, tasks, waits, disk, random numbers and sockets come
only through env (or the SDK's Host) and the transports. An object of several files has the union of their permissions:
only an object per file, as in .ci/run's build, shows breaches of the other files.
"""
import json
import pathlib
import re
import subprocess
import sys

WATCHED = ("core/", "layers/", "plugins/", "transports/")
# Users of the real clock, disk and network: env itself, finding and loading plugins, the child that loads them first,
# and plugins for devices, networks and files. No simulation runs the command line, into which CLI11's headers bring
# files.
FREE = ("core/env/", "core/tools/inspect/child.cpp", "core/plugin/load.cpp", "core/plugin/mapped.cpp",
        "core/plugin/permissions.cpp", "core/plugin/search.cpp", "core/cli/", "plugins/devices/", "plugins/meeting/",
        "plugins/rendezvous/", "plugins/stores/", "transports/")
FORBIDDEN = {
    "starts a task": r"std::thread::|std::jthread|pthread_create|std::this_thread::|std::__future_base|std::async",
    "reads the time": r"clock_gettime|gettimeofday|time|std::chrono::_V2::\w+::now\(\)|timespec_get",
    "sleeps": r"nanosleep|clock_nanosleep|usleep|sleep",
    "waits": r"std::condition_variable.*|pthread_cond_\w+|sem_\w*wait|std::__atomic_futex_unsigned_base.*|poll|select|epoll_\w+",
    "touches disk": r"f?open(64)?|openat(64)?|creat|mkdir|rename|unlink|opendir|l?stat(64)?|"
    r"std::basic_(filebuf|[io]?fstream)<.*|std::filesystem::(?!__cxx11::path|path).*",
    "draws random numbers": r"std::random_device.*|rand|srand|random|getrandom|getentropy|arc4random",
    "has a state of its own for each thread": r"__tls_get_addr|TLS init function for .*",
    "talks to the network": r"socket|connect|bind|listen|accept4?|send(to|msg)?|recv(from|msg)?",
}


def compiled(file: pathlib.Path) -> list[pathlib.Path]:
    """The files of an object: the includes of a unity build's file, or the file itself."""
    if "-unity" not in file.name:
        return [file]
    return [pathlib.Path(line[len("#include<"):-1]).resolve() for line in file.read_text().splitlines()]


def undefined(objects: list[pathlib.Path]) -> dict[pathlib.Path, set[str]]:
    out = subprocess.run(["nm", "-u", "-C", "-A", *objects], check=True, capture_output=True, text=True).stdout
    found: dict[pathlib.Path, set[str]] = {path: set() for path in objects}
    for line in out.splitlines():
        path, symbol = line.split(":", 1)
        found[pathlib.Path(path)].add(re.sub(r"^\s*[Uw] ", "", symbol))
    return found


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    root = pathlib.Path(__file__).resolve().parents[2]
    sources = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        made = build / command["output"]
        names = [file.relative_to(root).as_posix() for file in compiled((build / command["file"]).resolve())
                 if file.is_relative_to(root)]
        if names and all(name.startswith(WATCHED) and not name.startswith(FREE) for name in names) and made.exists():
            sources[made] = ", ".join(names)
    breaches = 0
    for path, symbols in undefined(list(sources)).items() if sources else ():
        for symbol in sorted(symbols):
            for what, pattern in FORBIDDEN.items():
                if re.fullmatch(pattern, symbol):
                    print(f"{sources[path]}: {what} ({symbol}): use the SDK's Host, or core's env")
                    breaches += 1
    print(f"{len(sources)} objects looked at, {breaches} breaches")
    return 1 if breaches or not sources else 0


sys.exit(main())
