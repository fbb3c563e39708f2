"""The compared nets: those of the speed table, each a job of dlhost. A peer builds its net from the same resolved job
and starts from the same values on the same arrays."""

import json
import pathlib
import shutil
import subprocess
import tomllib
from dataclasses import dataclass

import numpy as np
from safetensors.numpy import load_file

JOBS = pathlib.Path(__file__).resolve().parent / "jobs"
LOSS_STEPS = 10


@dataclass(frozen=True)
class Workload:
    name: str
    shape: tuple[int, ...]  # of a sample
    classes: int
    batch: int
    batches: int = 2  # in the arrays

    @property
    def job(self) -> pathlib.Path:
        return JOBS / f"{self.name}.toml"


WORKLOADS = [
    Workload("mlp-deep", (784,), 10, 100, 10),
    Workload("mlp-small", (784,), 10, 64, 10),
    Workload("cuda-convnet", (3, 32, 32), 10, 256),
    Workload("alexnet", (3, 224, 224), 1000, 64),
    Workload("resnet20", (3, 32, 32), 10, 128),
    Workload("resnet50", (3, 224, 224), 1000, 16),
    Workload("speech-net", (1100,), 9000, 256),
]


@dataclass(frozen=True)
class Layer:
    """A layer of the resolved job, which has repeats and blocks expanded and default options omitted."""

    name: str
    type: str
    src: list[str]
    options: dict

    def pair(self, key: str, default: int) -> tuple[int, int]:
        value = self.options.get(key, default)
        value = value if isinstance(value, list) else [value]
        return (value[0], value[-1])


@dataclass
class Prepared:
    """A workload in a folder of its own: the arrays, the initial params, and the layers."""

    workload: Workload
    folder: pathlib.Path
    layers: list[Layer]
    rate: float
    momentum: float

    @property
    def params(self) -> dict[str, np.ndarray]:
        """The initial params. A dense layer's weight is a matrix here; dlhost keeps the shape of its input samples."""
        params = load_file(self.folder / "params.safetensors")
        for layer in self.layers:
            if layer.type == "dense":
                weight = params[f"{layer.name}.weight"]
                params[f"{layer.name}.weight"] = weight.reshape(len(weight), -1)
        return params

    def batches(self) -> list[tuple[np.ndarray, np.ndarray]]:
        x, label = np.load(self.folder / "x.npy"), np.load(self.folder / "label.npy")
        size = self.workload.batch
        return [(x[at : at + size], label[at : at + size]) for at in range(0, len(x), size)]


def toml_of(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_of(of_key)}" for key, of_key in value.items()) + "}"
    return json.dumps(value)


def dlhost(verb: str, workload: Workload, folder: pathlib.Path, settings: dict[str, object], *flags: str) -> str:
    command = ["dlhost", verb, str(workload.job), *flags]
    for key, value in {"layer.data.folder": str(folder), "train.batch": workload.batch, **settings}.items():
        command += ["--set", f"{key}={toml_of(value)}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"peers: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_dlhost(workload: Workload, folder: pathlib.Path, settings: dict[str, object], *flags: str) -> pathlib.Path:
    """Trains, and returns the run's folder, which replaces the previous one."""
    runs = folder / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    dlhost("run", workload, folder, {"record.folder": str(runs), "train.shuffle": False, **settings}, *flags)
    (run,) = runs.iterdir()
    return run


def _make_arrays(workload: Workload, folder: pathlib.Path) -> None:
    draw = np.random.default_rng(1)
    count = workload.batch * workload.batches
    np.save(folder / "x.npy", draw.standard_normal((count, *workload.shape), dtype=np.float32))
    np.save(folder / "label.npy", draw.integers(0, workload.classes, count, dtype=np.int32))


def _read_layers(resolved: dict) -> list[Layer]:
    layers = []
    for table in resolved["layer"]:
        options = dict(table)
        phases = options.pop("phases", [])
        if phases and "train" not in phases:
            continue
        src = options.pop("src", [])
        layers.append(Layer(options.pop("name"), options.pop("type"), src if isinstance(src, list) else [src], options))
    return layers


def prepare(workload: Workload, folder: pathlib.Path) -> Prepared:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "x.npy").exists():
        _make_arrays(workload, folder)
    # A step with a rate of zero leaves the first values in its checkpoint. f32, because every processor has it.
    settings = {"train.stop.steps": 1, "updater.rate": 0.0, "checkpoint.keep": 1, "train.dtype": "f32"}
    run = run_dlhost(workload, folder, settings)
    (params,) = run.glob("checkpoints/step-*/params.safetensors")
    params.replace(folder / "params.safetensors")
    resolved = tomllib.loads((run / "job.toml").read_text())
    updater = {}
    for job in (JOBS / "common.toml", workload.job):  # the jobs' own rate: this run had another one
        updater |= tomllib.loads(job.read_text()).get("updater", {})
    return Prepared(workload, folder, _read_layers(resolved), updater["rate"], updater["momentum"])
