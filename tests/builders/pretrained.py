"""Small models with random weights, saved by the libraries themselves, with tokenizers of a few words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ("a", "dog", "cat", "runs", "sleeps", "in", "the", "garden", "man", "lifts", "barbell", "red", "car", "of")
TEXTS = ("a dog runs in the garden", "a man lifts a barbell", "red car", "")
_SPECIAL = ("<pad>", "<unk>", "<start>", "<end>")
TOWER = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
VOCABULARY = len(WORDS) + len(_SPECIAL)


def save_tokenizer(folder: Path, longest: int = 12, special: Sequence[str] = _SPECIAL, **options: Any) -> None:
    """A tokenizer of whole words, with a start and an end."""
    known = {word: place for place, word in enumerate([*special, *WORDS])}
    made = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<start> $A <end>", special_tokens=[(name, known[name]) for name in ("<start>", "<end>")]
    )
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<start>", "eos_token": "<end>"}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=longest, **names, **options
    )
    tokenizer.save_pretrained(folder)


def save_clip(folder: Path, size: int = 28, seed: int = 0, **processing: Any) -> Any:
    """CLIP of 7 x 7 patches."""
    vision = {**TOWER, "image_size": size, "patch_size": size // 7}
    processor = _square_processor(size, **processing)
    return _saved(folder, "CLIP", processor, seed, text_config=_text(), vision_config=vision, projection_dim=24)


def save_siglip2(folder: Path) -> Any:
    """SigLIP 2 with patches of frames near their aspect ratio (NaFlex), and a tokenizer of letters."""
    letters = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *"abcdefghijklmnopqrstuvwxyz"]
    text = {**TOWER, "vocab_size": len(letters), "max_position_embeddings": 16, "projection_size": 32}
    vision = {**TOWER, "patch_size": 4, "num_patches": 36}
    processor = transformers.Siglip2ImageProcessorPil(patch_size=4, max_num_patches=36)
    model = _saved(folder, "Siglip2", processor, 1, text_config=text, vision_config=vision)
    places = {letter: place for place, letter in enumerate(letters)}
    transformers.Siglip2Tokenizer(vocab=places, merges=[]).save_pretrained(folder)
    return model


def save_siglip(folder: Path) -> Any:
    """SigLIP, which squashes frames to a square."""
    text, vision = {**_text(), "projection_size": 32}, {**TOWER, "image_size": 24, "patch_size": 4}
    processor = transformers.SiglipImageProcessorPil(size={"height": 24, "width": 24})
    return _saved(folder, "Siglip", processor, 2, text_config=text, vision_config=vision)


def save_metaclip2(folder: Path) -> Any:
    """MetaCLIP 2."""
    return _saved(
        folder, "MetaClip2", _square_processor(28), 3, text_config=_text(), vision_config=_PATCHES, projection_dim=24
    )


def save_altclip(folder: Path) -> Any:
    """AltCLIP, whose text tower is XLM-RoBERTa's."""
    text = {**_text(16), "project_dim": 24}
    return _saved(
        folder, "AltCLIP", _square_processor(28), 4, text_config=text, vision_config=_PATCHES, projection_dim=24
    )


def save_xclip(folder: Path, frames: int = 4) -> Any:
    """X-CLIP, which sees windows of frames."""
    across = {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
    vision = {**_PATCHES, "num_frames": frames, **{f"mit_{name}": size for name, size in across.items()}}
    sizes = {"projection_dim": 24, "prompt_num_attention_heads": 4}
    return _saved(folder, "XCLIP", _square_processor(28), 5, text_config=_text(), vision_config=vision, **sizes)


def save_multimodal_sentences(folder: Path) -> Any:
    """A model of sentence-transformers that encodes texts and pictures."""
    from sentence_transformers import SentenceTransformer

    save_clip(folder.parent / f"{folder.name}-clip", seed=7)
    model = SentenceTransformer(str(folder.parent / f"{folder.name}-clip"), device="cpu")
    model.save(str(folder))
    return model


def save_bert(folder: Path) -> Any:
    """Plain BERT: text alone, in no joint space."""
    return _saved(folder, "Bert", None, 6, **TOWER, vocab_size=VOCABULARY, max_position_embeddings=16)


_PATCHES = {**TOWER, "image_size": 28, "patch_size": 4}


def _text(positions: int = 12) -> dict[str, int]:
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    return {**TOWER, "vocab_size": VOCABULARY, "max_position_embeddings": positions, **ids}


def _square_processor(size: int, **processing: Any) -> Any:
    sizes = {"size": {"shortest_edge": size}, "crop_size": {"height": size, "width": size}}
    return transformers.CLIPImageProcessorPil(**sizes, **processing)


def _saved(folder: Path, kind: str, processor: Any, seed: int, **sizes: Any) -> Any:
    """transformers' model of this kind, with its processor of frames and a tokenizer of words."""
    torch.manual_seed(seed)
    config = getattr(transformers, f"{kind}Config")(**sizes)
    model = getattr(transformers, f"{kind}Model")(config).eval()
    model.save_pretrained(folder)
    if processor is not None:
        processor.save_pretrained(folder)
    save_tokenizer(folder)
    return model
