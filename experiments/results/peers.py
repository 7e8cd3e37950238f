"""Calibrators of others on the rows of the benchmark's protocol (protocol.py).

Each takes the calibration rows and the test rows, a number of classes and a seed, and gives the probabilities of the test rows (N×C).
rows are (features N×M, log-probabilities N×C, labels N); of the test rows the labels are not looked at.

    pip install numpy scipy pandas scikit-learn lightgbm torch numba probmetrics==1.3.0 mcgrad==0.1.5
    git clone https://github.com/Cesbar99/Divide-et-Calibra    (for published-vq: at 2a0a378d; PEER_DEC names the directory)
"""
import importlib
import os
import sys
import types
import warnings

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

FOLDS = 5


def whole(probabilities, seen, classes):
    """Probabilities of the classes that were seen as those of all: the others have 0."""
    out = np.zeros((len(probabilities), classes))
    out[:, seen] = probabilities
    return out


def beside(cal, test):
    """Features and log-probabilities side by side, standardized by the calibration rows."""
    scale = StandardScaler().fit(np.hstack(cal[:2]))
    return scale.transform(np.hstack(cal[:2])), scale.transform(np.hstack(test[:2]))


def folds(y, seed):
    """Stratified folds, of rows in order where a class has fewer rows than folds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def sms(cal, test, classes, seed):
    from probmetrics.calibrators import SMSCalibrator

    fitted = SMSCalibrator().fit(np.exp(cal[1]), cal[2])
    return np.asarray(fitted.predict_proba(np.exp(test[1])))


def isotonic(cal, test, classes, seed):
    """As scikit-learn's CalibratedClassifierCV: each class against the rest, divided by the sum."""
    p = np.column_stack([IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1).fit(np.exp(cal[1][:, k]), cal[2] == k).predict(np.exp(test[1][:, k]))
                         for k in range(classes)])
    total = p.sum(1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1), 1 / classes)


def logistic(cal, test, classes, seed):
    x, new = beside(cal, test)
    model = LogisticRegressionCV(Cs=np.logspace(-4, 1, 6), cv=folds(cal[2], seed), scoring="neg_log_loss", max_iter=300, use_legacy_attributes=False)
    try:
        model.fit(x, cal[2])
    except ValueError:  # a fold without a class: the strength in the middle
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=1e-2, max_iter=300).fit(x, cal[2])
    return whole(model.predict_proba(new), model.classes_.astype(int), classes)


def lightgbm(cal, test, classes, seed):
    """From the features and log-probabilities alone: five fits, each stopped by the fold that it does not see, averaged."""
    import lightgbm as lgb

    x, new, y = np.hstack(cal[:2]), np.hstack(test[:2]), cal[2]
    binary = classes == 2
    options = dict(objective="binary" if binary else "multiclass", learning_rate=0.05, num_leaves=15, min_data_in_leaf=10, feature_fraction=0.5,
                   bagging_fraction=0.8, bagging_freq=1, seed=seed, num_threads=1, verbosity=-1, deterministic=True, **({} if binary else {"num_class": classes}))
    total = 0
    for fit, held in folds(y, seed):
        model = lgb.train(options, lgb.Dataset(x[fit], y[fit]), 500, [lgb.Dataset(x[held], y[held])], callbacks=[lgb.early_stopping(20, verbose=False)])
        p = model.predict(new)
        total = total + (np.column_stack([1 - p, p]) if binary else p)
    return total / FOLDS


def train(parameters, loss, judge, n, seed, epochs=100, patience=10, batch=128, decay=1e-4):
    """Adam at a rate of 1e-3; ends patience epochs after the best judgement, whose weights it keeps."""
    import torch

    step = torch.optim.Adam(parameters(), lr=1e-3, weight_decay=decay)
    draw, best, kept, since = torch.Generator().manual_seed(seed), np.inf, None, 0
    for _ in range(epochs):
        for rows in torch.randperm(n, generator=draw).split(batch):
            step.zero_grad()
            loss(rows).backward()
            step.step()
        at, state = judge()
        if at < best:
            best, kept, since = at, state, 0
        elif (since := since + 1) >= patience:
            break
    return kept


