"""What the wheels of `make wheels` hold; skipped where dist has none."""
import os
import pathlib
import struct
import subprocess
import zipfile

import pytest

PACKAGE = pathlib.Path(__file__).parents[1] / "localcal"
DIST = pathlib.Path(os.environ.get("CALIBRA_WHEELS", pathlib.Path(__file__).parents[3] / "dist"))
WHEELS = sorted(DIST.glob("localcal-*.whl"))

# tag: how the binary begins, where its machine is, and which.
PLATFORMS = {
    "manylinux_2_17_x86_64": (b"\x7fELF", lambda b: struct.unpack("<H", b[18:20])[0], 62),
    "manylinux_2_17_aarch64": (b"\x7fELF", lambda b: struct.unpack("<H", b[18:20])[0], 183),
    "macosx_12_0_x86_64": (b"\xcf\xfa\xed\xfe", lambda b: struct.unpack("<I", b[4:8])[0], 0x01000007),
    "macosx_12_0_arm64": (b"\xcf\xfa\xed\xfe", lambda b: struct.unpack("<I", b[4:8])[0], 0x0100000C),
    "win_amd64": (b"MZ", lambda b: struct.unpack("<H", b[struct.unpack("<I", b[60:64])[0] + 4 :][:2])[0], 0x8664),
    "win_arm64": (b"MZ", lambda b: struct.unpack("<H", b[struct.unpack("<I", b[60:64])[0] + 4 :][:2])[0], 0xAA64),
}

pytestmark = pytest.mark.skipif(len(WHEELS) < len(PLATFORMS), reason="make wheels makes them")


def tag(path):
    return path.stem.split("-", 4)[4] if path.stem.count("-") > 4 else path.stem.split("-")[-1]


def linked(binary, path):
    """Go and the modules that a binary links, as NOTICES names them; Go reads it."""
    path.write_bytes(binary)
    lines = subprocess.run(["go", "version", "-m", path], capture_output=True, text=True, check=True).stdout.splitlines()
    return ["Go, its runtime and standard library"] + [" ".join(line.split("\t")[2:4]) for line in lines if line.startswith("\tdep\t")]


def test_there_is_one_of_each_platform():
    assert sorted(tag(path) for path in WHEELS) == sorted(PLATFORMS)
    assert len({path.name.split("-")[1] for path in WHEELS}) == 1  # one version
    assert all(path.name.split("-")[2:4] == ["py3", "none"] for path in WHEELS)


@pytest.mark.parametrize("path", WHEELS, ids=tag)
def test_it_holds_the_package_and_the_binary(path, tmp_path):
    begins, machine, number = PLATFORMS[tag(path)]
    name = "calibra.exe" if tag(path).startswith("win") else "calibra"
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        names = wheel.namelist()
        modules = {n for n in names if n.startswith("localcal/")}
        assert modules == {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.suffix in (".py", ".typed")}
        (script,) = [n for n in names if ".data/scripts/" in n]
        assert script.endswith("/scripts/" + name)
        binary = wheel.read(script)
        assert binary.startswith(begins) and machine(binary) == number
        assert wheel.getinfo(script).external_attr >> 16 & 0o111 or name.endswith(".exe")
        held = {n.rpartition("/")[2]: wheel.read(n).decode() for n in names if ".dist-info/licenses/" in n}
        assert sorted(held) == ["LICENSE", "NOTICES"] and "Apache License" in held["LICENSE"]
        assert not [m for m in linked(binary, tmp_path / name) if f"\n{m}: " not in held["NOTICES"]]
        (about,) = [n for n in names if n.endswith(".dist-info/METADATA")]
        text = wheel.read(about).decode()
        assert [line for line in text.splitlines() if line.startswith("Requires-Dist") and "extra" not in line] == ["Requires-Dist: numpy>=1.22", "Requires-Dist: onnxruntime>=1.16"]
        (kind,) = [n for n in names if n.endswith(".dist-info/WHEEL")]
        assert f"Tag: py3-none-{tag(path)}" in wheel.read(kind).decode()
