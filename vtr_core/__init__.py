"""Video-text retrieval: the library behind the `vtr` commands, and what a notebook uses of it.

    model = vtr_core.load("runs/first")
    hits = vtr_core.Index.open("runs/index", model).search("a dog runs in a garden", k=5)

`import vtr_core` imports nothing else: these names are imported on first use. Imports run one way, from config and
storage up to train and retrieval; pyproject.toml has the contract.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vtr_core.api import Index, Model, load
    from vtr_core.encoders.encoder import Encoder, encoder
    from vtr_core.retrieval.search.index_search import Hit
    from vtr_core.systems.spaces import Encoded

__version__ = "0.2.0"
__all__ = ["Encoded", "Encoder", "Hit", "Index", "Model", "encoder", "load"]

_PLACES = {
    "Encoded": "vtr_core.systems.spaces",
    "Encoder": "vtr_core.encoders.encoder",
    "Hit": "vtr_core.retrieval.search.index_search",
    "Index": "vtr_core.api",
    "Model": "vtr_core.api",
    "encoder": "vtr_core.encoders.encoder",
    "load": "vtr_core.api",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'vtr_core' has no attribute {name!r}")
    return vars(import_module(_PLACES[name]))[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
