"""Sentences of the command in the words of a caller of this package, who knows neither its files nor its flags."""
from __future__ import annotations

import re
import shlex

from localcal.keywords import Settings

KEYS = {name.replace("__", "."): name for name in Settings.__annotations__}

# What the command says, and what it is called here; from the top, each in what those above have made of it.
SPOKEN = [
    (r"^wrote the model to .*", ""),
    (r"[^\s]*\b(?:rows|predictions|features)\.npz: ", ""),
    (r" in (?:rows|predictions|features)\.npz\b", ""),
    (r"\b(?:of )?(?:rows|predictions|features)\.npz:? ", ""),
    (
        r"^has no (?:cal|test|val)_features(?! that the default).*",
        "the method needs features and the rows have none; pass features=…, or name columns of X by the parameter features",
    ),
    (r"^has no embedding; .*", "the features of the rows are needed; pass features=…"),
    (r"^has no (?:\w+_)?features that the default method", "the rows have no features, which the default method"),
    (r"\b(?:cal|val|test)_(logits|features|groups)\b", r"\1"),
    (r", and groups of test rows alone are called groups", ""),
    (r"\b(?:(?:cal|val|test)_)?labels (?=hold|has|say|name)", "y "),
    (r"\b(?:(?:cal|val|test)_)?weights (?=hold|has|must|is )", "sample_weight "),
    (r"\bprobs (?=hold|has)", "p "),
    (r"\badd class_names in the order of the columns", "pass classes in the order of the columns"),
    (r"; save it as float16", "; it must be of float16"),
    (r"hand over probabilities, or logits alone", "hand over probabilities, or say by scores= what these are"),
    (r"^no method could be fitted; rows \S+ seed \d+: ", "no method could be fitted: "),
    (
        r"^unknown flag --([\w-]+); calibra (\w+) --help --all lists the flags",
        r"there is no option \1=; `calibra \2 --help --all` lists them, each as a flag",
    ),
    (r"calibra methods NAME lists what a method has", "localcal.settings(method) lists what a method has"),
    (r"calibra methods(?: --all)? lists (all|them)", r"localcal.methods() lists \1"),
    (r"--(logits|probabilities|log-probabilities)\b", r'scores="\1"'),
    (r"--scores: must", "scores must"),
    (r"--scores ([a-z-]+)", r'scores="\1"'),
    (r"--accept-shift\b", "accept_shift=True"),
    (r"--features F\.npz", "features=…"),
    (r"--whole-groups\b", "groups"),
    (r"--set (?=[a-z0-9-]+\.)", ""),
]
FLAG = re.compile(r"--([a-z][a-z-]*)(?: (\d[\d.]*))?(?![\w=])")  # --folds 5
NUMBER = re.compile(r"-?\d+(\.\d*)?(e-?\d+)?")
KEY = re.compile(r"\b(" + "|".join(map(re.escape, sorted(KEYS, key=len, reverse=True))) + r")\b")


def spoken(sentence: str) -> str:
    """A sentence of the command about rows that this package handed over, in words of its callers."""
    for said, words in SPOKEN:
        sentence = re.sub(said, words, sentence)
    parts = re.split(r"(`[^`]*`)", sentence)  # a command in it stays as it is
    for k in range(0, len(parts), 2):
        parts[k] = FLAG.sub(lambda flag: flag[1].replace("-", "_") + (f"={flag[2]}" if flag[2] else ""), parts[k])
        parts[k] = KEY.sub(lambda key: KEYS[key[1]], parts[k])
    return "".join(parts)


def called(command: str) -> str:
    """A command that fits, compares or applies, as a call of this package; X and y stand for the logits and labels."""
    name, *words = shlex.split(command)[1:]
    flags = dict(zip(words[::2], words[1::2]))
    if name == "fit":
        said = [f'"{flags["--method"]}"']
        if "--seed" in flags:
            said.append(f"seed={flags['--seed']}")
        for flag, word in zip(words[::2], words[1::2]):
            if flag == "--set":
                key, _, value = word.partition("=")
                said.append(f"{key.replace('.', '__')}={value if NUMBER.fullmatch(value) else repr(value)}")
        return f"calibrator = localcal.Calibrator({', '.join(said)}).fit(X, y, features)"
    if name == "compare" and "--methods" in flags:
        *others, method = flags["--methods"].split(",")
        return f'localcal.Calibrator("{method}").compare(X, y, features, methods={others})'
    if name == "compare":
        return f"localcal.Calibrator().compare(X, y, features, folds={flags['--folds']})"
    return "calibrator.predict_proba(X, features)" if name == "apply" else command
