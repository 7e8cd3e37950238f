"""The settings of all methods as keywords of Calibrator; tests/test_settings.py writes this file."""
from __future__ import annotations

import collections.abc
import typing


class Settings(typing.TypedDict, total=False):
    """Which of these a method has, `calibra methods NAME` and localcal.settings(NAME) tell."""

    bilinear__identity: typing.Literal["alpha", "linear", "nowhere"]
    bilinear__link: typing.Literal["exponential", "softplus"]
    bilinear__prior: typing.Literal["codewords", "counts", "learned", "uniform"]
    bilinear__scale: typing.Literal["learned", "unit"]
    calibrate__average: float
    calibrate__batch: int
    calibrate__beta1: float
    calibrate__beta2: float
    calibrate__clip: float
    calibrate__decay: float
    calibrate__epochs: int
    calibrate__epsilon: float
    calibrate__patience: int
    calibrate__rate: float
    calibrate__rule: typing.Literal["adam", "adamw", "lbfgs", "lion", "lookahead", "nadam", "sam", "sgd"]
    calibrate__schedule: typing.Literal["constant", "cosine", "one-cycle", "warm-up", "warm-up-cosine"]
    codebook__centre: typing.Literal["column", "common"]
    codebook__codewords: int
    codebook__decay: float
    codebook__distance: typing.Literal["l1", "l2"]
    codebook__kind: typing.Literal["ema", "indices", "kmeans", "one", "random", "residual"]
    codebook__levels: int
    codebook__nearest: int
    codebook__passes: int
    codebook__slots: int
    codebook__softness: float
    codebook__start: typing.Literal["warm", "zero"]
    codebook__twin: typing.Literal["none", "random"]
    divide__average: float
    divide__batch: int
    divide__beta1: float
    divide__beta2: float
    divide__clip: float
    divide__decay: float
    divide__epochs: int
    divide__epsilon: float
    divide__patience: int
    divide__rate: float
    divide__rule: typing.Literal["adam", "adamw", "lion", "lookahead", "nadam", "sam", "sgd"]
    divide__schedule: typing.Literal["constant", "cosine", "one-cycle", "warm-up", "warm-up-cosine"]
    ensemble__members: int
    forest__trees: int
    head__floor: float
    head__strength: float
    histogram__bins: int
    joint__codewords: collections.abc.Sequence[float]
    joint__slots: collections.abc.Sequence[float]
    kcal__bandwidth: float
    kcal__dimensions: int
    kcal__folds: int
    kernel__rows: typing.Literal["all", "calibration", "validation"]
    metrics__bandwidth: float
    metrics__bins: int
    metrics__epsilon: float
    metrics__protocol: typing.Literal["formula", "tables"]
    metrics__small_bin: int
    net__bandwidth: float
    net__dropout: float
    net__hidden: int
    net__lambda: float
    odir__folds: int
    odir__strengths: collections.abc.Sequence[float]
    optim__average: float
    optim__batch: int
    optim__beta1: float
    optim__beta2: float
    optim__clip: float
    optim__decay: float
    optim__epochs: int
    optim__epsilon: float
    optim__gradient: float
    optim__iterations: int
    optim__patience: int
    optim__rate: float
    optim__rule: typing.Literal["adam", "adamw", "bisection", "lbfgs", "lion", "lookahead", "nadam", "newton", "sam", "sgd"]
    optim__schedule: typing.Literal["constant", "cosine", "one-cycle", "warm-up", "warm-up-cosine"]
    optim__store: int
    platt__C: float
    pool__members: collections.abc.Sequence[str]
    procal__neighbours: int
    rank__rank: int
    search__first: float
    search__folds: int
    search__largest: float
    search__rows: int
    search__smallest: float
    sm__strength: float
    spline__knots: int
    sv__strength: float
    temperature__prior: float
    vector__strength: float
