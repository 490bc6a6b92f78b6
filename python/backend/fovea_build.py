"""Builds wheels of fovea (PEP 517) with CMake and the standard library.

The module and its package are installed by CMake's component `python` and zipped, with models and recipes beside them.

    pip install .
    pip install . --config-settings build-dir=build/release     # a folder that CMake has configured and built before
    pip install . --config-settings cmake=-DFOVEA_CUDA=ON       # options of CMake, separated by spaces
"""
import base64
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ("models", "recipes")  # what load() and train() find by name
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the date of every file, so that equal files make equal wheels


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        staged = pathlib.Path(folder)
        _install(_built(config_settings or {}), staged)
        files = {path.relative_to(staged).as_posix(): path for path in staged.rglob("*") if path.is_file()}
        for name in DATA:
            files.update({f"fovea/{path.relative_to(ROOT).as_posix()}": path
                          for path in (ROOT / name).rglob("*") if path.is_file()})
        return _write_wheel(pathlib.Path(wheel_directory), files)


def build_sdist(sdist_directory, config_settings=None):
    """The files that git knows, or all but build folders where there is no git."""
    base = f"fovea-{_version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    names = listed.stdout.decode().split("\0")[:-1] if listed.returncode == 0 else [
        path.relative_to(ROOT).as_posix() for path in sorted(ROOT.rglob("*"))
        if path.is_file() and path.relative_to(ROOT).parts[0] not in ("build", "runs", ".git")]
    with tempfile.TemporaryDirectory() as folder:
        metadata = pathlib.Path(folder) / "PKG-INFO"
        metadata.write_text(_metadata())
        with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
            archive.add(metadata, f"{base}/PKG-INFO")
            for name in names:
                archive.add(ROOT / name, f"{base}/{name}")
    return f"{base}.tar.gz"


def _run(*command):
    print("+", shlex.join(map(str, command)), flush=True)
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True)


def _built(settings):
    """The build folder with the module for this Python."""
    unknown = set(settings) - {"build-dir", "cmake"}
    if unknown:
        raise SystemExit(f"fovea: --config-settings: expected build-dir or cmake, got {', '.join(sorted(unknown))}")
    folder = (ROOT / settings.get("build-dir", f"build/wheel-{sys.implementation.cache_tag}")).resolve()
    if not (folder / "CMakeCache.txt").exists():
        ninja = ["-G", "Ninja"] if subprocess.run(["sh", "-c", "command -v ninja"], capture_output=True).returncode == 0 else []
        off = [f"-DFOVEA_{part}=OFF" for part in ("PROGRAM", "TESTS", "BENCH", "EXAMPLES")]
        _run("cmake", "-S", ROOT, "-B", folder, *ninja, *off, "-DFOVEA_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}",
             "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG", *shlex.split(settings.get("cmake", "")))
    _run("cmake", "--build", folder, "--target", "fovea_python", "--parallel", os.environ.get("FOVEA_JOBS", os.cpu_count()))
    return folder


def _install(folder, staged):
    _run("cmake", "--install", folder, "--component", "python", "--prefix", staged / "prefix", "--strip")
    found = list((staged / "prefix").rglob("fovea/__init__.py"))
    found[0].parent.rename(staged / "fovea")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if not (staged / "fovea" / f"_fovea{suffix}").exists():
        raise SystemExit(f"fovea: {folder}: expected a module for this Python, _fovea{suffix}; was it built for another?")


def _version():
    return re.search(r"^project\(fovea VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def _project(key):
    """A string of pyproject.toml, which Python reads itself only from 3.11 on."""
    return re.search(rf'^{key} = "([^"]*)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]


def _metadata():
    return (f"Metadata-Version: 2.1\nName: fovea\nVersion: {_version()}\nSummary: {_project('description')}\n"
            f"License: Apache-2.0\nRequires-Python: {_project('requires-python')}\nRequires-Dist: numpy\n"
            f"Description-Content-Type: text/markdown\n\n{(ROOT / 'docs/python.md').read_text()}")


def _tag():
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())  # linux_x86_64: built for the libraries of this system
    return f"{version}-{version}-{platform}"


def _write_wheel(directory, files):
    base, tag = f"fovea-{_version()}", _tag()
    name = f"{base}-{tag}.whl"
    texts = {f"{base}.dist-info/METADATA": _metadata(),
             f"{base}.dist-info/WHEEL": f"Wheel-Version: 1.0\nGenerator: fovea_build\nRoot-Is-Purelib: false\nTag: {tag}\n",
             f"{base}.dist-info/LICENSE": (ROOT / "LICENSE").read_text()}
    with zipfile.ZipFile(directory / name, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:
        listed = []

        def add(path, data):
            entry = zipfile.ZipInfo(path, FIRST_DAY)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            listed.append(f"{path},sha256={digest},{len(data)}\n")

        for path in sorted(files):
            add(path, files[path].read_bytes())
        for path, text in texts.items():
            add(path, text.encode())
        record = f"{base}.dist-info/RECORD"
        wheel.writestr(zipfile.ZipInfo(record, FIRST_DAY), "".join(listed) + f"{record},,\n")
    return name