def mlp(cal, test, classes, seed):
    """One hidden layer of 128 on features and log-probabilities: five fits, each stopped by the fold that it does not see, averaged."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    x, new = (torch.tensor(a, dtype=torch.float32) for a in beside(cal, test))
    y, total = torch.tensor(cal[2]), 0
    for k, (fit, held) in enumerate(folds(cal[2], seed)):
        torch.manual_seed(FOLDS * seed + k)
        net = nn.Sequential(nn.Linear(x.shape[1], 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, classes))
        of = lambda rows: nn.functional.cross_entropy(net(x[fit][rows]), y[fit][rows])

        def judge():
            net.eval()
            with torch.no_grad():
                at = nn.functional.cross_entropy(net(x[held]), y[held]).item()
            net.train()
            return at, {name: v.clone() for name, v in net.state_dict().items()}

        net.load_state_dict(train(net.parameters, of, judge, len(fit), seed))
        net.eval()
        with torch.no_grad():
            total = total + torch.softmax(net(new).double(), 1).numpy()
    return total / FOLDS


def mcgrad(cal, test, classes, seed):
    """Two classes as published; of more, each against the rest, divided by the sum."""
    import logging

    import pandas as pd
    from mcgrad.methods import MCGrad

    logging.getLogger("mcgrad").setLevel(logging.ERROR)
    names = [f"f{j}" for j in range(cal[0].shape[1])]
    frames = [pd.DataFrame(rows[0], columns=names) for rows in (cal, test)]

    def one(k):
        for frame, rows in zip(frames, (cal, test)):
            frame["p"] = np.exp(rows[1][:, k])
        frames[0]["y"] = (cal[2] == k).astype(int)
        if frames[0]["y"].sum() < FOLDS:
            return np.exp(test[1][:, k])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = MCGrad(random_state=seed).fit(frames[0], prediction_column_name="p", label_column_name="y", numerical_feature_column_names=names)
            return np.asarray(fitted.predict(frames[1], prediction_column_name="p", numerical_feature_column_names=names))

    if classes == 2:
        p = one(1)
        return np.column_stack([1 - p, p])
    p = np.column_stack([one(k) for k in range(classes)])
    return p / p.sum(1, keepdims=True)


def published_vq(cal, test, classes, seed):
    """The modules of the paper's published code by its settings: 64 slots and codewords, Adam at 1e-3, batches of 128, 10 epochs of
    patience on a tenth of the calibration rows. Its Lightning and its configuration are not needed."""
    import torch
    from torch import nn

    for name in ("pytorch_lightning", "omegaconf"):  # named by the modules, and not used by these classes
        if name not in sys.modules:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].ListConfig = list
    sys.path.insert(0, os.path.join(os.environ["PEER_DEC"], "src"))
    from calibrator.quantisation_head import QuantizedClassifierHead, VQHeadEMA
    from calibrator.VQDirCal import VQDirCal

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    features = cal[0].shape[1]
    slots = next(s for s in range(64, 0, -1) if features % s == 0)
    order = np.random.default_rng(seed).permutation(len(cal[2]))
    stop, fit = order[: len(order) // 10], order[len(order) // 10 :]
    z, new = (torch.tensor(rows[0], dtype=torch.float32).view(-1, slots, features // slots) for rows in (cal, test))
    y = torch.tensor(cal[2])
    quantizer, head = VQHeadEMA(min(64, len(fit) * slots), features // slots), QuantizedClassifierHead(slots, features // slots, classes)
    quantizer.init_codebook_from_samples(z[fit].reshape(-1, features // slots))
    calibrator = VQDirCal(quantizer.K, classes, slots)
    entropy = nn.functional.cross_entropy
    says = lambda rows: (lambda codes: calibrator(torch.softmax(head(codes[0]), 1), codes[1])[1])(quantizer(rows))

    def stage(learned, modules, of, epochs=100):
        def judge():
            for m in modules:
                m.eval()
            with torch.no_grad():
                at = entropy(of(z[stop]), y[stop]).item()
            for m in modules:
                m.train()
            return at, [{name: v.clone() for name, v in m.state_dict().items()} for m in modules]

        for m in modules:
            m.train()
        kept = train(learned.parameters, lambda rows: entropy(of(z[fit][rows]), y[fit][rows]), judge, len(fit), seed, decay=0)
        for m, state in zip(modules, kept):
            m.load_state_dict(state)
            m.eval()

    stage(head, [quantizer, head], lambda rows: head(quantizer(rows)[0]))
    for p in head.parameters():
        p.requires_grad = False
    stage(calibrator, [calibrator], says)
    with torch.no_grad():
        return torch.softmax(torch.cat([says(rows) for rows in new.split(512)]).double(), 1).numpy()


MODULES = {"sms": "probmetrics.calibrators", "lightgbm": "lightgbm", "mlp": "torch", "mcgrad": "mcgrad.methods", "published-vq": "torch"}


def absent(names):
    """What is missing for the peers of these names, in words."""
    out = []
    for name in names:
        try:
            if name in MODULES:
                importlib.import_module(MODULES[name])
        except ImportError as missing:
            out.append(f"{name}: {missing}")
        if name == "published-vq" and not os.path.isdir(os.path.join(os.environ.get("PEER_DEC", ""), "src", "calibrator")):
            out.append("published-vq: PEER_DEC names no directory of the published code")
    return out


PEERS = {"sms": sms, "isotonic": isotonic, "logistic": logistic, "lightgbm": lightgbm, "mlp": mlp, "mcgrad": mcgrad, "published-vq": published_vq}
