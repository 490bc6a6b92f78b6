"""Attention you can train, run and see: models that translate, classify, answer and caption, and what they attend to.

    import fovea
    model = fovea.load("en-zh")
    print(model.translate("I love you.", beam=5).text)
    model.attend("I love you.")          # in a notebook: an interactive heat map
"""
import os as _os

from fovea import _fovea
from fovea._fovea import (Answer, Attention, Candidate, Caption, Class, Classification, Curves, Error, Message, Model, Record,
                          Score, Span, Step, Token, TrainingResult, Translation, Validation, View, __version__, curves, load,
                          models, read_records, set_threads, train)

__all__ = ["Answer", "Attention", "Candidate", "Caption", "Class", "Classification", "Curves", "Error", "Message", "Model",
           "Record", "Score", "Span", "Step", "Token", "TrainingResult", "Translation", "Validation", "View", "curves",
           "load", "models", "read_records", "record", "set_threads", "train"]

_fovea._add_shipped_folder(_os.path.dirname(_os.path.abspath(__file__)))
for _name in __all__:  # classes say that they are of this package
    if _name in vars(_fovea):
        vars(_fovea)[_name].__module__ = "fovea"
del _name


def record(source_tokens, target_tokens, weights=None, *, causal=False, any_sums=False, model=""):
    """A record of attention weights that another library computed, with the same views.

    record(source_tokens, target_tokens, weights): rows of the weights are target tokens, columns source tokens.
    record(tokens, weights): self-attention, in which tokens attend to one another.

    weights is an array, or anything numpy makes one of: [layers, heads, target, source] or without layers, or without
    heads. A sequence with an array for each layer, as transformers returns it, may have a batch dimension of 1.
    NaN is a masked cell. causal=True masks the cells right of the diagonal. Rows must sum to 1 unless any_sums=True.
    """
    if weights is None:
        weights, target_tokens = target_tokens, []
    elif len(target_tokens) == 0:
        raise Error("record: expected tokens of the target, got none; record(tokens, weights) is self-attention")
    return _fovea._record(list(source_tokens), list(target_tokens), _four_dimensions(weights), causal, any_sums, model)


def _four_dimensions(weights):
    import numpy
    if isinstance(weights, (list, tuple)):
        weights = [numpy.asarray(layer) for layer in weights]
    array = numpy.asarray(weights, dtype=numpy.float32)
    if array.ndim == 5 and array.shape[1] == 1:  # layers of a batch of one
        array = array[:, 0]
    if array.ndim < 2 or array.ndim > 4:
        raise Error(f"record: expected weights [layers, heads, target, source] or with fewer dimensions, got the shape "
                    f"{list(array.shape)}")
    return array.reshape((1,) * (4 - array.ndim) + array.shape)
