"""A whole job as a user of this library writes it: read logits from a file, fit, predict all rows, measure, write a file.

    python jobs.py LIBRARY METHOD rows.npz out.npz

`go run ./experiments/bench --peers` runs it, a process for each job, and reads the line of JSON that it prints. Libraries that take
probabilities are handed them; the softmax before is not counted as their prediction. Of each library the metrics are its own
NLL and ECE, where it has them. Where a library is not installed, it ends with code 3. Without arguments it lists the jobs.
"""
import importlib.metadata
import json
import os
import resource
import sys
import time

BEGAN = float(os.environ.get("CALIBRA_JOB_BEGAN", time.time()))  # before Python started
METHODS = {  # each library with the methods that it has, by the names of calibra's
    "calibra": ("ts", "ir", "sm", "pool"),
    "sklearn": ("ts", "ir"),
    "probmetrics": ("ts", "ir", "sm"),
    "netcal": ("ts", "ir"),
    "torch_uncertainty": ("ts",),
}
if len(sys.argv) == 1:
    print(json.dumps([[library, method] for library, methods in METHODS.items() for method in methods]))
    sys.exit()
library, method, rows, out = sys.argv[1:]


def best(run, seconds=0.2):
    """The shortest of the runs that this time holds, at least three, in seconds."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def read(part):
    import numpy as np

    with np.load(rows) as file:
        return file[f"{part}_logits"], file[f"{part}_labels"], file[f"{part}_features"] if method == "pool" else None


def softmax(logits):
    import scipy.special

    return scipy.special.softmax(logits, axis=1)


# Each takes logits and labels and returns what predicts, as probabilities, from what its second result makes of logits.


def calibra_fit(logits, y, features=None):
    import localcal

    model = localcal.Calibrator(method).fit(logits, y, features)
    return model.predict_proba, lambda x: x


def calibra_measure(p, y):
    import localcal

    return localcal.metrics.nll(y, p), localcal.metrics.classwise_ece(y, p)


def sklearn_fit(logits, y):
    import numpy as np
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Network(ClassifierMixin, BaseEstimator):
        """A classifier that is given its logits."""

        classes_, n_features_in_ = np.arange(logits.shape[1]), logits.shape[1]

        def fit(self, X, y):
            return self

        def __sklearn_is_fitted__(self):
            return True

        def decision_function(self, X):
            return X

        def predict(self, X):
            return X.argmax(axis=1)

    known = {"ts": "temperature", "ir": "isotonic"}[method]
    model = CalibratedClassifierCV(FrozenEstimator(Network()), method=known).fit(logits, y)
    return model.predict_proba, lambda x: x


def sklearn_measure(p, y):
    import numpy as np
    from sklearn.metrics import log_loss

    return log_loss(y, p, labels=np.arange(p.shape[1])), None


def probmetrics_fit(logits, y):
    from probmetrics.calibrators import get_calibrator

    model = get_calibrator({"ts": "temp-scaling", "ir": "isotonic", "sm": "sms"}[method], **{"sms_print_init_info": False} if method == "sm" else {})
    model.fit(softmax(logits), y)
    return model.predict_proba, softmax


def probmetrics_measure(p, y):
    import torch
    from probmetrics.distributions import CategoricalProbs
    from probmetrics.metrics import Metrics

    said = Metrics.from_names(["logloss", "ece-15"]).compute_all_from_labels_probs(torch.as_tensor(y), torch.as_tensor(p))
    return float(said["logloss"]), float(said["ece-15"])


def netcal_fit(logits, y):
    from netcal.binning import IsotonicRegression
    from netcal.scaling import TemperatureScaling

    model = {"ts": TemperatureScaling, "ir": IsotonicRegression}[method]()
    model.fit(softmax(logits), y)
    return model.transform, softmax


def netcal_measure(p, y):
    import numpy as np
    from netcal.metrics import ECE

    return float(-np.log(np.maximum(p[np.arange(len(y)), y], 1e-12)).mean()), float(ECE(15).measure(p, y))


def torch_uncertainty_fit(logits, y):
    import torch
    from torch_uncertainty.post_processing import TemperatureScaler

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = TemperatureScaler(torch.nn.Identity())
    rows = torch.utils.data.TensorDataset(torch.as_tensor(logits), torch.as_tensor(y))
    model.fit(torch.utils.data.DataLoader(rows, batch_size=len(y)), progress=False)
    return lambda x: model(torch.as_tensor(x)).softmax(1).numpy(), lambda x: x


def torch_uncertainty_measure(p, y):
    import torch
    from torch_uncertainty.metrics import CalibrationError, CategoricalNLL

    p, y = torch.as_tensor(p), torch.as_tensor(y)
    nll, ece = CategoricalNLL(), CalibrationError(task="multiclass", num_classes=p.shape[1])
    nll.update(p, y), ece.update(p, y)
    return float(nll.compute()), float(ece.compute())


def job(fit, measure):
    """The job, then the times of predictions of some rows; what reading, imports and conversions take is in job_s alone."""
    import numpy as np

    logits, y, features = read("cal")
    rows = (logits, y) if features is None else (logits, y, features)
    start = time.perf_counter()
    predict, given = fit(*rows)
    fitted = time.perf_counter()
    logits, y, features = read("test")
    x = [given(logits)] if features is None else [given(logits), features]
    asked = time.perf_counter()
    p = predict(*x)
    said = time.perf_counter()
    nll, _ = measure(p, y)
    measured = time.perf_counter()
    np.savez(out, probs=p)
    told = {"fit_s": fitted - start, "predict_s": said - asked, "metrics_s": measured - said, "job_s": time.time() - BEGAN, "peak_mb": peak(), "nll": nll}
    one, some = [part[:1].copy() for part in x], [part[:1000].copy() for part in x]
    told |= {"one_row_ms": 1e3 * best(lambda: predict(*one)), "thousand_rows_ms": 1e3 * best(lambda: predict(*some))}
    return {**told, "again_s": best(lambda: predict(*x)), "refit_s": best(lambda: fit(*rows))}


def peak():
    """The most memory of this process and of one it started, together, in MB."""
    unit = 1e6 if sys.platform == "darwin" else 1e6 / 1024
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / unit


if __name__ == "__main__":
    name = {"sklearn": "scikit-learn", "torch_uncertainty": "torch-uncertainty"}.get(library, library)
    try:
        told = job(globals()[f"{library}_fit"], globals()[f"{library}_measure"])
    except ModuleNotFoundError as lacking:
        print(f"{name} cannot be imported: {lacking}", file=sys.stderr)
        sys.exit(3)
    if library == "calibra":
        import localcal

        version = localcal.__version__
    else:
        version = importlib.metadata.version(name)
    print(json.dumps({"library": name, "version": version, "method": method, **told}))
