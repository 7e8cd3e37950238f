"""The site of the package: `make site` builds it. An example whose tools are not there is shown without its figure."""
import importlib
import importlib.util
import logging
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import localcal
import sphinx.util.logging

logging.getLogger("localcal").setLevel(logging.WARNING)  # notes of fits are for a terminal


def there(tool):
    if importlib.util.find_spec(tool) is None:
        return False
    # it does without PyTorch where that is older than it asks for
    return tool != "transformers" or importlib.import_module("transformers.utils").is_torch_available()


project, author, release = "localcal", "the authors of Calibra", localcal.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
html_theme, html_title = "furo", "localcal"
html_copy_source = html_show_sourcelink = False
exclude_patterns, templates_path, default_role = ["_build", "examples"], ["templates"], "code"
autodoc_mock_imports = [tool for tool in ("mlflow", "onnx", "probmetrics", "pyspark", "ray", "torch", "wandb") if not there(tool)]
autodoc_typehints = "none"  # the docstrings have them
autosummary_ignore_module_all = False
napoleon_google_docstring = napoleon_use_rtype = False
napoleon_use_ivar = True

# The pages of the interface: what the modules say is public.
MODULES = ["localcal", "localcal.metrics", "localcal.torch", *(f"localcal.integrations.{name}" for name in ("probmetrics", "ray", "spark", "tracking"))]
API = "API\n===\n"
for name in MODULES:
    source = pathlib.Path(localcal.__file__).parents[1].joinpath(*name.split("."))
    source = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
    (public,) = re.findall(r"^__all__ = \[(.*?)\]", source.read_text(encoding="utf-8"), re.M | re.S)
    names = sorted(set(re.findall(r'"(\w+)"', public)) - {"metrics"})
    API += f"\n{name}\n{'-' * len(name)}\n\n.. currentmodule:: {name}\n\n.. autosummary::\n   :toctree: api\n\n"
    API += "".join(f"   {one}\n" for one in names)
(pathlib.Path(__file__).parent / "api.rst").write_text(API, encoding="utf-8")

# The examples whose tools can be imported.
NEEDED = {"02_torch": ["torch"], "03_xgboost": ["xgboost"], "04_hugging_face": ["torch", "transformers"]}
LACKING = {name: [tool for tool in tools if not there(tool)] for name, tools in NEEDED.items()}
for name, tools in LACKING.items():
    if tools:
        sphinx.util.logging.getLogger(__name__).info("plot_%s is not run: there is no %s", name, " and no ".join(tools))
left_out = "|".join(name for name, tools in LACKING.items() if tools)
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": f"plot_(?!{left_out})" if left_out else "plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
}


def escaped(app, what, name, obj, options, lines):
    """Names that end in _ and bars of formulas as they are: in a docstring these are no marks."""
    shown = False
    for k, line in enumerate(lines):
        shown = bool(line.strip()) and (shown or line.lstrip().startswith(">>>"))  # an example goes to the next empty line
        if not shown and not line.lstrip().startswith(".."):
            lines[k] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", line).replace("|", r"\|")


def left_to_scikit_learn(app, what, name, obj, skip, options):
    """Leaves out what scikit-learn adds to an estimator, whose docs point into its own site."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app):
    app.connect("autodoc-skip-member", left_to_scikit_learn)
    app.connect("autodoc-process-docstring", escaped, priority=900)  # after napoleon
