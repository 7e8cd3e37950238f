"""What the package promises, each against the command itself."""
import copy
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pytest

import localcal
from localcal import command, worker


def rows(seed, n=600, classes=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    features = rng.normal(size=(n, 8))
    features[:, :classes] += 2 * np.eye(classes)[y]
    return 3 * features[:, :classes] + rng.normal(size=(n, classes)), y, features


CAL, TEST = rows(0), rows(1)


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """No call leaves a file in memory or in the folder for temporary files."""
    memory, folder = tmp_path / "memory", tmp_path / "scratch"
    memory.mkdir(), folder.mkdir()
    monkeypatch.setattr(worker, "MEMORY", str(memory))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert [*memory.iterdir(), *folder.iterdir()] == []


@pytest.fixture(scope="module")
def pool():
    return localcal.Calibrator("pool").fit(CAL[0], CAL[1], features=CAL[2])


def nll(p, y):
    return -np.log(p[np.arange(len(y)), y]).mean()


def test_same_bytes_as_the_command(tmp_path, pool):
    np.savez(tmp_path / "f.npz", cal_logits=CAL[0], cal_labels=CAL[1], cal_features=CAL[2], test_logits=TEST[0], test_features=TEST[2])
    subprocess.run([command.binary(), "fit", "--in", tmp_path / "f.npz", "--method", "pool", "--out", tmp_path / "run"], check=True, capture_output=True)
    subprocess.run([command.binary(), "apply", "--model", tmp_path / "run", "--in", tmp_path / "f.npz", "--out", tmp_path / "p.npz"], check=True, capture_output=True)
    p = pool.predict_proba(TEST[0], TEST[2])
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == pool.run_["model.safetensors"]
    assert np.abs(p - np.load(tmp_path / "p.npz")["probs"]).max() < 1e-6  # a network in float64
    raw = np.exp(TEST[0]) / np.exp(TEST[0]).sum(1, keepdims=True)
    assert nll(p, TEST[1]) < nll(raw, TEST[1])


def test_the_default_method_is_that_of_the_command(tmp_path):
    [recommended] = [m["method"] for m in json.loads(localcal.run("methods", "--json")) if m["group"] == "recommended"]
    for features, told in ((CAL[2], None), (None, [f"the rows have no features, which the default method {recommended} needs", f"that the default method {recommended} needs"])):
        np.savez(tmp_path / "f.npz", cal_logits=CAL[0], cal_labels=CAL[1], **({} if features is None else {"cal_features": features}))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            ours = localcal.Calibrator().fit(CAL[0], CAL[1], features=features)
            json.loads(localcal.run("fit", "--in", tmp_path / "f.npz", "--out", tmp_path / "run", "--json"))
        assert (ours.result_["method"] == recommended) == (told is None)
        assert (tmp_path / "run" / "model.safetensors").read_bytes() == ours.run_["model.safetensors"]
        assert len(warned) == len(told or []) and all(text in str(w.message) for text, w in zip(told or [], warned))
        assert ours.predict_proba(TEST[0], None if features is None else TEST[2]).shape == TEST[0].shape


def test_saved_and_pickled_models_predict_the_same(tmp_path, pool):
    p = pool.predict_proba(TEST[0], TEST[2])
    pool.save(tmp_path / "run")
    loaded = localcal.Calibrator.load(tmp_path / "run")
    assert not hasattr(loaded, "network_")  # which workers of Ray and Spark do not use
    assert loaded.get_params() == pool.get_params()
    assert np.array_equal(loaded.predict_proba(TEST[0], TEST[2]), p)
    assert np.array_equal(pickle.loads(pickle.dumps(pool)).predict_proba(TEST[0], TEST[2]), p)
    with pytest.raises(localcal.InputError, match="holds no model.safetensors"):
        localcal.Calibrator.load(tmp_path)


@pytest.mark.parametrize("method", [m["method"] for m in json.loads(localcal.run("methods", "--all", "--json"))])
def test_every_method_predicts_as_apply_does(method):
    settings = {"optim__epochs": 2} if "optim.epochs" in [k["key"] for k in json.loads(localcal.run("methods", method, "--json"))] else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", localcal.CalibraWarning)  # of kc and pc, which have no network
        model = localcal.Calibrator(method, **settings).fit(CAL[0][:200], CAL[1][:200], features=CAL[2][:200])
        assert np.abs(model.predict_proba(TEST[0], TEST[2]) - model._applied(TEST[0], TEST[2])["probs"]).max() < 1e-6


def test_threads_forks_and_copies_predict_the_same():
    joblib = pytest.importorskip("joblib")
    model = localcal.Calibrator("ts").fit(*CAL[:2])
    parts = np.array_split(TEST[0][:100], 4)  # each too few for the command to look at
    expected = [model.predict_proba(part) for part in parts]
    for backend in ("threading", "loky", "multiprocessing"):  # the last forks under Linux
        said = joblib.Parallel(2, backend=backend)(joblib.delayed(model.predict_proba)(part) for part in parts)
        assert all(np.array_equal(a, b) for a, b in zip(said, expected)), backend
    assert np.array_equal(copy.deepcopy(model).predict_proba(parts[0]), expected[0])


def test_rows_of_many_blocks_are_those_of_one():
    model = localcal.Calibrator("ts").fit(*CAL[:2])
    rows = np.tile(CAL[0], (-(-3 * localcal.network.BLOCK // CAL[0].size), 1))
    assert np.array_equal(model.predict_proba(rows)[-len(CAL[0]) :], model.predict_proba(CAL[0]))
    rows[-1] = np.inf  # the command says which
    with pytest.raises(localcal.InputError, match=f"row {len(rows) - 1}"):
        model.predict_proba(rows)


def test_a_folder_holds_one_model(tmp_path, pool):
    """What save or fit writes takes the place of what was there: no curves, features or names of an earlier model are left."""
    folder = tmp_path / "run"
    names = np.array(["ant", "bee", "cat", "dog"])
    localcal.Calibrator("vq", optim__epochs=2).fit(*CAL[:2], features=CAL[2]).save(folder)
    assert (folder / "curves.csv").is_file()
    model = localcal.Calibrator("ts").fit(CAL[0], names[CAL[1]])
    model.save(folder)
    assert {path.name for path in folder.iterdir()} == {*model.run_, "calibrator.json"}
    assert localcal.Calibrator.load(folder).classes_.tolist() == names.tolist()
    np.savez(tmp_path / "rows.npz", cal_logits=CAL[0], cal_labels=CAL[1])
    localcal.run("fit", "--method", "vector", "--in", tmp_path / "rows.npz", "--out", folder)
    assert localcal.Calibrator.load(folder).classes_.tolist() == [0, 1, 2, 3]


def test_names_of_classes():
    names = np.array(["ant", "bee", "cat", "dog"])
    model = localcal.Calibrator("ts").fit(CAL[0], names[CAL[1]])
    assert list(model.classes_) == list(names)
    assert np.array_equal(model.predict_proba(TEST[0]), localcal.Calibrator("ts").fit(*CAL[:2]).predict_proba(TEST[0]))
    assert set(model.predict(TEST[0])) <= set(names)
    assert model.score(TEST[0], names[TEST[1]]) > 0.7
    assert model.evaluate(TEST[0], names[TEST[1]])["accuracy"].value == model.score(TEST[0], names[TEST[1]])
    with pytest.raises(localcal.InputError, match="3 classes and there are 4 columns"):
        localcal.Calibrator("ts").fit(CAL[0], names[np.minimum(CAL[1], 2)])


@pytest.mark.parametrize("probabilities", [False, True])
def test_one_value_is_two_classes(probabilities):
    """Each row alone is read as all are: one score may lie in 0…1 too."""
    value, y = CAL[0][:, 0] - CAL[0][:, 1], (CAL[1] == 0).astype(int)
    if probabilities:
        value = 1 / (1 + np.exp(-value))
    both = np.column_stack([1 - value if probabilities else np.zeros_like(value), value])
    p = localcal.Calibrator("ts").fit(both, y).predict_proba(both)
    for shape in ((-1,), (-1, 1)):
        model = localcal.Calibrator("ts").fit(value.reshape(shape), y)
        assert np.array_equal(model.predict_proba(value.reshape(shape)), p)
    between = np.flatnonzero((value > 0) & (value < 1))[:3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three rows lie otherwise than all
        assert np.allclose(model.predict_proba(value[between]), p[between], rtol=0, atol=1e-12)
    if probabilities:
        with pytest.raises(localcal.InputError, match="one of them lies outside 0…1"):
            model.predict_proba(value + 1)


def test_labels_of_any_shape_are_scored():
    y = TEST[1]
    model = localcal.Calibrator("ts").fit(*CAL[:2])
    right = float(np.mean(model.predict(TEST[0]) == y))
    for said in (y, y[:, None], np.eye(4)[y], y.astype(str), y.astype(float), y.tolist()):
        assert model.score(TEST[0], said) == right
    assert model.score(TEST[0], 0.6 * np.eye(4)[y] + 0.1) == pytest.approx(0.1 + 0.6 * right)
    for strange, sentence in ((y[:9], "9 rows"), (y + 0.5, "none of the classes"), (np.full(600, "x"), "none of the classes")):
        with pytest.raises(localcal.InputError, match=sentence):
            model.score(TEST[0], strange)


def test_numbers_as_text_are_in_their_order():
    y = np.arange(120) % 12
    logits = 3 * np.eye(12)[y] + np.random.default_rng(0).normal(size=(120, 12))
    for first in (0, 1):
        model = localcal.Calibrator("ts").fit(logits, (y + first).astype(str))
        assert model.classes_.tolist() == [str(k + first) for k in range(12)] and model.score(logits, (y + first).astype(str)) > 0.8


def test_ordered_categories_keep_their_order():
    pandas = pytest.importorskip("pandas")
    names = np.array(["small", "large", "huge", "vast"])
    y = pandas.Series(pandas.Categorical(names[CAL[1]], categories=names, ordered=True))
    model = localcal.Calibrator("ts").fit(CAL[0], y)
    assert model.classes_.tolist() == names.tolist() and model.score(CAL[0], y) > 0.7
    assert np.array_equal(model.predict_proba(TEST[0]), localcal.Calibrator("ts").fit(*CAL[:2]).predict_proba(TEST[0]))


def test_masked_values_are_missing():
    hidden = np.arange(600) == 5
    logits = np.ma.array(CAL[0], mask=np.repeat(hidden[:, None], 4, 1))
    model = localcal.Calibrator("ts").fit(np.ma.array(CAL[0]), CAL[1])  # a mask that hides nothing
    for call in (
        lambda: localcal.Calibrator("ts").fit(logits, CAL[1]),
        lambda: localcal.Calibrator("ts").fit(CAL[0], np.ma.array(CAL[1], mask=hidden)),
        lambda: localcal.Calibrator("ts").fit(*CAL[:2], sample_weight=np.ma.array(np.ones(600), mask=hidden)),
        lambda: localcal.Calibrator("ts").fit(*CAL[:2], features=np.ma.array(CAL[2], mask=np.repeat(hidden[:, None], 8, 1))),
        lambda: model.predict_proba(logits),
        lambda: localcal.evaluate(np.ma.array(np.full((600, 4), 0.25), mask=logits.mask), CAL[1]),
    ):
        with pytest.raises(localcal.InputError, match="masked at row 5: the value is missing"):
            call()


def test_settings_reach_the_method():
    model = localcal.Calibrator("vq", codebook__slots=2, codebook__codewords=8, optim__epochs=3).fit(*CAL[:2], features=CAL[2])
    assert b'"codebook.slots": 2' in model.run_["config.json"] and b'"codebook.codewords": 8' in model.run_["config.json"]
    assert model.set_params(codebook__slots=4).get_params()["codebook__slots"] == 4
    assert repr(localcal.Calibrator("ts", seed=3)) == "Calibrator(method='ts', seed=3)"
    with pytest.raises(ValueError, match="do you mean 'codebook__slots' or 'joint__slots'"):
        model.set_params(slots=4)


def test_the_commands_sentences_are_input_errors():
    with pytest.raises(localcal.InputError, match=r'^the method needs features and the rows have none; pass features=…'):
        localcal.Calibrator("vq").fit(*CAL[:2])
    with pytest.raises(localcal.InputError, match="nosuch"):
        localcal.Calibrator("nosuch").fit(*CAL[:2])
    with pytest.raises(localcal.InputError, match="codebook__slots"):
        localcal.Calibrator("ts", codebook__slots=1).fit(*CAL[:2])
    with pytest.raises(localcal.InputError, match="y holds 5 at row .* 0…3"):
        localcal.Calibrator("ts").fit(CAL[0], np.minimum(CAL[1], 2) + 3)
    with pytest.raises(localcal.InputError, match="y is continuous: it holds"):
        localcal.Calibrator("ts").fit(CAL[0], CAL[1] + 1.5)
    with pytest.raises(localcal.InputError, match="every value must be finite"):
        localcal.Calibrator("ts").fit(np.where(CAL[0] > 5, np.nan, CAL[0]), CAL[1])
    with pytest.raises(localcal.InputError, match="expecting 4"):
        localcal.Calibrator("ts").fit(*CAL[:2]).predict_proba(TEST[0][:, :3])
    with pytest.raises(localcal.InputError, match="no-such-flag"):
        localcal.evaluate(np.full((3, 3), 1 / 3), [0, 1, 2], no_such_flag=1)


def test_a_weight_of_two_for_all_is_none():
    two = np.full(600, 2)
    for method in ("vector", "ir", "pool"):
        fitted = lambda **more: localcal.Calibrator(method).fit(*CAL[:2], features=CAL[2], **more).predict_proba(TEST[0], TEST[2])
        assert np.array_equal(fitted(sample_weight=two), fitted())
    p = np.full((600, 4), 0.25)
    measured = lambda **more: localcal.evaluate(p, TEST[1], TEST[2], replicates=40, redraws=20, **more).metrics
    assert measured(sample_weight=two) == measured()


def test_weights_between_and_soft_labels():
    model = lambda method="vector", **more: localcal.Calibrator(method).fit(*CAL[:2], **more).predict_proba(TEST[0])
    weight = np.linspace(0.1, 1, 600)
    assert np.abs(model(sample_weight=weight) - model()).max() > 1e-4
    assert np.abs(model(sample_weight=weight) - model(sample_weight=weight / 8)).max() < 1e-9  # but for rounding
    assert np.array_equal(model(sample_weight=np.full(600, 0.5)), model())
    sharp, soft = np.eye(4)[CAL[1]], 0.7 * np.eye(4)[CAL[1]] + 0.075
    fitted = lambda y: localcal.Calibrator("vector").fit(CAL[0], y)
    assert fitted(sharp).run_["model.safetensors"] == fitted(CAL[1]).run_["model.safetensors"]
    assert fitted(soft).predict_proba(TEST[0]).max(1).mean() < fitted(CAL[1]).predict_proba(TEST[0]).max(1).mean() - 0.05
    p = np.exp(TEST[0]) / np.exp(TEST[0]).sum(1, keepdims=True)
    soft = 0.7 * np.eye(4)[TEST[1]] + 0.075
    said = localcal.evaluate(p, soft)
    # probabilities count as 1e-12 at least
    assert abs(said["nll"].value + (soft * np.log(np.maximum(p, 1e-12))).sum(1).mean()) < 1e-9
    assert said["nll"].interval[0] < said["nll"].value < said["nll"].interval[1]
    assert abs(localcal.evaluate(p, TEST[1], sample_weight=weight)["nll"].value - (weight * -np.log(p[np.arange(600), TEST[1]])).sum() / weight.sum()) < 1e-9


def test_wrong_inputs_are_noticed():
    p = np.exp(CAL[0]) / np.exp(CAL[0]).sum(1, keepdims=True)
    model = localcal.Calibrator("ts").fit(p, CAL[1])
    with pytest.raises(localcal.InputError, match="holds logits and the model was fitted on probabilities"):
        model.predict_proba(TEST[0])
    model = localcal.Calibrator("ts").fit(*CAL[:2], features=CAL[2])
    with pytest.raises(localcal.InputError, match="the features look scaled otherwise.*accept_shift=True"):
        model.set_params(accept_shift=False).predict_proba(TEST[0], TEST[2] * 40)
    assert np.array_equal(model.set_params(accept_shift=True).predict_proba(TEST[0], TEST[2] * 40), model.predict_proba(TEST[0], TEST[2]))


def test_warnings_of_the_command():
    with pytest.warns(localcal.CalibraWarning, match="no calibration row is of class"):
        localcal.Calibrator("ts").fit(CAL[0], np.minimum(CAL[1], 2))


def test_evaluation():
    p = np.exp(TEST[0]) / np.exp(TEST[0]).sum(1, keepdims=True)
    said = localcal.evaluate(p, TEST[1], TEST[2], replicates=100, redraws=20)
    assert abs(said["nll"].value - nll(p, TEST[1])) < 1e-9
    low, high = said["nll"].interval
    assert low < said["nll"].value < high
    assert said["ece"].floor.mean < said["ece"].value and said["ece"].floor.p_value < 0.1
    assert np.isfinite(said["lce"].value) and "lce" not in localcal.evaluate(p, TEST[1]).metrics
    assert said.rows == 600 and said.classes == 4 and "nll" in repr(said)
    assert said._repr_html_().startswith("<iframe") and "Reliability" in said.html


def test_diagnosis(pool):
    broken = np.exp(3 * TEST[0]) / np.exp(3 * TEST[0]).sum(1, keepdims=True)
    said = localcal.diagnose(broken, TEST[1], TEST[2], redraws=99)
    assert said.regions and said.verdict.say == "use" and said.verdict.p < 0.05 and str(said.verdict).startswith("Use a correction") and "calibrated as far as" not in said.found
    assert said._repr_html_().startswith("<iframe") and "<html" in said.html
    assert "rows" in repr(pool.diagnose(TEST[0], TEST[1], TEST[2], redraws=99, groups=TEST[1] % 2))


def test_prediction_sets_hold_the_label(pool):
    held_out, others = rows(2), rows(3)
    sets = pool.predict_sets(others[0], others[2], held_out=held_out, level=0.9)
    assert sets.shape == (600, 4) and sets.dtype == bool
    held = sets[np.arange(600), others[1]].mean()
    assert 0.9 - 4 * np.sqrt(0.09 / 600) < held  # four standard errors of 600 rows
    with pytest.warns(localcal.CalibraWarning, match="the sets cover less than they say"):
        assert pool.predict_sets(others[0], others[2], level=0.9).mean() < 1
    with pytest.raises(localcal.InputError, match="does not know the rows of its fit"):
        pickle.loads(pickle.dumps(pool)).predict_sets(others[0], others[2])


def test_progress_is_a_bar(monkeypatch, tmp_path, caplog):
    caplog.set_level("INFO", "localcal")
    shown = []

    class Bar:
        def __init__(self, total, **_):
            self.n = 0

        def set_description_str(self, text, refresh):
            shown.append(text)

        def refresh(self):
            shown.append(self.n)

        def close(self):
            shown.append("closed")

    tqdm = pytest.importorskip("tqdm.auto")
    monkeypatch.setattr(tqdm, "tqdm", Bar)
    told = []
    lines = tmp_path / "lines"
    lines.write_text("a note\nmeasuring (40 %)\ncalibra: warning: w\nmeasuring (80 %)\n")
    with lines.open() as said:
        worker._follow(said, told, str)
    assert shown == ["measuring", 40, "measuring", 80, "closed"] and told == ["a note", "calibra: warning: w"]
    assert caplog.messages == ["a note"]  # a warning is a CalibraWarning


@pytest.mark.skipif(os.name == "nt", reason="a console's Ctrl-C is no signal there")
def test_ctrl_c_ends_the_command(tmp_path):
    logits, y, features = rows(0, n=8000)
    np.savez(tmp_path / "p.npz", probs=np.full((8000, 4), 0.25), labels=y, embedding=features)
    # a shell's background job ignores SIGINT, and hands that down
    program = f"import signal, localcal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nlocalcal.run('evaluate', '--in', {str(tmp_path / 'p.npz')!r}, '--replicates', '100000')"
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (grandchildren := children(child.pid)):
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.05)
    time.sleep(1)  # Popen has returned: before that Python knows of no child that it could end
    child.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in child.communicate(timeout=60)[1]
    assert not any(pathlib.Path(f"/proc/{pid}").exists() for pid in grandchildren)


def test_the_command_starts_once(monkeypatch):
    began, asked = [], []

    class Counted(subprocess.Popen):
        def __init__(self, words, **more):
            began.append(words[1])
            super().__init__(words, **more)

    def ask(self, *words):
        asked.append((words[0], pathlib.Path(words[words.index("--in") + 1]).parent.parent.name))
        return answered(self, *words)

    answered = worker.Worker.ask
    monkeypatch.setattr(subprocess, "Popen", Counted)
    monkeypatch.setattr(worker.Worker, "ask", ask)
    monkeypatch.setenv("CALIBRA_TEST", "another environment is another worker")
    model = localcal.Calibrator("ts").fit(*CAL[:2])
    assert model.predict_proba(TEST[0][:20]).shape == (20, 4)
    with pytest.warns(localcal.CalibraWarning, match="no network is written: kc "):
        localcal.Calibrator("kc").fit(*CAL[:2], features=CAL[2])
    with monkeypatch.context() as full:
        full.setattr(worker, "ROOM", 1 << 60)  # more than any memory has
        localcal.Calibrator("ts").fit(*CAL[:2])
    with pytest.raises(localcal.InputError):
        localcal.Calibrator("vq").fit(*CAL[:2])  # without features
    assert began == ["worker"] and asked == [("fit", "memory"), ("fit", "memory"), ("fit", "scratch"), ("fit", "memory")]


def children(pid):
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.split()[1] == str(pid) and "calibra" in line.split()[2]]


def test_version_follows_the_binary():
    from importlib.metadata import version

    try:
        installed = version("localcal")
    except Exception:
        pytest.skip("the package is not installed, but found by its path")
    said = localcal.run("--version")
    assert "(devel)" in said if installed.startswith("0.0.0.dev0") else installed.split(".dev")[0].split("+")[0] in said


def test_compare_cross_fits_one_labelled_set():
    logits, y, features = CAL
    whole = localcal.Calibrator("ts").compare(3 * logits, y, folds=5)
    assert whole.verdict.say == "use" and whole.verdict.method == "ts" and whole.report["folds"] == 5
    assert {m["method"] for m in whole.methods} == {"nc", "ts"} and "Nadeau" in whole.report["interval"]
    grouped = localcal.Calibrator("ts").compare(3 * logits, y, groups=np.arange(len(y)) // 4, folds=3)
    assert grouped.report["whole_groups"] and "a group counts as one" in grouped.report["interval"]
    with pytest.raises(localcal.InputError, match="too few for 5 folds"):
        localcal.Calibrator("ts").compare(logits, y, groups=np.zeros(len(y), int))


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_scores_in_any_form():
    """The same rows in each form, said or judged, are predicted alike, and one row as the rows of the fit."""
    (logits, y, _), test = CAL, TEST[0]
    p, q = softmax(logits), softmax(test)
    want = localcal.Calibrator("ts", scores="logits").fit(logits, y).predict_proba(test)
    for scores, cal, rows in (
        ("log-probabilities", np.log(p), np.log(q)),
        ("probabilities", p, q),
        ("probabilities", 100 * p, 100 * q),
        ("one-vs-rest", p / 2, q / 2),
        (None, logits, test),
        (None, p, q),
        (None, 100 * p, 100 * q),
    ):
        model = localcal.Calibrator("ts", scores=scores).fit(cal, y)
        assert np.allclose(model.predict_proba(rows), want, rtol=0, atol=1e-9), scores
        assert np.allclose(pickle.loads(pickle.dumps(model)).predict_proba(rows[:1]), want[:1], rtol=0, atol=1e-9), scores
        nll = localcal.metrics.nll(y, cal, scores=scores) if scores else localcal.metrics.nll(y, p)
        assert abs(nll - localcal.metrics.nll(y, p)) < 1e-9
    assert abs(localcal.evaluate(logits, y, scores="logits", folds=0, redraws=0)["nll"].value - localcal.metrics.nll(y, p)) < 1e-9
    with pytest.raises(localcal.InputError, match="say which by scores=.logits"):
        localcal.Calibrator("ts").fit(p / 2, y)
    with pytest.raises(localcal.InputError, match="scores= says what they are"):
        localcal.metrics.nll(y, 100 * p)


def test_one_row_in_the_unit_interval_is_read_as_the_fit_was():
    model = localcal.Calibrator("ts", accept_shift=True).fit(CAL[0], CAL[1])
    t = model.predict_proba(np.array([[2.0, 0, 0, 0]]))[0]  # log p₀/p₁ is 2/T
    for row in ([0.2, 0.9, 0.4, 0.3], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]):
        p = model.predict_proba(np.array([row]))
        assert np.allclose(p, softmax(np.array([row]) * np.log(t[0] / t[1]) / 2), rtol=0, atol=1e-9)


def test_decision_values_are_scores_wherever_they_lie():
    """Decision values that all lie in 0…1 are logits, as decision_function gave them."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Decides(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def decision_function(self, X):
            return X[:, 0]

    rng = np.random.default_rng(3)
    m = rng.random((500, 1))
    y = (rng.random(500) < 1 / (1 + np.exp(-m[:, 0]))).astype(int)
    p = localcal.CalibratedClassifier(Decides().fit(m, y), method="nc", cv="prefit").fit(m, y).predict_proba(m)
    assert np.allclose(p[:, 1], 1 / (1 + np.exp(-m[:, 0])), rtol=0, atol=1e-9)


def test_program_of_ones_own(tmp_path):
    """A calibrator fits, predicts and is loaded by the program that it names, and a name that is none is refused."""
    log, program = tmp_path / "log", tmp_path / "mine"
    program.write_text(f'#!/bin/sh\necho "$1" >>{log}\nexec tee -a {log} | {localcal.command.binary()} "$@"\n')
    program.chmod(0o755)
    y = np.arange(300) % 3
    logits = 4 * np.eye(3)[(y + (np.arange(300) % 5 == 0)) % 3]
    model = localcal.Calibrator("ts", program=program).fit(logits, y)
    p = model.predict_proba(logits)
    assert '"fit"' in log.read_text()
    model.save(tmp_path / "kept")
    again = localcal.Calibrator.load(tmp_path / "kept")
    assert again.program == str(program) and np.allclose(again.predict_proba(logits), p, atol=1e-9)
    with pytest.raises(FileNotFoundError, match="no program"):
        localcal.Calibrator("ts", program=tmp_path / "absent").fit(logits, y)
