"""`hf:`: any transformers model that gives features of text and of images, or of windows of frames of a video.

CLIP, SigLIP, SigLIP 2, MetaCLIP 2, AltCLIP and their like see one frame at a time; X-CLIP sees a window of frames, of
which a row is stored. `JointModel` is the network with gradients, for fine-tuning; `HuggingFaceEncoder` is
the same network as an encoder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64, UInt8
from torch import Tensor, nn

from vtr_core.backbones.recipes import Recipe
from vtr_core.encoders.encoder import Encoder, TokenVectors, UnitHead, joined_units, token_vectors
from vtr_core.encoders.preparation import FramePreparation
from vtr_core.encoders.weights import checked_folder, folder_fingerprint, model_folder, one_line_fault, quiet_loading
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.text.tokens.vocabulary import given_texts
from vtr_core.video.streams import PictureStream, Rate

WINDOW_RATE = 2.0
"""Frames a second of models that see windows: X-CLIP was trained on 8 frames, in equal steps, of clips of seconds."""
_TEXTS_AT_ONCE = 64
_FRAMES_AT_ONCE = {"cpu": 4, "cuda": 32}
_WORDS = ("tokenizer.json", "vocab.json", "vocab.txt", "*.model")
"""Files of tokenizers, of which a model has one."""
PADDED = ("siglip", "siglip2")
"""Models that were trained on texts filled up to one length, without a mask."""


@dataclass(frozen=True)
class TextFeatures:
    """The outputs of a text tower, not normalised."""

    vectors: Float[Tensor, "texts dim"]
    tokens: Float[Tensor, "texts tokens token_dim"]
    """Of the tower's last layer."""
    mask: Bool[Tensor, "texts tokens"]


class JointModel(nn.Module):
    """A transformers model of text and frames in one space, with its tokenizer and the preparation of its frames.

    The network is `model`; nothing here has parameters of its own. Vectors are not normalised.
    """

    def __init__(self, model: nn.Module, tokenizer: Any, preparation: FramePreparation) -> None:
        super().__init__()
        self.model: Any = model
        self.tokenizer, self.preparation = tokenizer, preparation
        self.longest = _longest(model, tokenizer)

    @property
    def kind(self) -> Literal["frames", "windows"]:
        """Whether it sees one frame at a time, or a window of them."""
        return "frames" if hasattr(self.model, "get_image_features") else "windows"

    @property
    def window(self) -> int:
        """Frames of a window; 1 for a model of single frames."""
        return 1 if self.kind == "frames" else int(self.model.config.vision_config.num_frames)

    def tokenized(self, texts: Sequence[str]) -> dict[str, Int64[Tensor, "texts tokens"]]:
        """The ids of each text's tokens, cut where the model's positions end, as its own processor gives them."""
        padding = "max_length" if self.model.config.model_type in PADDED else True
        made = self.tokenizer(
            list(texts), padding=padding, truncation=True, max_length=self.longest, return_tensors="pt"
        )
        return {name: made[name] for name in ("input_ids", "attention_mask") if name in made}

    def texts(
        self, input_ids: Int64[Tensor, "texts tokens"], attention_mask: Int64[Tensor, "texts tokens"] | None = None
    ) -> TextFeatures:
        """The vector of each text, and of each of its tokens."""
        inputs = {"input_ids": input_ids} | ({} if attention_mask is None else {"attention_mask": attention_mask})
        made = self.model.get_text_features(**inputs, return_dict=True)
        padding = self.tokenizer.pad_token_id
        mask = attention_mask.bool() if attention_mask is not None else input_ids != padding
        return TextFeatures(made.pooler_output, made.last_hidden_state, mask)

    def frames(self, inputs: Mapping[str, Tensor]) -> Float[Tensor, "frames dim"]:
        """The vector of each frame, from the arguments that `preparation.inputs` gives."""
        return _pooled(self.model.get_image_features(**inputs, return_dict=True))

    def windows(self, pixels: Float[Tensor, "windows frames 3 height width"]) -> Float[Tensor, "windows dim"]:
        """The vector of each window of frames."""
        return _pooled(self.model.get_video_features(pixel_values=pixels, return_dict=True))

    def patches(self, inputs: Mapping[str, Tensor]) -> Float[Tensor, "frames tokens dim"]:
        """LN(x) W for [CLS] and all patches x of the last layer: the tokens that MUSE reads, in the joint space.

        CLIP itself projects [CLS] alone (Luo et al. 2021; Tang et al. 2025). ConfigError for a model that pools its
        patches otherwise, which are therefore not in the space of its texts.
        """
        vision, project = getattr(self.model, "vision_model", None), getattr(self.model, "visual_projection", None)
        norm = getattr(vision, "post_layernorm", None)
        if self.kind != "frames" or vision is None or norm is None or project is None or hasattr(vision, "head"):
            raise ConfigError(
                f"{type(self.model).__name__} pools its patches, or sees windows, so that they are not in the space of "
                "its texts; give a model with a [CLS] token, such as CLIP ViT-B/32"
            )
        return project(norm(vision(**inputs).last_hidden_state))


