#!/usr/bin/env python3
"""faults_test.py DLHOST: one run of three hosts, with etcd on a fourth, under random faults: links cut for a while,
processes killed or stopped for a while, hosts lost, a fifth host that joins, works and is lost, etcd killed. The run
continues after each fault, and its params equal those of an undisturbed run on one machine. DLHOST_FAULTS is the number
of faults (30), DLHOST_SEED the seed."""
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "cluster"), str(HERE.parents[2] / "plugins/rendezvous")]
import cluster  # noqa: E402
import services  # noqa: E402
from members import Members  # noqa: E402
from several import PATIENCE, PROCESSES  # noqa: E402

Members.dlhost = os.path.realpath(sys.argv[1])
FAULTS = int(os.environ.get("DLHOST_FAULTS", "30"))
SEED = int(os.environ.get("DLHOST_SEED", "1"))
KIND = os.environ.get("DLHOST_FAULT", "")  # only faults of that name
SILENCE = 2.0  # seconds after which a silent process counts as gone: in the network, and at the rendezvous
ETCD_AT = "10.77.0.4"
WORKERS = "--set=topology.workers=4"  # one is left for a new host
JOB = (WORKERS, "--set=train.stop.steps=1000000000", "--set=recovery.every.steps=20", "--set=record.every.steps=20",
       "--set=checkpoint.every.steps=1000000000", f"--set=recovery.timeout={SILENCE}",
       "--set=recovery.restarts=1000",
       f"--set=topology.network={{type='fabric',listen='10.77.0.0/24',silence={SILENCE}}}",
       f"--set=topology.rendezvous={{type='etcd',endpoints=['http://{ETCD_AT}:2379'],lease=2}}")


