"""relay.py SECONDS PID:ADDRESS...: joins hosts with a delay, for kernels without netem. Makes a TUN device `eth0` in
the network namespace of each process, and forwards each packet from one, delayed, to the host of its address. Prints
`up`, or an error, and runs until it is killed."""
import collections
import ctypes
import fcntl
import os
import pathlib
import select
import socket
import stat
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
MOST_WAITING = 20000  # packets; further ones are lost


def make_missing(device: pathlib.Path) -> None:
    if device.exists():
        return
    device.parent.mkdir(exist_ok=True)
    os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(10, 200))


def tun_in(pid: str) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net") as namespace:
        if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "entering a namespace")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"eth0", IFF_TUN | IFF_NO_PI))
    return tun


def main() -> None:
    delay, places = float(sys.argv[1]), sys.argv[2:]
    try:
        # /dev is the machine's own: new files go to a tmpfs of this mount namespace.
        if not pathlib.Path("/dev/net/tun").exists():
            subprocess.run(["mount", "-t", "tmpfs", "net", "/dev/net"], check=True, capture_output=True)
        make_missing(pathlib.Path("/dev/net/tun"))
        tuns = {socket.inet_aton(address): tun_in(pid) for pid, address in (place.split(":") for place in places)}
    except (OSError, subprocess.CalledProcessError) as error:
        print(error, flush=True)
        return
    print("up", flush=True)
    poll = select.poll()
    for tun in tuns.values():
        poll.register(tun, select.POLLIN)
    waiting: collections.deque[tuple[float, int, bytes]] = collections.deque()  # all have the same delay: in order
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, to, packet = waiting.popleft()
            try:
                os.write(to, packet)
            except OSError:
                pass  # lost: its host is ending, or has no room
        left = max(0, waiting[0][0] - now) * 1000 if waiting else None
        for tun, _ in poll.poll(left):
            try:
                packet = os.read(tun, 65536)
            except BlockingIOError:
                continue
            to = tuns.get(packet[16:20]) if packet[0] >> 4 == 4 else None
            if to is not None and len(waiting) < MOST_WAITING:
                waiting.append((time.monotonic() + delay, to, packet))


if __name__ == "__main__":
    main()
