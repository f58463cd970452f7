"""`open-clip:`: models of open_clip, whose package is the extra `clip`; torchvision must be of torch's build.

A name is `open-clip:<architecture>/<weights>`; the weights are a file, a folder, a repository of the hub, or a name
that open_clip knows. They are read as tensors alone: safetensors, or OpenAI's TorchScript archives, of which no code is
run.
"""

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, UInt8
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from vtr_core.backbones.recipes import file_sha256
from vtr_core.backbones.weights import is_script_archive, read_state
from vtr_core.encoders.encoder import Encoder, UnitHead, joined_units
from vtr_core.encoders.preparation import FramePreparation
from vtr_core.encoders.weights import model_folder, one_line_fault
from vtr_core.errors import CheckpointError, ConfigError, how_to_install, nearest
from vtr_core.fingerprint import fingerprint
from vtr_core.json_text import parse_json
from vtr_core.storage import local_path
from vtr_core.text.tokens.vocabulary import given_texts
from vtr_core.video.streams import PictureStream, Rate

_IN_REPOSITORY = ("open_clip_model.safetensors", "model.safetensors")
_NO_PARAMETERS = ("input_resolution", "context_length", "vocab_size", "attn_mask")
"""What OpenAI's archives hold beside parameters."""
_AT_ONCE = 32


