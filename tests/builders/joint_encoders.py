"""Small joint encoders of transformers with random weights, saved by the library into folders."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    CLIPConfig,
    CLIPImageProcessorPil,
    CLIPModel,
    CLIPTokenizer,
    MetaClip2Config,
    MetaClip2Model,
    Siglip2Config,
    Siglip2ImageProcessorPil,
    Siglip2Model,
    Siglip2Tokenizer,
    SiglipConfig,
    SiglipImageProcessorPil,
    SiglipModel,
)

from tests.reference import byte_pairs

MERGES = [
    ("t", "h"),
    ("th", "e</w>"),
    ("a", "n"),
    ("i", "n"),
    ("in", "g</w>"),
    ("m", "an</w>"),
    ("a", "n</w>"),
    ("o", "o"),
    ("c", "oo"),
    ("coo", "k"),
    ("oo", "k"),
    ("e", "r</w>"),
    ("Ã", "©</w>"),
    ("'", "s</w>"),
]
LINES = "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in MERGES)
"""A file of merges, as CLIP's."""
START, END = "<|startoftext|>", "<|endoftext|>"
PIECES = len(byte_pairs.ids(MERGES))
SIDE, PATCH = 32, 8
"""Of the pictures, in pixels."""
CONTEXT = 24
_SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
_VISION = {**_SIZE, "image_size": SIDE, "patch_size": PATCH}


def save_encoder(kind: str, folder: Path, seed: int = 0) -> Path:
    """A model of a kind of transformers' with its tokenizer and picture processor; returns its folder."""
    torch.manual_seed(seed)
    {"clip": _clip, "metaclip_2": _metaclip, "siglip": _siglip, "siglip2": _siglip2}[kind](folder)
    return folder


def clip_tokenizer() -> CLIPTokenizer:
    vocabulary = byte_pairs.ids(MERGES) | {START: PIECES, END: PIECES + 1}
    return CLIPTokenizer(vocab=vocabulary, merges=list(MERGES))


def _clip(folder: Path) -> None:
    CLIPModel(CLIPConfig(**_clip_settings())).save_pretrained(folder)
    clip_tokenizer().save_pretrained(folder)
    CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}).save_pretrained(
        folder
    )


def _metaclip(folder: Path) -> None:
    _clip(folder)
    MetaClip2Model(MetaClip2Config(**_clip_settings())).save_pretrained(folder)


def _clip_settings() -> dict[str, Any]:
    special = {"bos_token_id": PIECES, "eos_token_id": PIECES + 1, "pad_token_id": PIECES + 1}
    text = {**_SIZE, "vocab_size": PIECES + 2, "max_position_embeddings": CONTEXT, **special}
    return {"text_config": text, "vision_config": _VISION, "projection_dim": 24}


def _siglip(folder: Path) -> None:
    text = _siglip_text(folder)
    SiglipModel(SiglipConfig(text_config=text, vision_config=_VISION)).save_pretrained(folder)
    SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)


def _siglip2(folder: Path) -> None:
    text, count = _siglip_text(folder), (SIDE // PATCH) ** 2
    vision = {**_SIZE, "num_patches": count, "patch_size": PATCH}
    Siglip2Model(Siglip2Config(text_config={**text, "projection_size": 32}, vision_config=vision)).save_pretrained(
        folder
    )
    Siglip2ImageProcessorPil(patch_size=PATCH, max_num_patches=count).save_pretrained(folder)


def _siglip_text(folder: Path) -> dict[str, Any]:
    """Saves a Gemma-like tokenizer of letters and bytes; returns the settings of a text side that reads it."""
    special = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")
    pieces = [*special, *"abcdefghijklmnopqrstuvwxyz", "▁", "th", "the", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer = Siglip2Tokenizer(
        vocab={piece: number for number, piece in enumerate(pieces)}, merges=[("t", "h"), ("th", "e")]
    )
    tokenizer.padding_side = "right"  # as SigLIP was trained
    tokenizer.save_pretrained(folder)
    numbers = {"bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0}
    return {**_SIZE, "vocab_size": len(pieces), "max_position_embeddings": CONTEXT, **numbers}
