#!/usr/bin/env python3
"""inspect_test.py DLHOST GOOD_PLUGIN BAD_PLUGINS: `dlhost inspect` shows all plugins, also faulty ones.

DLHOST_PLUGIN_PATH names the folder of dlhost's own plugins."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

dlhost, good, bad = map(os.path.realpath, sys.argv[1:4])
del sys.argv[1:4]
own_plugins = os.environ["DLHOST_PLUGIN_PATH"]
ONES_SCALE = {"name": "scale", "type": "number", "doc": "the value", "required": False, "default": "1.0"}


class Inspect(unittest.TestCase):
    """Every test has its own folder of plugins, and no other."""

    program = [dlhost]

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.environment = {"DLHOST_PLUGIN_PATH": str(self.make("plugins")), "XDG_DATA_HOME": str(self.root / "home")}

    def make(self, name: str) -> pathlib.Path:
        folder = self.root / name
        folder.mkdir(parents=True)
        return folder

    def run_program(self, *words: str, code: int = 0) -> str:
        done = subprocess.run([*self.program, *words], capture_output=True, text=True, timeout=120, cwd=self.root,
                              env=os.environ | self.environment)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout if code == 0 else done.stdout + done.stderr

    def inspect(self, *words: str, code: int = 0) -> str:
        return self.run_program("inspect", *words, code=code)

    def told(self, *words: str) -> dict | list:
        return json.loads(self.inspect(*words, "--json"))

    def put(self, plugin: str | pathlib.Path, folder: str = "plugins") -> pathlib.Path:
        return pathlib.Path(shutil.copy(plugin, self.root / folder))


class Plugins(Inspect):
    def setUp(self) -> None:
        super().setUp()
        self.put(good)

    def test_what_is_wrong_with_each(self) -> None:
        for name in ("static_crash", "static_hang", "static_throw", "no_plugin", "step", "twin_a"):
            self.put(f"{bad}/{name}.so")
        plugins = {pathlib.Path(p["path"]).stem: p for p in self.told()["plugins"]}
        self.assertEqual((plugins["ones"]["problems"], plugins["twin_a"]["problems"]), ([], []))
        ones = plugins["ones"]["products"][0]
        self.assertEqual((ones["kind"], ones["name"], ones["doc"]), ("initializer", "ones", "Every element the same."))
        self.assertEqual(ones["options"], [ONES_SCALE])
        how = plugins["step"]["products"][0]["options"][0]
        self.assertEqual(how["choices"], ["throws", "crashes", "hangs", "ends"])
        self.assertIn("it crashed with SIGSEGV in loading", plugins["static_crash"]["problems"][0])
        self.assertIn("it hangs in loading: not back after 5000 ms", plugins["static_hang"]["problems"][0])
        self.assertIn("an uncaught exception in loading", plugins["static_throw"]["problems"][0])
        self.assertIn("not a dlhost plugin", plugins["no_plugin"]["problems"][0])

    def test_what_is_wrong_in_words(self) -> None:
        crashes = self.put(f"{bad}/static_crash.so")
        text = self.inspect()
        self.assertIn("Every element the same", text)
        self.assertIn(f"  {crashes}\n    it crashed", text)
        self.assertIn("refused: it crashed", self.inspect(str(crashes), code=1))

    def test_the_choices_of_an_option(self) -> None:
        self.put(f"{bad}/step.so")
        text = self.inspect("step")
        self.assertIn("throws | crashes | hangs | ends", text)
        self.assertIn("default \"throws\"", text)

    def test_the_range_and_the_default_of_an_option_and_the_version(self) -> None:
        path = self.put(f"{own_plugins}/dropout.so")
        plugin, = self.told("dropout")
        ratio, = plugin["products"][0]["options"]
        self.assertEqual((ratio["name"], ratio["type"], ratio["default"]), ("ratio", "number", "0.5"))
        self.assertEqual((ratio["lowest"], ratio["highest"], ratio["open_high"]), (0, 1, True))
        self.assertNotIn("open_low", ratio)
        self.assertRegex(plugin["version"], r"^\d+\.\d+")
        text = self.inspect("dropout")
        self.assertRegex(text, r"\n    ratio +number, at least 0 and below 1 +default 0\.5 +\S")
        self.assertIn(f"  in {path}, version {plugin['version']}, built by {plugin['compiler']} for SDK epoch ", text)
        self.assertRegex(self.inspect(), rf"\nlayer +dropout +{plugin['version']} +Drops elements")

    def test_what_a_transport_can_run_over(self) -> None:
        self.put(f"{own_plugins}/shm.so")
        plugin, = self.told("shm")
        self.assertEqual(plugin["products"][0]["ways"], [], "there is nothing to choose")
        if not pathlib.Path(own_plugins, "fabric.so").exists():
            self.skipTest("built without libfabric")
        self.put(f"{own_plugins}/fabric.so")
        plugin, = self.told("fabric")
        ways = {way["name"]: way for way in plugin["products"][0]["ways"]}
        taken, = (way for way in ways.values() if way["chosen"])
        self.assertIn("tcp", ways)
        for way in (taken, ways["tcp"]):
            self.assertTrue(way["usable"] and way["places"] and "tagged messages" in way["can"], way)
            self.assertGreater(way["latency_us"], 0.1)
            self.assertGreater(way["gigabytes_per_second"], 0.001)
        self.assertTrue(all(way["why"] for way in ways.values()), ways)
        self.assertIn("this machine only", ways["shm"]["why"])
        text = self.inspect("fabric", "--set", "listen=127.0.0.0/8")
        self.assertRegex(text, rf"\n    {taken['name']} +[\d.]+ us +[\d.]+ GB/s +taken: ")
        wrong = self.told("fabric", "--set", "listen=192.0.2.77")[0]["products"][0]
        self.assertIn("this machine has no address in 192.0.2.77", wrong["ways_problem"])
        unknown = self.told("fabric", "--set", "speed=7")[0]["products"][0]
        self.assertIn("speed", unknown["ways_problem"])

    def test_an_option_without_a_default(self) -> None:
        self.put(f"{own_plugins}/dense.so")
        units = next(option for option in self.told("dense")[0]["products"][0]["options"] if option["name"] == "units")
        self.assertEqual((units["required"], units["lowest"]), (True, 1))
        self.assertNotIn("default", units)
        self.assertRegex(self.inspect("dense"), r"\n    units +integer, at least 1 .*required ")

    def test_what_a_job_may_call(self) -> None:
        """Outputs, params with their initial values, and core's keys of each layer."""
        for name in "dense", "softmax_loss", "csv":
            self.put(f"{own_plugins}/{name}.so")
        said = self.inspect("dense")
        self.assertRegex(said, r"\n  with an input of \[2, 4, 8, 8\] and \{ units = 2 \}:\n    output +y +\[2, 2\]\n"
                               r"    param +weight +\[2, 4, 8, 8\] +init = .*\n    param +bias +\[2\] +init = .*\n")
        self.assertRegex(said, r"\n  and, as each layer: .*frozen")
        self.assertRegex(self.inspect("softmax_loss"), r"\n    output +probabilities +\[2, 4\]\n")
        self.assertNotIn("with an input", self.inspect("csv"))  # it reads a file and has no input

    def test_unknown_names(self) -> None:
        self.assertIn("did you mean 'ones'", self.inspect("onse", code=1))
        self.assertIn("did you mean 'initializer'", self.inspect("--kind", "initialiser", code=1))

    def test_one_kind(self) -> None:
        """All plugins with that kind; only their products of that kind."""
        self.put(f"{bad}/twin_a.so")
        for name in ("dropout", "adam"):
            self.put(f"{own_plugins}/{name}.so")

        def names(*words: str) -> set[tuple[str, str]]:
            return {(x["kind"], x["name"]) for plugin in self.told(*words)["plugins"] for x in plugin["products"]}

        initializers = {("initializer", name) for name in ("ones", "zeros", "twin_a")}
        self.assertEqual(names(), initializers | {("layer", "dropout"), ("updater", "adam")})
        for kind, expected in {"initializer": initializers, "layer": {("layer", "dropout")}}.items():
            self.assertEqual(names("--kind", kind), expected)
            listed = self.inspect("--kind", kind).split("\nfolders")[0]
            self.assertEqual({tuple(line.split()[:2]) for line in listed.splitlines() if line}, expected)
        self.assertEqual(self.told("dropout", "--kind", "layer")[0]["products"][0]["name"], "dropout")
        self.assertIn("there is no updater 'dropout'", self.inspect("dropout", "--kind", "updater", code=1))
        self.assertIn("no plugins found", self.inspect("--kind", "codec"))

    def test_a_file_that_is_not_there(self) -> None:
        missing = self.inspect(f"{self.root}/nowhere.so", code=1)
        self.assertLessEqual(missing.count("nowhere.so"), 2, missing)
        self.assertEqual(missing.count("No such file"), 1, missing)

    def test_a_folder_that_everyone_can_change_is_not_used_and_the_reason_is_told(self) -> None:
        folder = self.root / "plugins"
        folder.chmod(0o777)
        reason = f"the folder {folder} can be changed by everyone: chmod o-w {folder}"
        told = self.told()
        self.assertEqual(told["plugins"], [])
        self.assertEqual([entry["problems"] for entry in told["folders"] if entry["path"] == str(folder)], [[reason]])
        text = self.inspect()
        self.assertIn(f"  {folder} (DLHOST_PLUGIN_PATH)\n    not used: {reason}\n", text)
        self.assertNotIn("Every element the same", text)
        folder.chmod(0o755)
        self.assertEqual([entry["problems"] for entry in self.told()["folders"] if entry["path"] == str(folder)], [[]])

    def test_what_one_folder_has_twice_clashes(self) -> None:
        other = str(shutil.copy(good, self.root / "plugins/another.so"))
        clashes = {plugin["path"]: [product.get("clashes_with") for product in plugin["products"]]
                   for plugin in self.told()["plugins"]}
        self.assertEqual(clashes, {other: [None, None], str(self.root / "plugins/ones.so"): [other, other]})
        self.assertRegex(self.inspect(), rf"\ninitializer +zeros .* clashes with {other}\n")


