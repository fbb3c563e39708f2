#!/usr/bin/env python3
"""pmix_test.py LAUNCHER CONFORM PLUGIN PARTY DLHOST: processes of a real launcher meet by PMIx, and train a job.

LAUNCHER: mpirun (Open MPI), prterun (PRRTE) or slurm (two slurmd on this machine, and srun --mpi=pmix).
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import services

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "core/cli"))
from several import JOB  # noqa: E402

LAUNCHER = sys.argv[1]
CONFORM, PLUGIN, PARTY, DLHOST = map(os.path.realpath, sys.argv[2:6])
LIMIT = 100  # seconds for one job


class Mpirun:
    """Open MPI's mpirun, from unpacked packages or installed."""

    def __init__(self, folder: str):
        self.program = services.find("mpirun.openmpi", "mpirun")
        if not self.program:
            services.skip("there is no mpirun here; ./dev setup --for test gets one")
        self.environment = services.environment() | {"TMPDIR": folder, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if self.program.startswith(str(services.UNPACKED)):  # it expects its parts at the installed place
            self.environment |= {"OPAL_PKGLIBDIR": str(services.library_folder() / "openmpi/lib/openmpi3"),
                                 "OPAL_PKGDATADIR": str(services.UNPACKED / "usr/share/openmpi")}

    def command(self, count: int) -> list[str]:
        return [self.program, "--oversubscribe", "--mca", "plm", "isolated", "--mca", "oob_tcp_if_include", "lo", "-n",
                str(count)]

    def options(self) -> list[str]:
        return []

    def close(self) -> None:
        pass


class Prterun:
    """PRRTE's prterun, from an unpacked wheel or installed."""

    def __init__(self, folder: str):
        unpacked = pathlib.Path(os.environ.get("DLHOST_PRRTE", "/nowhere"))
        self.program = shutil.which("prterun", path=os.pathsep.join([f"{unpacked}/bin", os.environ.get("PATH", "")]))
        if not self.program:
            services.skip("there is no prterun here; ./dev setup --for test gets one")
        self.environment = os.environ | {"TMPDIR": folder}
        if self.program.startswith(str(unpacked)):
            # Both sides use its own PMIx: with Debian's older one it complains of each process.
            libraries = [str(unpacked / "lib/openmpi"), os.environ.get("LD_LIBRARY_PATH", "")]
            self.environment |= {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries)), "PRTE_PREFIX": str(unpacked),
                                 "OPAL_PREFIX": str(unpacked), "PMIX_PREFIX": str(unpacked)}

    def command(self, count: int) -> list[str]:
        return [self.program, "--allow-run-as-root", "--map-by", ":oversubscribe", "-n", str(count)]

    def options(self) -> list[str]:
        return []

    def close(self) -> None:
        pass


