"""What scikit-learn asks an estimator for metadata routing and in a notebook; it is imported where it is asked for."""
from __future__ import annotations

import html
import typing

Request = typing.Union[bool, None, str]
Self = typing.TypeVar("Self", bound="Routed")
UNCHANGED = "$UNCHANGED$"  # as sklearn.utils.metadata_routing has it

# What each method takes besides X and y.
TAKEN = {
    "fit": ("features", "sample_weight", "groups"),
    "predict": ("features",),
    "predict_proba": ("features",),
    "predict_log_proba": ("features",),
    "score": ("features", "sample_weight"),
}


class Routed:
    """An estimator that says which metadata its methods want of those that a search or a pipeline is given.

    True asks for it, False does without it, None fails where it is given, and a name asks for what has that name.

    Examples
    --------
    >>> import localcal, sklearn
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     routed = localcal.Calibrator("vq").set_fit_request(features=True, sample_weight=False, groups=False)
    ...     routed = routed.set_predict_request(features=True).set_predict_proba_request(features=True)
    ...     routed = routed.set_predict_log_proba_request(features=True).set_score_request(features="measured")
    >>> routed.get_metadata_routing().score.requests["features"]
    'measured'
    """

    def set_fit_request(self: Self, *, features: Request = UNCHANGED, sample_weight: Request = UNCHANGED, groups: Request = UNCHANGED) -> Self:
        """Asks for metadata of fit.

        Parameters
        ----------
        features : True, False, None or str
        sample_weight : True, False, None or str
        groups : True, False, None or str

        Returns
        -------
        object
            The estimator itself.
        """
        return self._asked("fit", features=features, sample_weight=sample_weight, groups=groups)

    def set_predict_request(self: Self, *, features: Request = UNCHANGED) -> Self:
        """Asks for metadata of predict.

        Parameters
        ----------
        features : True, False, None or str

        Returns
        -------
        object
            The estimator itself.
        """
        return self._asked("predict", features=features)

    def set_predict_proba_request(self: Self, *, features: Request = UNCHANGED) -> Self:
        """Asks for metadata of predict_proba.

        Parameters
        ----------
        features : True, False, None or str

        Returns
        -------
        object
            The estimator itself.
        """
        return self._asked("predict_proba", features=features)

    def set_predict_log_proba_request(self: Self, *, features: Request = UNCHANGED) -> Self:
        """Asks for metadata of predict_log_proba.

        Parameters
        ----------
        features : True, False, None or str

        Returns
        -------
        object
            The estimator itself.
        """
        return self._asked("predict_log_proba", features=features)

    def set_score_request(self: Self, *, features: Request = UNCHANGED, sample_weight: Request = UNCHANGED) -> Self:
        """Asks for metadata of score.

        Parameters
        ----------
        features : True, False, None or str
        sample_weight : True, False, None or str

        Returns
        -------
        object
            The estimator itself.
        """
        return self._asked("score", features=features, sample_weight=sample_weight)

    def get_metadata_routing(self) -> typing.Any:
        """What each method asks for.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        asked = vars(self).get("_metadata_request")
        if asked is None:
            asked = MetadataRequest(owner=type(self).__name__)
            for method, names in TAKEN.items():
                for name in names:
                    getattr(asked, method).add_request(param=name, alias=None)
        return asked

    def _repr_html_(self) -> str:
        """scikit-learn's diagram of the estimator, where that is there."""
        try:
            from sklearn.utils import estimator_html_repr
        except ImportError:
            return f"<pre>{html.escape(repr(self))}</pre>"
        return typing.cast(str, estimator_html_repr(self))

    def _asked(self: Self, method: str, **requests: Request) -> Self:
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError("metadata is routed after sklearn.set_config(enable_metadata_routing=True); until then no estimator may ask for it")
        asked = self.get_metadata_routing()
        for name, request in requests.items():
            if request != UNCHANGED:
                getattr(asked, method).add_request(param=name, alias=request)
        vars(self)["_metadata_request"] = asked  # which clone of scikit-learn copies
        return self
