#!/usr/bin/env python3
"""with_etcd.py COMMAND...: runs the command beside an etcd of its own; ETCD in its words becomes etcd's address."""
import json
import subprocess
import sys
import tempfile
import time
import urllib.request

import services


def is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url + "/health", timeout=1) as answer:
            return json.load(answer)["health"] == "true"
    except (OSError, ValueError, KeyError):
        return False


def main() -> int:
    program = services.find("etcd")
    if not program:
        services.skip("there is no etcd here; ./dev setup --for test gets one")
    client, peer = (f"http://127.0.0.1:{port}" for port in services.free_ports(2))
    with tempfile.TemporaryDirectory(prefix="dlhost-test-") as folder, open(f"{folder}/log", "w+") as log:
        etcd = subprocess.Popen([program, "--name", "one", "--data-dir", f"{folder}/data", "--listen-client-urls", client,
                                 "--advertise-client-urls", client, "--listen-peer-urls", peer,
                                 "--initial-advertise-peer-urls", peer, "--initial-cluster", f"one={peer}",
                                 "--unsafe-no-fsync"], stdout=log, stderr=log)
        try:
            end = time.monotonic() + 30
            while not is_healthy(client):
                if etcd.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    print("etcd does not come up:", log.read())
                    return 1
                time.sleep(0.05)
            return subprocess.run([word.replace("ETCD", client) for word in sys.argv[1:]], timeout=280, check=False).returncode
        finally:
            etcd.kill()
            etcd.wait()


sys.exit(main())