class Slurm:
    """A controller and two nodes with their own munge; they listen on this machine only, and nothing is installed."""

    NODES = ("n1", "n2")

    def __init__(self, folder: str):
        programs = {name: services.find(f"{name}-wlm", name) for name in ("slurmctld", "slurmd", "slurmstepd")}
        programs |= {name: services.find(name) for name in ("munged", "mungekey", "srun", "sinfo")}
        lacking = [name for name, program in programs.items() if not program]
        if lacking:
            services.skip(f"there is no {', '.join(lacking)} here; ./dev setup --for test gets them")
        if os.geteuid() != 0:
            services.skip("Slurm's daemons start processes of others: only root may run them")
        self.folder, self.programs, self.daemons = pathlib.Path(folder), programs, []
        self.environment = services.environment("slurm-wlm") | {"SLURM_CONF": f"{folder}/slurm.conf", "TMPDIR": folder}
        try:
            self.write()
            self.start()
        except BaseException:
            self.close()
            raise

    def write(self) -> None:
        for name in ("state", "spool", *(f"tmp/{node}" for node in self.NODES)):
            (self.folder / name).mkdir(parents=True)
        for name in ("", "spool", "tmp"):  # Slurm and munge refuse folders that others can write
            (self.folder / name).chmod(0o755)
        subprocess.run([self.programs["mungekey"], "-c", "-k", f"{self.folder}/munge.key"], env=self.environment, check=True)
        control, *ports = services.free_ports(1 + len(self.NODES))
        first = 20000 + os.getpid() % 20000
        plugins = services.library_folder() / "slurm-wlm"
        host, at = socket.gethostname().split(".")[0], self.folder
        # Slurm uses no cgroup here, but slurmd looks for the kernel's, which a container may lack.
        (at / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (at / "slurm.conf").write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge.sock
CredType=cred/munge
{f"PluginDir={plugins}" if plugins.is_dir() else ""}
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool/%n
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.%n.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
MpiParams=ports={first}-{first + 999}
TmpFS={at}/tmp/%n
KillWait=2
NodeName=n[1-{len(self.NODES)}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{min(ports)}-{max(ports)}] CPUs=4
PartitionName=p Nodes=ALL Default=YES State=UP
""".replace(f"[{min(ports)}-{max(ports)}]", ",".join(map(str, ports))))

    def daemon(self, *words: str) -> None:
        with (self.folder / "daemons.log").open("a") as log:
            self.daemons.append(subprocess.Popen(words, env=self.environment, stdout=log, stderr=log, cwd=self.folder))

    def start(self) -> None:
        at = self.folder
        self.daemon(self.programs["munged"], "--foreground", "--force", f"--key-file={at}/munge.key", f"--socket={at}/munge.sock",
                    f"--pid-file={at}/munged.pid", f"--log-file={at}/munged.log", f"--seed-file={at}/munged.seed",
                    "--num-threads=2")
        self.wait_for(lambda: (at / "munge.sock").exists(), "munged")
        self.daemon(self.programs["slurmctld"], "-D", "-f", f"{at}/slurm.conf")
        for node in self.NODES:
            self.daemon(self.programs["slurmd"], "-D", "-N", node, "-f", f"{at}/slurm.conf", "-d", self.programs["slurmstepd"])
        self.wait_for(self.is_ready, "Slurm")

    def is_ready(self) -> bool:
        said = subprocess.run([self.programs["sinfo"], "-h", "-o", "%T %D"], env=self.environment, capture_output=True,
                              text=True, timeout=30, check=False).stdout
        return f"idle {len(self.NODES)}" in said

    def wait_for(self, is_so, what: str) -> None:
        end = time.monotonic() + 60
        while not is_so():
            ended = [one.args[0] for one in self.daemons if one.poll() is not None]
            if ended or time.monotonic() > end:
                said = "\n".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in self.folder.glob("*.log"))
                raise RuntimeError(f"{what} does not come up; ended: {ended}\n{said}")
            time.sleep(0.1)

    def command(self, count: int) -> list[str]:
        return [self.programs["srun"], "--mpi=pmix", "--kill-on-bad-exit=0", "--chdir=/", f"-N{len(self.NODES)}", f"-n{count}"]

    def options(self) -> list[str]:
        return ["listen=127.0.0.1"]  # both nodes are this machine

    def close(self) -> None:
        for one in reversed(self.daemons):
            one.send_signal(signal.SIGTERM)
        for one in reversed(self.daemons):
            try:
                one.wait(timeout=10)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
        for process in self.left():  # steps that outlived their daemon
            os.kill(process, signal.SIGKILL)

    def left(self) -> list[int]:
        """Processes with this Slurm in their environment."""
        mark, found = f"SLURM_CONF={self.folder}/slurm.conf".encode(), []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if int(entry.name) != os.getpid() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                pass
        return found


class PmixTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="dlhost-pmix-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.launcher = {"mpirun": Mpirun, "prterun": Prterun, "slurm": Slurm}[LAUNCHER](cls.folder)
        cls.addClassCleanup(cls.launcher.close)

    def run_job(self, count: int, *words: str) -> tuple[int, str]:
        plugins = str(pathlib.Path(PLUGIN).parent)
        environment = self.launcher.environment | {"DLHOST_TEST_PLUGINS": plugins, "DLHOST_PLUGIN_PATH": plugins,
                                                    "GTEST_COLOR": "no"}
        done = subprocess.run(self.launcher.command(count) + list(words), env=environment, timeout=LIMIT, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder)
        return done.returncode, done.stdout

    def party(self, count: int, *words: str) -> tuple[int, str]:
        return self.run_job(count, PARTY, *words, *self.launcher.options())

    def test_four_processes_meet_and_exchange_cards(self):
        code, said = self.party(4)
        self.assertEqual(code, 0, said)
        found = re.findall(r"rank (\d) of 4 on (\S+): 4 members, secret (\w+)", said)
        self.assertEqual(sorted(rank for rank, _, _ in found), list("0123"), said)
        self.assertEqual(len({secret for _, _, secret in found}), 1, said)
        if LAUNCHER == "slurm":
            self.assertEqual({host for _, host, _ in found}, {"n1", "n2"}, said)

    def test_the_others_hear_of_one_that_leaves(self):
        code, said = self.party(4, "leave")
        self.assertEqual(code, 0, said)
        self.assertEqual(len(re.findall(r"rank \d sees rank 3 go: it was told to", said)), 3, said)
        self.assertEqual(len(re.findall(r"goes on with 3 in a later epoch: yes", said)), 3, said)

    def test_the_others_see_one_that_is_killed(self):
        if LAUNCHER == "mpirun":
            self.skipTest("Open MPI's mpirun ends a job of which a process was killed")
        _, said = self.party(4, "die")
        self.assertEqual(len(re.findall(r"rank \d sees rank 3 go: ", said)), 3, said)
        self.assertEqual(len(re.findall(r"goes on with 3 in a later epoch: yes", said)), 3, said)

    def test_a_job_of_four_processes_trains(self):
        job = pathlib.Path(self.folder, "job.toml")
        job.write_text(JOB.replace("workers = 3", "workers = 4"))
        runs = pathlib.Path(self.folder, "runs")
        at = ", ".join(re.sub("=(.*)", r" = '\1'", option) for option in self.launcher.options())
        named = [f"--set=topology.rendezvous={{ type = 'pmix', {at} }}"] if at else []  # otherwise the job detects it
        code, said = self.run_job(4, DLHOST, "run", str(job), f"--set=record.folder='{runs}'", *named)
        self.assertEqual(code, 0, said)
        summary = json.loads(next(runs.glob("*/summary.json")).read_text())
        self.assertEqual((summary["status"], summary["steps"]), ("done", 60), said)
        self.assertLess(summary["test"]["loss"], 0.5)

    def test_the_suite(self):
        options = [word for option in self.launcher.options() for word in ("--set", re.sub("=(.*)", r'="\1"', option))]
        code, said = self.run_job(2, CONFORM, PLUGIN, "--gtest_brief=1", *options)
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count("[  PASSED  ] 4 tests."), 2, said)


unittest.main(argv=[sys.argv[0], "-v"])