class Search(Inspect):
    """The folders of plugins, and the choice between two copies."""

    def setUp(self) -> None:
        super().setUp()
        # The install's folder is relative to the program; tests have no install, so the program moves.
        self.program = [str(shutil.copy(dlhost, self.make("install/bin")))]
        shutil.copy(pathlib.Path(dlhost).parent / "../tools/dlhost-inspect", self.make("install/libexec/dlhost"))
        linked = subprocess.run(["ldd", dlhost], capture_output=True, text=True).stdout.splitlines()
        own = sorted({os.path.dirname(line.split()[2]) for line in linked if "libdlhost" in line})
        if before := os.environ.get("LD_LIBRARY_PATH"):
            own.append(before)
        self.environment["LD_LIBRARY_PATH"] = ":".join(own)
        install, = (entry["path"] for entry in self.told()["folders"] if entry["origin"] == "the install")
        self.assertTrue(install.startswith(f"{self.root}/install/"), install)
        self.folders = [
            ("--plugin-dir", self.make("typed")),
            ("DLHOST_PLUGIN_PATH", self.root / "plugins"),
            ("the user's data home", self.make("home/dlhost/plugins")),
            ("the install", self.make(install)),
        ]
        self.program += ["--plugin-dir", str(self.folders[0][1])]

    def overridden(self) -> dict[str, list[str | None]]:
        """For each file, the files that override its products."""
        return {plugin["path"]: [product.get("overridden_by") for product in plugin["products"]]
                for plugin in self.told()["plugins"]}

    def test_the_order_of_the_folders(self) -> None:
        """The first folder with a plugin provides it; inspect marks all other copies as overridden."""
        copies = [str(shutil.copy(good, folder)) for _, folder in self.folders]
        self.assertEqual([(entry["origin"], entry["path"]) for entry in self.told()["folders"]],
                         [(origin, str(folder)) for origin, folder in self.folders])
        while copies:
            taken, *others = copies
            with self.subTest(taken=taken):
                self.assertEqual(self.overridden(), {taken: [None, None]} | {other: [taken, taken] for other in others})
                text = self.inspect("ones")
                self.assertEqual(text.count(f"overridden by {taken}\n"), len(others), text)
            os.unlink(copies.pop(0))

    def test_the_copy_that_inspect_names_is_the_one_that_is_used(self) -> None:
        """The digest in the run's summary identifies the used file."""
        (self.root / "job.toml").write_text(JOB)
        self.environment["DLHOST_PLUGIN_PATH"] += f":{own_plugins}"
        copies = [pathlib.Path(shutil.copy(good, folder)) for _, folder in self.folders]
        for number, copy in enumerate(copies):
            copy.write_bytes(copy.read_bytes() + bytes(number))  # the file differs, the plugin does not
        for number, copy in enumerate(copies):
            digest = hashlib.blake2b(copy.read_bytes(), digest_size=16).hexdigest()[:16]
            self.run_program("run", "job.toml", f"--set=record.folder=runs{number}")
            summary = json.loads(next(self.root.glob(f"runs{number}/*/summary.json")).read_text())
            self.assertEqual(summary["versions"]["plugin ones"].split("+")[1], digest, copy)
            copy.unlink()

    def test_several_folders_in_the_order_in_which_they_are_named(self) -> None:
        copies = [str(shutil.copy(good, self.make(name))) for name in ("one", "other")]
        for taken, other in copies, reversed(copies):
            self.environment["DLHOST_PLUGIN_PATH"] = f"{os.path.dirname(taken)}:{os.path.dirname(other)}"
            self.assertEqual(self.overridden(), {taken: [None, None], other: [taken, taken]})