class OpenClipEncoder(Encoder):
    """A model of open_clip as an encoder. A stored row is the unit vector of a frame."""

    def __init__(self, rest: str, device: str) -> None:
        self.name, self._device = f"open-clip:{rest}", device
        architecture, _, weights = rest.partition("/")
        package = _package()
        config = _architecture(package, architecture)
        if not weights:
            raise ConfigError(f"{self.name} names no weights; {_known(package, architecture)}")
        source = _weights(package, architecture, weights)
        self._model = _loaded(package, architecture, source).to(device)
        self._tokenizer = _tokenizer(package, architecture, source)
        self._processor = _Processor(package, self._model, source.preprocessing)
        self._preparation = FramePreparation.of(self._processor)
        self.fingerprint = fingerprint(
            [file_sha256(source.file), config, source.quick_gelu, self._preparation.settings(), _words(self._tokenizer)]
        )
        self.dim = self._texts(["a"]).shape[-1]
        self.recipe = self.recipe_of(
            f"open_clip's {architecture}: the vector of a frame",
            PictureStream(self._preparation.picture, Rate(1.0)),
            rows_per_second=1.0,
        )

    def encode_text(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """The unit vector of each text, cut where the model's context ends."""
        texts = given_texts(texts)
        parts = [self._texts(texts[first : first + _AT_ONCE]) for first in range(0, len(texts), _AT_ONCE)]
        return joined_units(parts, self.dim)

    def encode_rows(self, frames: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "frames dim"]:
        """The unit vector of each picture."""
        with torch.inference_mode():
            rows = [self._model.encode_image(pixels) for pixels in self._pixels(frames)]
        return joined_units(rows, self.dim)

    def encode_patches(
        self, frames: UInt8[np.ndarray, "frames height width 3"]
    ) -> Float32[np.ndarray, "frames tokens dim"]:
        """LN(x) W for [CLS] and all patches x of the vision transformer's last layer (Luo et al. 2021)."""
        visual: Any = self._model.visual
        _check_patches(visual)
        visual.output_tokens = True
        try:
            with torch.inference_mode():
                parts = [visual(pixels) for pixels in self._pixels(frames)]
        finally:
            visual.output_tokens = False
        tokens = [torch.cat([cls.unsqueeze(1), patches @ visual.proj], dim=1) for cls, patches in parts]
        return torch.cat(tokens).float().cpu().numpy()

    def head(self) -> UnitHead:
        """Rows are in the joint space already."""
        return UnitHead()

    def _texts(self, texts: Sequence[str]) -> Tensor:
        with torch.inference_mode():
            vectors: Tensor = self._model.encode_text(self._tokenizer(list(texts)).to(self._device))
        return vectors

    def _pixels(self, frames: UInt8[np.ndarray, "frames height width 3"]) -> list[Tensor]:
        parts = np.split(frames, range(_AT_ONCE, len(frames), _AT_ONCE)) if len(frames) else []
        return [self._preparation.inputs(part, self._device)["pixel_values"] for part in parts]


@dataclass(frozen=True)
class _Weights:
    """A file of weights, and what belongs to it."""

    file: Path
    preprocessing: dict[str, Any]
    """open_clip's settings of preprocessing, where they differ from its own."""
    quick_gelu: bool = False
    folder: Path | None = None
    """The folder of a repository with its tokenizer, where there is one."""


class _Processor:
    """open_clip's preprocessing in the words of transformers' image processors."""

    def __init__(self, package: Any, model: Any, settings: dict[str, Any]) -> None:
        size = model.visual.image_size
        height, width = (size, size) if isinstance(size, int) else size
        mode = settings.get("resize_mode", "shortest")
        known = ("mean", "std", "interpolation", "resize_mode", "fill_color")
        self._settings = {"size": (height, width), **{name: settings[name] for name in known if name in settings}}
        config = package.transform.PreprocessCfg(**self._settings)
        self._transform = package.transform.image_transform_v2(config, is_train=False)
        self.image_mean, self.image_std = config.mean, config.std
        self.resample = Image.Resampling[config.interpolation.upper()]
        self.do_pad, self.do_center_crop = mode == "longest", mode == "shortest"
        squashed = {"height": height, "width": width}
        self.size = squashed if mode == "squash" else {"shortest_edge": min(height, width)}
        self.crop_size = squashed

    def __call__(self, images: Sequence[Image.Image], return_tensors: str) -> dict[str, Tensor]:  # noqa: ARG002
        return {"pixel_values": torch.stack([self._transform(image) for image in images])}

    def to_dict(self) -> dict[str, Any]:
        """What decides the pixels."""
        return self._settings


def _package() -> Any:
    try:
        import open_clip
    except ImportError as error:
        raise ConfigError(
            f"open_clip cannot be imported ({error}); install the extra: {how_to_install('clip')}"
        ) from error
    except RuntimeError as error:  # torchvision's, whose compiled part belongs to one build of torch
        raise ConfigError(
            f"open_clip cannot be imported ({error}); install the torchvision of your torch's build (make install "
            "EXTRAS=clip), or give the model as hf: where transformers has it"
        ) from error
    return open_clip


def _architecture(package: Any, name: str) -> dict[str, Any]:
    if name not in package.list_models():
        raise ConfigError(f"open_clip has no model {name!r}; {nearest(name, package.list_models(), 'ViT-B-32 is one')}")
    config: dict[str, Any] = package.get_model_config(name)
    return config


def _known(package: Any, architecture: str) -> str:
    tags = ", ".join(package.list_pretrained_tags_by_model(architecture)) or "none"
    return f"known for {architecture} are {tags}; or give a .safetensors file, a folder, or owner/name of the hub"


def _weights(package: Any, architecture: str, weights: str) -> _Weights:
    """The file that `weights` names: a file, a folder or repository, or a name of open_clip's."""
    place = Path(local_path(weights))
    if place.suffix in (".safetensors", ".pt", ".pth", ".bin"):
        if not place.is_file():
            raise ConfigError(f"there are no weights {place}; put the file there, on every machine that takes part")
        return _Weights(place, {}, quick_gelu=_is_openai(place))
    settings = package.get_pretrained_cfg(architecture, weights)
    if settings:
        repository = str(settings.get("hf_hub", "")).rstrip("/")
        if not repository:
            raise ConfigError(
                f"open_clip's {weights} of {architecture} is not on the hub; download {settings.get('url')}, and give "
                "the file as safetensors"
            )
        return _in_folder(model_folder(repository), dict(settings))
    if not place.is_dir() and weights.count("/") != 1:
        raise ConfigError(f"open_clip knows no weights {weights!r}; {_known(package, architecture)}")
    return _in_folder(model_folder(weights), {})


def _in_folder(folder: Path, settings: dict[str, Any]) -> _Weights:
    """The weights of a folder, as open_clip names them, with what its configuration says of preprocessing."""
    file = next((folder / name for name in _IN_REPOSITORY if (folder / name).is_file()), None)
    if file is None:
        raise CheckpointError(f"{folder} has no {_IN_REPOSITORY[0]}; give a folder or repository with safetensors")
    config = folder / "open_clip_config.json"
    if not config.is_file():
        return _Weights(file, settings, bool(settings.get("quick_gelu")))
    try:
        stated: Any = parse_json(config.read_text())
        preprocessing = {**stated.get("preprocess_cfg", {}), **settings}
    except (ValueError, AttributeError) as error:
        raise CheckpointError(f"{config} is damaged ({error}); fetch it again") from error
    quick = bool(settings.get("quick_gelu", stated.get("model_cfg", {}).get("quick_gelu")))
    return _Weights(file, preprocessing, quick, folder)


def _is_openai(file: Path) -> bool:
    """Whether a file is one of OpenAI's; CheckpointError for one that is pickled otherwise."""
    if file.suffix == ".safetensors":
        return False
    if not is_script_archive(file):
        raise CheckpointError(
            f"{file} is pickled; give safetensors (OpenAI's TorchScript archives alone are read as they are)"
        )
    return True


def _loaded(package: Any, architecture: str, source: _Weights) -> Any:
    """The model with its weights; CheckpointError where they are of another one."""
    root = logging.getLogger()
    root.addFilter(_is_no_warning)  # of random weights, which are replaced at once
    try:
        model = package.create_model(
            architecture,
            load_weights=False,
            pretrained_image=False,
            pretrained_text=False,
            force_quick_gelu=source.quick_gelu,
        )
        if source.file.suffix == ".safetensors":
            package.load_checkpoint(model, str(source.file), weights_only=True)
        else:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "weights.safetensors"
                state = {name: value for name, value in read_state(source.file).items() if name not in _NO_PARAMETERS}
                save_file({name: value.float().clone().contiguous() for name, value in state.items()}, file)
                package.load_checkpoint(model, str(file), weights_only=True)
    except Exception as error:  # the library's own faults are of many kinds
        raise one_line_fault(f"{source.file} holds no weights of {architecture}", error) from error
    finally:
        root.removeFilter(_is_no_warning)
    return model.float().eval().requires_grad_(False)


def _is_no_warning(record: logging.LogRecord) -> bool:
    return record.levelno != logging.WARNING


def _tokenizer(package: Any, architecture: str, source: _Weights) -> Any:
    name = architecture if source.folder is None else f"local-dir:{source.folder}"
    try:
        return package.get_tokenizer(name)
    except Exception as error:  # of other libraries, and of transport
        raise one_line_fault(f"the tokenizer of {architecture} is not here", error) from error


def _words(tokenizer: Any) -> object:
    """What decides a tokenizer's ids."""
    inner = getattr(getattr(tokenizer, "tokenizer", None), "backend_tokenizer", None)
    return [type(tokenizer).__name__, getattr(tokenizer, "context_length", None), inner.to_str() if inner else None]


def _check_patches(visual: Any) -> None:
    """ConfigError unless the patches that `visual` gives beside [CLS] have passed its last LayerNorm."""
    lacking = [name for name in ("output_tokens", "proj", "image_size", "grid_size") if not hasattr(visual, name)]
    if lacking or visual.proj is None:
        raise ConfigError(
            f"{type(visual).__name__} is no vision transformer with a projection ({', '.join(lacking) or 'proj'}); "
            "give one such as ViT-B-32, ViT-B-16 or ViT-L-14"
        )
    pooling = getattr(visual, "pool_type", "tok")
    if pooling != "tok" or getattr(visual, "attn_pool", None) or getattr(visual, "final_ln_after_pool", False):
        raise ConfigError(
            f"the model pools its patches ({pooling}), which are therefore not in the space of its texts; give one "
            "with a [CLS] token such as ViT-B-32, ViT-B-16 or ViT-L-14"
        )