class Etcd:
    """etcd on its own host; its data folder outlives the process."""

    def __init__(self, host: cluster.Host, folder: pathlib.Path) -> None:
        self.host, self.folder = host, folder
        self.process: subprocess.Popen | None = None
        self.begin()

    def begin(self) -> None:
        client, peer = f"http://{ETCD_AT}:2379", f"http://{ETCD_AT}:2380"
        with open(self.folder / "etcd.log", "a") as log:
            self.process = self.host.start(
                services.find("etcd"), "--name", "one", "--data-dir", str(self.folder / "etcd"), "--listen-client-urls", client,
                "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", f"one={peer}", "--unsafe-no-fsync", stdout=log, stderr=log)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Faults(Members):
    def setUp(self) -> None:
        super().setUp()
        self.draw = random.Random(SEED)
        self.members: dict[cluster.Host, subprocess.Popen] = {}
        self.files: list[pathlib.Path] = []
        self.ended: list[str] = []  # output of processes that ended by themselves
        self.history: list[str] = []

    def begin(self, host: cluster.Host) -> None:
        said = self.root / f"said-{len(self.files)}"
        self.files.append(said)
        with open(said, "w") as file:
            print(f"{time.monotonic():.2f} {host.name}", file=file, flush=True)
            self.members[host] = host.start(
                "sh", "-c", f"cd {self.root} && exec \"$0\" \"$@\"", self.dlhost, "run", "job.toml", "--members=3", *JOB, PROCESSES,
                env=os.environ | {"TMPDIR": str(self.root / "tmp")}, stdout=file, stderr=subprocess.STDOUT)
        self.members[host].said = said

    def everybody_is_in(self) -> None:
        """Restarts the ended processes."""
        for host, process in self.members.items():
            if process.poll() is None:
                continue
            if process.returncode != -signal.SIGKILL:
                self.ended.append(process.said.read_text())
            self.begin(host)

    def step(self) -> int:
        runs = list(self.root.glob("runs/*"))
        self.assertLessEqual(len(runs), 1, f"one of them began anew; {self.what_is()}")
        lines = (runs[0] / "metrics.jsonl").read_bytes().splitlines() if runs and (runs[0] / "metrics.jsonl").exists() else []
        steps = [json.loads(line)["step"] for line in lines[-3:] if line.endswith(b"}")]
        return max(steps, default=0)

    def what_is(self) -> str:
        said = "\n".join(f"{file.name}:\n{file.read_text()[-1500:]}" for file in self.files[-6:])
        return f"seed {SEED}, {len(self.history)} faults, the last {self.history[-3:]}\n{said}"

    def goes_on(self) -> None:
        """Waits until the run is past its furthest step so far."""
        before = self.furthest = max(self.step(), getattr(self, "furthest", 0))

        def further() -> bool:
            self.everybody_is_in()
            return self.step() >= before + 40

        self.until(further, 2 * PATIENCE, what_is=self.what_is)

    # --- Faults -------------------------------------------------------------------------------------------------
    def link_is_cut(self, host: cluster.Host) -> None:
        self.together.cut(host)
        time.sleep(self.draw.choice([0.3, 1.0, SILENCE / 2, 5.0]))
        self.together.heal(host)

    def two_do_not_hear_each_other(self, host: cluster.Host) -> None:
        other = self.draw.choice([one for one in self.together.hosts[:3] if one is not host])
        self.together.cut(host, other)
        time.sleep(self.draw.choice([0.3, 1.0, 5.0]))
        self.together.heal(host, other)

    def packets_are_lost(self, host: cluster.Host) -> None:
        self.together.lose(host, self.draw.choice([1, 5, 10]))
        time.sleep(1)
        self.together.lose(host, 0)

    def member_is_killed(self, host: cluster.Host) -> None:
        self.members[host].kill()
        self.members[host].wait()

    def worker_is_killed(self, _: cluster.Host) -> None:
        if workers := list(self.workers().values()):
            os.kill(self.draw.choice(workers), signal.SIGKILL)

    def member_stands_still(self, host: cluster.Host) -> None:
        process = self.members[host]
        process.send_signal(signal.SIGSTOP)
        time.sleep(self.draw.choice([0.3, 1.0, 2 * SILENCE]))
        process.send_signal(signal.SIGCONT)

    def etcd_is_killed(self, _: cluster.Host) -> None:
        self.etcd.end()
        time.sleep(self.draw.choice([0, 0.5, 2 * SILENCE]))
        self.etcd.begin()

    def leader_is_killed(self, _: cluster.Host) -> None:
        leader = self.leader()
        for process in self.members.values():
            if process.pid == leader:
                process.kill()
                process.wait()

    def host_comes_and_is_lost(self, _: cluster.Host) -> None:
        """A new host joins, and does not come back."""
        guest = self.together.hosts[4]
        self.begin(guest)

        def has_its_share() -> bool:
            self.everybody_is_in()
            return self.takes_part(self.members[guest])

        self.until(has_its_share, 2 * PATIENCE, what_is=self.what_is)
        self.member_is_killed(guest)
        del self.members[guest]

    KINDS = (link_is_cut, two_do_not_hear_each_other, packets_are_lost, member_is_killed, worker_is_killed, member_stands_still,
             etcd_is_killed, leader_is_killed, host_comes_and_is_lost)

    def stop(self) -> int:
        """Stops the run with a checkpoint; returns the step."""
        done = subprocess.run([self.dlhost, "stop", str(self.newest_run()), f"--wait={PATIENCE}"], capture_output=True, text=True,
                              timeout=2 * PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + self.what_is())
        return json.loads((self.newest_run() / "summary.json").read_text())["steps"]

    def params(self) -> str:
        saved = sorted(self.newest_run().glob("checkpoints/step-*/params.safetensors"))[-1]
        return hashlib.sha256(saved.read_bytes()).hexdigest()

    def test_it_goes_on_after_each(self) -> None:
        with cluster.Cluster(5) as self.together, tempfile.TemporaryDirectory(prefix="dlhost-test-") as folder:
            self.etcd = Etcd(self.together.hosts[3], pathlib.Path(folder))
            self.addCleanup(self.etcd.end)
            for host in self.together.hosts[:3]:
                self.begin(host)
            self.goes_on()
            kinds = [kind for kind in self.KINDS if KIND in kind.__name__]
            for _ in range(FAULTS):
                host, fault = self.draw.choice(self.together.hosts[:3]), self.draw.choice(kinds)
                self.history.append(f"{fault.__name__} {host.name} at {self.step()}")
                fault(self, host)
                self.goes_on()
            steps = self.stop()
            for process in self.members.values():
                process.wait(timeout=PATIENCE)
        for said in self.ended:
            own = said.partition("\n")[2]  # without the first line, which this test wrote
            self.assertRegex(own, r"worker \d|process \d|etcd", "it does not say who")
            self.assertRegex(own, r"host\d|10\.77\.0\.\d", "it does not say where")
        print(f"seed {SEED}: {FAULTS} faults in {steps} steps; {len(self.files) - 3} processes came again, or later", flush=True)
        params = self.params()
        self.newest_run().rename(self.root / "faulty")
        self.run_job(PROCESSES, WORKERS, f"--set=train.stop.steps={steps}", "--set=checkpoint.every.steps=1000000000")
        self.assertEqual(self.params(), params)


if __name__ == "__main__":
    if not services.find("etcd"):
        services.skip("there is no etcd here; ./dev setup --for test gets one")
    cluster.enter()
    del sys.argv[1]
    unittest.main()
