"""A small cluster on one machine: hosts are namespaces (network, names, shared memory) with an address each, joined by
a bridge. tbf limits a link's rate, nftables cuts it or loses packets, and netem delays it; without netem in the kernel,
a relay between TUN devices (relay.py) does.

The namespaces have no names in /run/netns. enter() moves the test into a PID namespace, whose end, also by kill -9,
ends every process in it, and with them every namespace, link and file system made here.
"""
import contextlib
import ctypes
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import unittest

INSIDE = "DLHOST_INSIDE_CLUSTER"
SKIPPED = 77  # Meson's exit status of a skipped test
WORLD = ("unshare", "--net", "--pid", "--mount", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc")
TRIAL = "ip link add trial type bridge && ip link add here type veth peer name there && ip link del here"


def why_not(words: list[str]) -> str:
    """Why namespaces cannot be used; empty: they can."""
    for command, package in {"unshare": "util-linux", "ip": "iproute2", "tc": "iproute2", "nft": "nftables"}.items():
        if not shutil.which(command):
            return f"'{command}' is not there (Debian: {package})"
    tried = subprocess.run([*words, "sh", "-c", TRIAL], capture_output=True, text=True, timeout=30)
    return "" if tried.returncode == 0 else f"namespaces are not allowed here: {tried.stderr.strip() or 'unshare fails'}"


def enter() -> None:
    """Continues this process in separate namespaces, or skips the test with a reason. Must be the first call."""
    if os.environ.get(INSIDE) == "yes":
        del os.environ[INSIDE]
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    words = [*WORLD] if os.geteuid() == 0 else [*WORLD, "--user", "--map-root-user"]
    if reason := why_not(words):
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    os.environ[INSIDE] = "yes"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


class Host:
    """A host of a cluster. Its processes see its own addresses, host name and /dev/shm, and the machine's files."""

    def __init__(self, number: int) -> None:
        self.name = f"host{number}"
        self.address = f"10.77.0.{number + 1}"
        # Each machine has its own shared memory.
        setup = f"hostname {self.name} && mount -t tmpfs shm /dev/shm && ip link set lo up && echo up && exec sleep infinity"
        self.holder = subprocess.Popen(["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c", setup],
                                       stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        if self.holder.stdout.readline() != "up\n":
            raise RuntimeError(f"{self.name} does not start")

    def words(self, words: tuple[str, ...]) -> list[str]:
        pid = str(self.holder.pid)
        return ["nsenter", "-t", pid, "--net", "--uts", "--ipc", "--mount", f"--wdns={os.getcwd()}", *map(str, words)]

    def start(self, *words: str, **how) -> subprocess.Popen:
        """Starts a process; its pid is the program's."""
        return subprocess.Popen(self.words(words), preexec_fn=die_with_parent, **how)

    def run(self, *words: str, timeout: float = 30, **how) -> str:
        done = subprocess.run(self.words(words), capture_output=True, text=True, timeout=timeout, **how)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {' '.join(map(str, words))}: {done.stderr.strip() or done.returncode}")
        return done.stdout


class Cluster:
    """`rate`: of each host's link, each way, in tc's syntax ("100mbit"). `delay`: seconds of a packet between hosts."""

    def __init__(self, hosts: int = 4, *, rate: str = "", delay: float = 0) -> None:
        self.relay: subprocess.Popen | None = None
        self.hosts = [Host(number) for number in range(hosts)]
        try:
            self.join(rate, delay)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def join(self, rate: str, delay: float) -> None:
        relayed = delay > 0 and not self.has_netem()
        if relayed:
            self.start_relay(delay)
        else:
            self.ip("link", "add", "switch", "type", "bridge")
            self.ip("link", "set", "switch", "up")
        for number, host in enumerate(self.hosts):
            port = f"port{number}"
            if not relayed:
                self.ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(host.holder.pid))
                self.ip("link", "set", port, "master", "switch", "up")
            host.run("ip", "address", "add", f"{host.address}/24", "dev", "eth0")
            host.run("ip", "link", "set", "eth0", "up")
            host.run("nft", RULES)
            if rate:
                slow = ("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "tbf", "rate", rate, "burst", "32kb",
                        "latency", "100ms")
                host.run(*slow)
                if not relayed:
                    subprocess.run([port if word == "eth0" else word for word in slow], check=True)
            if delay > 0 and not relayed:
                where = ("parent", "1:1") if rate else ("root",)
                host.run("tc", "qdisc", "add", "dev", "eth0", *where, "netem", "limit", "100000", "delay", f"{delay * 1e6:.0f}us")

    @staticmethod
    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    @staticmethod
    def has_netem() -> bool:
        """Tries netem on the loopback of this namespace."""
        tried = subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "0"], capture_output=True)
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], capture_output=True)
        return tried.returncode == 0

    def start_relay(self, delay: float) -> None:
        places = [f"{host.holder.pid}:{host.address}" for host in self.hosts]
        relay = pathlib.Path(__file__).with_name("relay.py")
        self.relay = subprocess.Popen([sys.executable, str(relay), str(delay), *places], stdout=subprocess.PIPE, text=True,
                                      preexec_fn=die_with_parent)
        said = self.relay.stdout.readline()
        if said != "up\n":
            raise unittest.SkipTest(f"no delays here: the kernel has no netem, and no TUN device: {said.strip()}")

    def shell(self, folder: pathlib.Path) -> pathlib.Path:
        """Writes a program like ssh into that folder: it runs a line on the named host."""
        program = folder / "near"
        ways = [f"{host.name}) exec {shlex.join(host.words(('sh', '-c')))} \"$2\" ;;" for host in self.hosts]
        program.write_text("#!/bin/sh\ncase $1 in\n" + "\n".join(ways) + "\nesac\n")
        program.chmod(0o700)
        return program

    # --- Faults: each lasts until it is reverted ----------------------------------------------------------------
    def cut(self, one: Host, other: Host | None = None) -> None:
        """Cuts the link between two hosts, or all links of one."""
        for here, there in self.ends(one, other):
            here.run("nft", f"add element inet links cut {{ {there.address} }}")

    def heal(self, one: Host, other: Host | None = None) -> None:
        for here, there in self.ends(one, other):
            here.run("nft", f"delete element inet links cut {{ {there.address} }}")

    def lose(self, host: Host, percent: float) -> None:
        """Drops a share of the packets that arrive at the host."""
        host.run("nft", "flush chain inet links loss")
        if percent > 0:
            host.run("nft", f'add rule inet links loss iifname "eth0" numgen random mod 1000 < {percent * 10:.0f} drop')

    def ends(self, one: Host, other: Host | None) -> list[tuple[Host, Host]]:
        others = [other] if other else [host for host in self.hosts if host is not one]
        return [pair for each in others for pair in ((one, each), (each, one))]

    def close(self) -> None:
        """Kills the hosts' holders. Namespaces end with their last process; the rest ends with this PID namespace."""
        for process in [host.holder for host in self.hosts] + ([self.relay] if self.relay else []):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
            process.stdout.close()
        subprocess.run(["ip", "link", "del", "switch"], capture_output=True)
        for number in range(len(self.hosts)):
            subprocess.run(["ip", "link", "del", f"port{number}"], capture_output=True)


# Drops at the receiver, as a network does: the sender gets no error.
RULES = """table inet links {
  set cut { type ipv4_addr; }
  chain loss { type filter hook input priority 0; }
  chain in { type filter hook input priority 1; iifname "eth0" ip saddr @cut drop; }
}"""
