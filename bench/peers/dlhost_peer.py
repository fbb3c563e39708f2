"""dlhost as a peer: answers the same requests as the other processes, each by a whole `dlhost run`."""

import json

from workload import LOSS_STEPS, Prepared, dlhost, run_dlhost


class DlhostPeer:
    def __init__(self, prepared: Prepared, dtype: str, threads: int, isa: str | None = None):
        self.prepared = prepared
        self.settings = {"train.dtype": dtype, "train.threads": threads}
        if isa:
            self.settings |= {"train.device": {"type": "cpu", "isa": isa}}
        self.step_seconds = 0.0

    def _run(self, steps: int, *flags: str, every: int = 1000000):
        settings = self.settings | {"train.stop.steps": steps, "record.every.steps": every}
        return run_dlhost(self.prepared.workload, self.prepared.folder, settings, *flags)

    def start(self) -> dict:
        run = self._run(LOSS_STEPS, every=1)
        records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        losses = [record["metrics"]["loss"] for record in records if record["phase"] == "train"]
        summary = json.loads((run / "summary.json").read_text())
        self.step_seconds = summary["step_seconds"]["median"]
        # The memory that peers hold before they count: the params, and the arrays, whose file a run maps.
        held = sum(value.nbytes for value in self.prepared.params.values())
        held += sum(value.nbytes for batch in self.prepared.batches() for value in batch)
        added = summary["peak_rss_bytes"] - summary["started_rss_bytes"] - held
        return {"losses": losses, "added_bytes": added}

    def time(self, seconds: float) -> dict:
        """Returns the median and the minimum of the steps that fit into the time."""
        run = self._run(max(4, round(seconds / self.step_seconds)))
        return json.loads((run / "summary.json").read_text())["step_seconds"]

    def operations(self) -> float:
        """Returns the operations of one step, from which every system's speed is computed."""
        described = dlhost("check", self.prepared.workload, self.prepared.folder, self.settings, "--json")
        return json.loads(described)["operations"]

    def peak(self) -> float:
        """Returns the machine's operations per second in a large matrix product."""
        run = self._run(2, "--profile")
        return json.loads((run / "profile.json").read_text())["peak_operations_per_second"]
