"""Models of open_clip with weights from this machine, without downloads and pickles.

open_clip is an optional extra, imported only here, on use.
"""

import logging
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from vtr_core.data.sources.clip.open_clip_backbone import OPENAI, Colours, OpenClipBackbone
from vtr_core.errors import ConfigError, InputError, nearest

_SUFFIXES = (".safetensors", ".pt", ".pth", ".bin")
_IN_REPOSITORY = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
"""Default weight files of an open_clip repository, safetensors first."""
_FAULTS = (RuntimeError, ValueError, KeyError, TypeError, AttributeError, OSError, EOFError)


@dataclass(frozen=True)
class _Weights:
    """A file of weights and the settings of the model that it belongs to."""

    file: Path
    quick_gelu: bool = False
    colours: Colours = OPENAI


def load_backbone(name: str, weights: str, device: str) -> OpenClipBackbone:
    """open_clip's model `name` with `weights`: a .safetensors (or tensors-only .pt) file, or the name of known ones.

    Known ones are looked for in the caches of Hugging Face and of open_clip. Raises ConfigError for a name that is not
    known, or a missing package; InputError for weights that are not here or do not fit.
    """
    open_clip = _open_clip()
    config = _model_config(open_clip, name)
    found = _file(weights) if weights.endswith(_SUFFIXES) else _cached(open_clip, name, weights)
    try:
        model = _without_weights(open_clip, name, found.quick_gelu)
        open_clip.load_checkpoint(model, str(found.file), weights_only=True)
    except (*_FAULTS, SafetensorError, pickle.UnpicklingError) as error:
        raise InputError(
            f"{found.file} holds no weights of {name} that can be read safely ({error}); give a .safetensors file of "
            "that model, or a .pt of tensors alone"
        ) from error
    context = config.get("text_cfg", {}).get("context_length", 77)
    return OpenClipBackbone(model, open_clip.SimpleTokenizer(context_length=context), found.colours, device)


def _without_weights(open_clip: Any, name: str, quick_gelu: bool) -> Any:
    """The model with random weights, without open_clip's warning about them, since the weights are loaded next."""
    root = logging.getLogger()
    root.addFilter(_is_no_warning)
    try:
        return open_clip.create_model(name, load_weights=False, force_quick_gelu=quick_gelu)
    finally:
        root.removeFilter(_is_no_warning)


def _is_no_warning(record: logging.LogRecord) -> bool:
    return record.levelno != logging.WARNING


def _open_clip() -> Any:
    try:
        import open_clip
    except ImportError as error:
        raise ConfigError(
            f"open_clip cannot be imported ({error}); install the extra: pip install 'vtr-ray[clip]'"
        ) from error
    except RuntimeError as error:  # torchvision's, whose compiled part belongs to one build of torch
        raise ConfigError(
            f"open_clip cannot be imported ({error}); install the torchvision of your torch, for one without CUDA with "
            "pip install --index-url https://download.pytorch.org/whl/cpu torchvision"
        ) from error
    return open_clip


def _model_config(open_clip: Any, name: str) -> dict[str, Any]:
    if name not in open_clip.list_models():
        hint = nearest(name, open_clip.list_models(), "ViT-B-32 is one")
        raise ConfigError(f"open_clip has no model {name!r}; {hint}")
    config: dict[str, Any] = open_clip.get_model_config(name)
    text = config.get("text_cfg", {})
    if "hf_model_name" in text or "hf_tokenizer_name" in text:
        raise ConfigError(f"{name} reads words with another library's files; choose a model such as ViT-B-32")
    return config


def _file(weights: str) -> _Weights:
    file = Path(weights).expanduser().absolute()
    if not file.is_file():
        raise InputError(
            f"there are no weights {file}; put the model's .safetensors file there, on every machine that takes part"
        )
    return _Weights(file)


def _cached(open_clip: Any, name: str, tag: str) -> _Weights:
    config = open_clip.get_pretrained_cfg(name, tag)
    if not config:
        known = ", ".join(open_clip.list_pretrained_tags_by_model(name)) or "none"
        raise ConfigError(
            f"open_clip knows no weights {tag!r} of {name}; known are {known}; or give a .safetensors file"
        )
    if config.get("resize_mode", "shortest") != "shortest":
        raise ConfigError(f"the weights {tag} of {name} were trained on squeezed images; choose others")
    colours = Colours(tuple(config.get("mean", OPENAI.mean)), tuple(config.get("std", OPENAI.std)))
    repository, _, named = config.get("hf_hub", "").rpartition("/")
    for file in _candidates(repository, named, config.get("url", "")):
        if file.is_file():
            return _Weights(file, bool(config.get("quick_gelu")), colours)
    put = f"hf download {repository} {named or _IN_REPOSITORY[0]}" if repository else f"download {config.get('url')}"
    raise InputError(
        f"the weights {tag} of {name} are not on this machine, and nothing is downloaded by itself; put them into the "
        f"cache ({put}), or give a .safetensors file"
    )


def _candidates(repository: str, named: str, url: str) -> list[Path]:
    """Possible locations of weights that open_clip has downloaded."""
    import huggingface_hub

    places = []
    if repository:
        safe = f"{Path(named).stem}.safetensors"
        for file in (safe, named) if named else _IN_REPOSITORY:
            cached = huggingface_hub.try_to_load_from_cache(repository, file)
            if isinstance(cached, str):
                places.append(Path(cached))
    if url and "openaipublic" not in url:  # theirs are programs, not tensors
        places.append(Path("~/.cache/clip").expanduser() / os.path.basename(url))
    return places
