"""on_hosts.py HOSTS RATE WORD...: dlhost launch on HOSTS hosts, each a namespace of this machine with its own address
and a link of that rate ("100mbit", in tc's syntax). WORDs: the job and its settings, without `network` and `run_as`."""

import os
import pathlib
import sys
import tempfile

from runs import ROOT

sys.path.insert(0, str(ROOT / "tests/cluster"))
import cluster  # noqa: E402

NETWORK = "{ type = 'fabric', listen = '10.77.0.0/24', provider = 'tcp' }"


def main(hosts: int, rate: str, words: list[str]) -> int:
    with cluster.Cluster(hosts, rate=rate) as together, tempfile.TemporaryDirectory() as folder:
        names = ",".join(host.name for host in together.hosts)
        launch = together.hosts[0].start(
            "dlhost", "launch", f"--hosts={names}", f"--shell={together.shell(pathlib.Path(folder))}", f"--listen={together.hosts[0].address}", *words,
            f"--set=topology.network={NETWORK}", "--set=topology.run_as=processes", env=os.environ)
        return launch.wait()


if __name__ == "__main__":
    cluster.enter()
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
