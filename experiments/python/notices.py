"""Prints the licences and notices of what binaries link: of Go itself, and of each module, as the module cache has them.

    python notices.py BINARY… >NOTICES
"""
import json
import pathlib
import re
import subprocess
import sys

NAMES = re.compile(r"(licen[cs]e|copying|notice|patents|authors)", re.IGNORECASE)  # of the files, at the root of a module
LICENCE = re.compile(r"(licen[cs]e|copying)", re.IGNORECASE)


def linked(binary):
    """The modules of a binary, path@version: what replaces another is linked in its place."""
    modules = []
    for line in go("version", "-m", binary).splitlines():
        kind, *said = line.strip().split("\t")
        if kind == "dep":
            modules.append("@".join(said[:2]))
        elif kind == "=>":
            modules[-1] = "@".join(said[:2])
    return modules


def go(*words):
    here = pathlib.Path(__file__).parent
    return subprocess.run(["go", *words], cwd=here, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True).stdout


def objects(text):
    """The JSON objects that stand one after another."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        value, at = decoder.raw_decode(text, at)
        yield value


def notices(binaries):
    folders = {"Go, its runtime and standard library": go("env", "GOROOT").strip()}
    modules = dict.fromkeys(module for binary in binaries for module in linked(binary))
    folders |= {f"{m['Path']} {m['Version']}": m["Dir"] for m in objects(go("mod", "download", "-json", *modules))}
    for name, folder in folders.items():
        files = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_file() and NAMES.match(path.name))
        if not any(LICENCE.match(path.name) for path in files):
            raise SystemExit(f"{name} has no licence in {folder}; leave it out of the binary, or find its licence")
        for path in files:
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            yield f"{'=' * 79}\n{name}: {path.name}\n{'=' * 79}\n\n{text}\n\n"


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.writelines(notices(pathlib.Path(name).resolve() for name in sys.argv[1:]))