class Host(Inspect):
    def test_what_this_machine_offers(self) -> None:
        self.put(good)
        machine = self.told("host")
        kinds = {"dlhost": {"version": str, "compiler": str, "epoch": int},
                 "cpu": {"model": str, "instruction_sets": str, "cores": int, "cores_usable": int, "numa_nodes": int},
                 "memory": {"total_bytes": int, "available_bytes": int},
                 "shared_memory": {"path": str, "total_bytes": int, "free_bytes": int}}
        for part, keys in kinds.items():
            for key, kind in keys.items():
                self.assertIsInstance(machine[part][key], kind, f"{part}.{key}")
        lists = {"gpus": {"name": str, "memory_bytes": int}, "fabrics": {"name": str, "kind": str},
                 "libraries": {"name": str, "file": str, "for": str, "found": bool}}
        for part, keys in lists.items():
            self.assertIsInstance(machine[part], list)
            for each in machine[part]:
                for key, kind in keys.items():
                    self.assertIsInstance(each[key], kind, f"{part}.{key} of {each}")
        cpu, memory, shared = machine["cpu"], machine["memory"], machine["shared_memory"]
        self.assertTrue(1 <= cpu["cores_usable"] <= cpu["cores"], cpu)
        self.assertGreaterEqual(cpu["numa_nodes"], 1)
        self.assertTrue(0 < memory["available_bytes"] <= memory["total_bytes"], memory)
        self.assertEqual(shared["path"], "/dev/shm")
        self.assertLessEqual(shared["free_bytes"], shared["total_bytes"])
        self.assertIn("SDK epoch", machine["dlhost"]["version"])
        for library in machine["libraries"]:
            told = any(library["file"] in piece for piece in machine["missing"])
            self.assertEqual(told, not library["found"], library)
            self.assertRegex(library.get("version", "0.0"), r"^\d+\.\d+")
        self.assertTrue(any("version" in library for library in machine["libraries"]))
        self.assertEqual(any("GPU" in piece for piece in machine["missing"]), not machine["gpus"])

        text = self.inspect("host")
        cores = f"{cpu['cores_usable']} usable of {cpu['cores']}, {cpu['numa_nodes']} NUMA node"
        lines = [rf"dlhost +{re.escape(machine['dlhost']['version'])}, built by ", f"CPU +{re.escape(cpu['model'])}",
                 f"cores +{cores}", r"memory +[\d.]+ GiB, available [\d.]+ GiB",
                 r"/dev/shm +[\d.]+ GiB, free [\d.]+ GiB"]
        for library in machine["libraries"]:
            if library["found"]:
                self.assertTrue(library["lies_in"], library)
                shown = library.get("version", library["lies_in"])
                lines.append(f"library +{library['name']} {re.escape(shown)}")
        for line in lines:
            self.assertRegex(text, rf"(?m)^{line}")
        self.assertIn(cpu["instruction_sets"], text)
        self.assertEqual(text.count("\nGPU "), len(machine["gpus"]))
        self.assertEqual(text.count("\nfabric "), len(machine["fabrics"]))


JOB = """name = "small"
train = { device = "ref", batch = 5, threads = 1, stop = { steps = 1 } }
[[layer]]
name = "data"
type = "synthetic"
shape = [30]
[[layer]]
name = "fc"
type = "dense"
src = "data"
units = 10
param.weight.init = "ones"
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc", "data:label"]
"""

if __name__ == "__main__":
    unittest.main()
