"""Runs of processes that are started one by one and meet; tests observe them from outside."""
import json
import pathlib
import socket
import subprocess

from several import PATIENCE, Workers

SECRET = "5e" * 32


def parent_of(process: int) -> int:
    try:
        return int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:  # it has just ended
        return 0


class Members(Workers):
    network = ""  # of the job: the network between the machines
    said: list[str]  # the output of members that ended well
    warned: list[str]  # their standard error

    def setUp(self) -> None:
        super().setUp()
        secret = self.root / "secret"
        secret.write_text(SECRET + "\n")
        secret.chmod(0o600)

    def place(self) -> str:
        with socket.create_server(("127.0.0.1", 0)) as held:
            return f"127.0.0.1:{held.getsockname()[1]}"

    def words_of(self, rank: int, members: int, place: str, *words: str) -> list[str]:
        own = [f"--rendezvous={place}", f"--rank={rank}", f"--members={members}", "--secret=secret"]
        if self.network:
            own.append(f"--set=topology.network={self.network}")
        return [*own, *words]

    def leader(self) -> int:
        """The leader's process id."""
        return json.loads((self.newest_run() / "leader.json").read_text())["process"]

    def takes_part(self, process: subprocess.Popen) -> bool:
        """Whether the member leads or has workers."""
        return process.pid == self.leader() or process.pid in map(parent_of, self.workers().values())

    def recorded(self) -> int:
        return (self.newest_run() / "metrics.jsonl").stat().st_size

    def has_point(self) -> bool:
        """Whether the run has a recovery point."""
        return any(not point.name.endswith(".unfinished") for point in self.root.glob("runs/*/recovery/step-*"))

    def start_all(self, hosts: list[str], *words: str) -> list[subprocess.Popen]:
        """Starts one member for each host name, the leader first."""
        place = self.place()
        return [self.start(*self.words_of(rank, len(hosts), place, f"--host={host}", *words))
                for rank, host in enumerate(hosts)]

    def ended_well(self, processes: list[subprocess.Popen]) -> dict:
        self.said, self.warned = [], []
        for process in processes:
            out, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, f"{out}\n{err}")
            self.said.append(out)
            self.warned.append(err)
        self.nothing_is_left()
        return self.outcome()
