"""The package: a wheel that pip builds and installs into an empty environment, what it links, and its type stubs."""
import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import zipfile

import fovea

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("FOVEA_BUILD")

USES = """
import fovea, pathlib
assert "site-packages" in fovea.__file__, fovea.__file__
print(fovea.load("en-zh").translate("I love you.").text)
print(fovea.train("reverse", settings={"folder": "run", "training.steps": 2, "data.generated": 100, "data.generated_valid": 10,
      "model.hidden": 16, "threads": 1, "validation.sentences": 2}).steps)
"""


def needed(module):
    """The shared libraries that a module is linked with."""
    text = subprocess.run(["readelf", "-d", module], capture_output=True, text=True, check=True).stdout
    return sorted(re.findall(r"\(NEEDED\).*\[(.+)\]", text))


class Package(unittest.TestCase):
    def test_links_what_the_documentation_says(self):
        module = fovea._fovea.__file__
        table = (ROOT / "docs/python.md").read_text()
        documented = set(re.findall(r"^\| `(lib[^`]+)` \|", table, re.M))
        for library in needed(module):
            if re.match(r"lib(c|m|gcc_s|stdc\+\+|cudart|cublasLt)\.so|ld-linux", library):
                continue  # of every C++ program, and of CUDA
            self.assertIn(re.sub(r"(\.so|-\d).*", "", library), documented, library)

    def test_only_its_own_function_is_exported(self):
        text = subprocess.run(["nm", "-D", "--defined-only", fovea._fovea.__file__], capture_output=True, text=True, check=True).stdout
        strong = [line.split()[2] for line in text.splitlines() if line.split()[1] == "T"]
        self.assertEqual(strong, ["PyInit__fovea"])

    def test_pip_installs_a_wheel(self):
        if not BUILD:
            self.skipTest("needs FOVEA_BUILD, the folder of a build")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            environment = dict(os.environ, PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_CONFIG_FILE=os.devnull)
            environment.pop("PYTHONPATH", None)
            environment.pop("FOVEA_MODELS", None)
            made = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--config-settings", f"build-dir={BUILD}",
                                   "--wheel-dir", folder, ROOT], env=environment, capture_output=True, text=True)
            if "No module named pip" in made.stderr:
                self.skipTest("needs pip (python3-pip)")
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            [wheel] = folder.glob("*.whl")
            tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
            self.assertRegex(wheel.name, rf"^fovea-[\d.]+-{tag}-{tag}-linux_\w+\.whl$")
            with zipfile.ZipFile(wheel) as files:
                self.assertIsNone(files.testzip())
                names = files.namelist()
            for part in (f"fovea/_fovea{sysconfig.get_config_var('EXT_SUFFIX')}", "fovea/__init__.pyi", "fovea/py.typed",
                         "fovea/models/en-zh/config.json", "fovea/recipes/dates.toml"):
                self.assertIn(part, names)
            try:
                subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", folder / "venv"], check=True,
                               capture_output=True)
            except subprocess.CalledProcessError:
                self.skipTest("needs venv (python3-venv)")
            python = folder / "venv/bin/python"
            subprocess.run([python, "-m", "pip", "install", "--no-deps", wheel], env=environment, check=True, capture_output=True)
            said = subprocess.run([python, "-c", USES], env=environment, cwd=folder, capture_output=True, text=True)
            self.assertEqual(said.stdout.split(), ["我爱你。", "2"], said.stderr)
            listed = subprocess.run([python, "-m", "pip", "show", "-f", "fovea"], env=environment, capture_output=True, text=True)
            self.assertIn("Version: " + fovea.__version__, listed.stdout)


class Stubs(unittest.TestCase):
    """The stubs name every class, method and function of the module, with the same parameters, and no other."""

    @classmethod
    def setUpClass(cls):
        tree = ast.parse((pathlib.Path(fovea.__file__).parent / "__init__.pyi").read_text())
        cls.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        cls.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}

    def members(self, name):
        node = self.classes[name]
        found = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self.classes:
                found = {**self.members(base.id), **found}
        return found

    def test_names(self):
        public = set(fovea.__all__)
        self.assertEqual({n for n in self.classes if not n.startswith("_")} | set(self.functions), public)
        for name in public:
            self.assertEqual(getattr(fovea, name).__module__, "fovea")
            self.assertTrue(getattr(fovea, name).__doc__, name)

    def test_members(self):
        for name in self.classes:
            if name.startswith("_") or name == "Error":
                continue
            actual = {m for m in vars(getattr(fovea, name)) if not m.startswith("_") or m == "_repr_html_"}
            stubbed = {m for m in self.members(name) if not m.startswith("__")}
            self.assertEqual(actual, stubbed, name)

    def parameters(self, node):
        a = node.args
        names = [x.arg for x in a.posonlyargs + a.args + a.kwonlyargs if x.arg != "self"]
        return names + (["**"] if a.kwarg else []) + (["*"] if a.vararg else [])

    def test_parameters(self):
        def of(function):
            if inspect.isfunction(function):
                return list(inspect.signature(function).parameters)
            signature = re.sub(r"\[[^][]*\]", "", function.__doc__.split("\n")[0])
            inside = signature[signature.index("(") + 1:signature.rindex(") ->")] if ") ->" in signature else ""
            names = [part.split(":")[0].split("=")[0].strip() for part in inside.split(", ") if part.strip() not in ("*", "/", "")]
            return [{"**search": "**", "**options": "**", "**kwargs": "**", "*folders": "*", "*args": "*"}.get(n, n)
                    for n in names if n != "self"]
        for name, node in self.functions.items():
            self.assertEqual(of(getattr(fovea, name)), self.parameters(node) if name != "record" else
                             ["source_tokens", "target_tokens", "weights", "causal", "any_sums", "model"], name)
        for name in ("Model", "Record", "View"):
            for method, node in self.members(name).items():
                decorators = [d.id for d in node.decorator_list if isinstance(d, ast.Name)]
                if "property" in decorators or method.startswith("_"):
                    continue
                self.assertEqual(of(getattr(getattr(fovea, name), method)), self.parameters(node), f"{name}.{method}")


if __name__ == "__main__":
    unittest.main()
