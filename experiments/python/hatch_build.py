"""Puts the binary of one platform into the wheel, among the scripts, as pip installs them.

CALIBRA_BINARY names the binary; without it, Go builds one for this machine. Version and
platform of the wheel are those that the binary says of itself. The wheel's licences are that of
Calibra and, in NOTICES, those of what the binary links.
"""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# What runs the binary: any glibc since 2.17 (2014), and the oldest macOS that Go supports.
PLATFORMS = {
    ("linux", "amd64"): "manylinux_2_17_x86_64",
    ("linux", "arm64"): "manylinux_2_17_aarch64",
    ("darwin", "amd64"): "macosx_12_0_x86_64",
    ("darwin", "arm64"): "macosx_12_0_arm64",
    ("windows", "amd64"): "win_amd64",
    ("windows", "arm64"): "win_arm64",
}


@functools.cache
def binary():
    if path := os.environ.get("CALIBRA_BINARY"):
        return pathlib.Path(path).resolve()
    if shutil.which("go") is None:
        raise SystemExit("localcal is built from source by Go, which is not on the PATH: install it from https://go.dev/dl and repeat the command, or install a wheel")
    folder = tempfile.mkdtemp()
    here = pathlib.Path(__file__).parent
    environment = {**os.environ, "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-trimpath", "-buildvcs=auto", "-tags", "arrow_json_stdlib,sourceless", "-ldflags", "-s -w", "-o", folder + os.sep, "../cmd/calibra"], cwd=here, env=environment, check=True)
    (built,) = pathlib.Path(folder).iterdir()
    return built


@functools.cache
def built():
    """What Go wrote into the binary: its version, and GOOS and GOARCH."""
    lines = subprocess.run(["go", "version", "-m", str(binary())], capture_output=True, text=True, check=True).stdout
    fields = [line.split("\t") for line in lines.splitlines()]
    settings = dict(f[2].split("=", 1) for f in fields if len(f) > 2 and f[1] == "build" and "=" in f[2])
    (module,) = [f[3] for f in fields if len(f) > 3 and f[1] == "mod"]
    return module, (settings["GOOS"], settings["GOARCH"])


def version():
    """The binary's version as PEP 440 writes it: v1.2.3 is 1.2.3, a commit after it a .dev of its time."""
    module, _ = built()
    if found := re.fullmatch(r"v(\d+\.\d+\.\d+)(?:-(?:[\w.]*\.)?(\d{14})-([0-9a-f]{12}))?(\+dirty)?", module):
        release, time, commit, dirty = found.groups()
        local = ".".join(filter(None, [commit and "g" + commit, dirty and "dirty"]))
        return release + (f".dev{time}" if time else "") + ("+" + local if local else "")
    return "0.0.0.dev0"  # built outside a repository


class LicenceHook(MetadataHookInterface):
    def update(self, metadata):
        here = pathlib.Path(self.root)
        folder = here / "licences"
        folder.mkdir(exist_ok=True)
        shutil.copyfile(here.parents[1] / "LICENSE", folder / "LICENSE")
        with open(folder / "NOTICES", "wb") as out:
            subprocess.run([sys.executable, here / "notices.py", binary()], stdout=out, check=True)


class BinaryHook(BuildHookInterface):
    def initialize(self, version, build_data):
        _, platform = built()
        build_data["tag"] = "py3-none-" + PLATFORMS[platform]
        build_data["shared_scripts"] = {str(binary()): "calibra.exe" if platform[0] == "windows" else "calibra"}