class HuggingFaceEncoder(Encoder):
    """A `JointModel` as an encoder. A stored row is the unit vector of a frame, or of a window of frames.

    X-CLIP adds to a text's vector what a video suggests, which a search cannot: its texts are without.
    """

    token_dim: int

    def __init__(self, place: str, device: str) -> None:
        folder = model_folder(place)
        self.name = f"hf:{place}"
        self.joint = joint_model(folder).to(device).eval().requires_grad_(False)
        self.fingerprint = folder_fingerprint(
            folder, [self.joint.preparation.settings(), self.joint.window, WINDOW_RATE]
        )
        self._device = device
        probe = self._texts(["a"])
        self.dim, self.token_dim = probe.vectors.shape[-1], probe.tokens.shape[-1]
        self.recipe = self._recipe()
        frames = self.encode_frames(np.zeros((1, 32, 32, 3), np.uint8))
        if frames.shape != (1, self.dim):
            raise CheckpointError(
                f"{self.name} gives texts of {self.dim} values and frames of {frames.shape[-1]}, which is no joint "
                "space; give a model whose texts and frames can be compared, such as CLIP or SigLIP"
            )

    def encode_text(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """The unit vector of each text."""
        texts = given_texts(texts)
        parts = [self._texts(texts[first : first + _TEXTS_AT_ONCE]).vectors for first in _starts(texts)]
        return joined_units(parts, self.dim)

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """The vector of each token, of the last layer; special tokens are tokens."""
        texts = given_texts(texts)
        parts = [self._texts(texts[first : first + _TEXTS_AT_ONCE]) for first in _starts(texts)]
        vectors = [row[mask] for part in parts for row, mask in zip(part.tokens, part.mask, strict=True)]
        return token_vectors(vectors, self.token_dim)

    def encode_rows(self, frames: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows dim"]:
        """The unit vector of each picture, or of each window of them; the last window may be short, and its pictures
        are then repeated in equal steps."""
        at_once = _FRAMES_AT_ONCE.get(self._device.partition(":")[0], 32)
        with torch.inference_mode():
            if self.joint.kind == "frames":
                parts = [frames[first : first + at_once] for first in range(0, len(frames), at_once)]
                rows = [self.joint.frames(self.joint.preparation.inputs(part, self._device)) for part in parts]
            else:
                window = self.joint.window
                rows = [self._window(frames[first : first + window]) for first in range(0, len(frames), window)]
        return joined_units(rows, self.dim)

    def encode_patches(
        self, frames: UInt8[np.ndarray, "frames height width 3"]
    ) -> Float32[np.ndarray, "frames tokens dim"]:
        """See `JointModel.patches`; of pictures of the recipe's size, not normalised."""
        with torch.inference_mode():
            parts = np.split(frames, range(_FRAMES_AT_ONCE["cuda"], len(frames), _FRAMES_AT_ONCE["cuda"]))
            rows = [self.joint.patches(self.joint.preparation.inputs(part, self._device)) for part in parts]
        return torch.cat(rows).float().cpu().numpy()

    def head(self) -> UnitHead:
        """Rows are in the joint space already."""
        return UnitHead()

    def _texts(self, texts: Sequence[str]) -> TextFeatures:
        with torch.inference_mode():
            ids = self.joint.tokenized(texts)
            return self.joint.texts(**{name: value.to(self._device) for name, value in ids.items()})

    def _window(self, frames: UInt8[np.ndarray, "frames height width 3"]) -> Float[Tensor, "1 dim"]:
        places = np.linspace(0, len(frames) - 1, self.joint.window).round().astype(int)
        return self.joint.windows(self.joint.preparation.inputs(frames[places], self._device)["pixel_values"][None])

    def _recipe(self) -> Recipe:
        window = self.joint.window
        rate = 1.0 if window == 1 else WINDOW_RATE
        kind = type(self.joint.model).__name__
        return self.recipe_of(
            network=f"{kind}: the vector of {'a frame' if window == 1 else f'a window of {window} frames'}",
            stream=PictureStream(self.joint.preparation.picture, Rate(rate), chunk=32 if window == 1 else 4 * window),
            rows_per_second=rate / window,
        )


def joint_model(folder: Path) -> JointModel:
    """The model of a folder, on the CPU in float32.

    CheckpointError for missing, pickled, damaged or misshapen weights, for a model of another kind, and for one that
    brings its own code.
    """
    from transformers import AutoModel

    checked_folder(folder)
    quiet_loading()
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        model, loading = AutoModel.from_pretrained(
            folder, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **options
        )
    except Exception as error:  # the library's faults are of many kinds
        raise one_line_fault(f"{folder} holds no model that transformers loads", error) from error
    absent = sorted(loading["missing_keys"]) + sorted(str(name) for name in loading.get("mismatched_keys", ()))
    if absent:
        raise CheckpointError(
            f"{folder} lacks {len(absent)} of {type(model).__name__}'s weights, such as {absent[0]}; give all of them, "
            "as save_pretrained writes them"
        )
    _check_kind(model, folder)
    tokenizer = pretrained_tokenizer(folder)
    return JointModel(model, tokenizer, _preparation(folder, options))


def pretrained_tokenizer(folder: Path) -> Any:
    """The tokenizer of a folder; CheckpointError where it has none, or one that transformers does not load."""
    from transformers import AutoTokenizer

    if not any(any(folder.glob(name)) for name in _WORDS):  # transformers would make one without words
        raise CheckpointError(f"{folder} holds no tokenizer ({', '.join(_WORDS)}); fetch it again with its tokenizer")
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise one_line_fault(f"{folder} holds no tokenizer that transformers loads", error) from error


def _check_kind(model: nn.Module, folder: Path) -> None:
    """CheckpointError for a model without text, or without frames."""
    text = hasattr(model, "get_text_features")
    frames = hasattr(model, "get_image_features") or hasattr(model, "get_video_features")
    if text and frames:
        return
    lacking = "features of text" if frames else "features of images" if text else "features of text and of images"
    raise CheckpointError(
        f"{folder} is a {type(model).__name__}, which gives no {lacking}; give a model of both (CLIP, SigLIP, "
        f"MetaCLIP 2, AltCLIP, X-CLIP), or st:{folder} for text alone"
    )


def _preparation(folder: Path, options: Mapping[str, Any]) -> FramePreparation:
    """That of the model's processor, with Pillow's scaling."""
    from transformers import AutoImageProcessor

    try:
        processor = AutoImageProcessor.from_pretrained(folder, backend="pil", **options)
    except Exception as error:
        raise one_line_fault(f"{folder} holds no image processor that transformers loads", error) from error
    return FramePreparation.of(processor)


def _longest(model: Any, tokenizer: Any) -> int:
    """Tokens of the longest text that the model has positions for, and its tokenizer allows."""
    text = getattr(model.config, "text_config", model.config)
    positions = int(getattr(text, "max_position_embeddings", tokenizer.model_max_length))
    if "roberta" in str(getattr(text, "model_type", "")) or model.config.model_type == "altclip":
        positions -= 1 + int(tokenizer.pad_token_id)  # whose positions begin after that of padding
    return min(int(tokenizer.model_max_length), positions)


def _pooled(made: Any) -> Tensor:
    return made if isinstance(made, Tensor) else made.pooler_output


def _starts(texts: Sequence[str]) -> range:
    return range(0, len(texts), _TEXTS_AT_ONCE)
