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
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<start>",
        eos_token="<end>",
        model_max_length=longest,
        **options,
    ).save_pretrained(folder)


def save_clip(folder: Path, size: int = 28, seed: int = 0, **processing: Any) -> Any:
    """CLIP of 7 x 7 patches."""
    from transformers import CLIPConfig, CLIPModel
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(seed)
    model = CLIPModel(
        CLIPConfig(
            text_config=_text(),
            vision_config={**TOWER, "image_size": size, "patch_size": size // 7},
            projection_dim=24,
        )
    ).eval()
    return _saved(folder, model, CLIPImageProcessorPil(**_square(size), **processing))


def save_siglip2(folder: Path) -> Any:
    """SigLIP 2 with patches of frames near their aspect ratio (NaFlex), and a tokenizer of letters."""
    from transformers import Siglip2Config, Siglip2Model, Siglip2Tokenizer
    from transformers.models.siglip2.image_processing_pil_siglip2 import Siglip2ImageProcessorPil

    torch.manual_seed(1)
    letters = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *"abcdefghijklmnopqrstuvwxyz"]
    text = {**TOWER, "vocab_size": len(letters), "max_position_embeddings": 16, "projection_size": 32}
    model = Siglip2Model(
        Siglip2Config(text_config=text, vision_config={**TOWER, "patch_size": 4, "num_patches": 36})
    ).eval()
    model.save_pretrained(folder)
    Siglip2ImageProcessorPil(patch_size=4, max_num_patches=36).save_pretrained(folder)
    Siglip2Tokenizer(vocab={letter: place for place, letter in enumerate(letters)}, merges=[]).save_pretrained(folder)
    return model


def save_siglip(folder: Path) -> Any:
    """SigLIP, which squashes frames to a square."""
    from transformers import SiglipConfig, SiglipModel
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    torch.manual_seed(2)
    model = SiglipModel(
        SiglipConfig(
            text_config={**_text(), "projection_size": 32},
            vision_config={**TOWER, "image_size": 24, "patch_size": 4},
        )
    ).eval()
    return _saved(folder, model, SiglipImageProcessorPil(size={"height": 24, "width": 24}))


def save_metaclip2(folder: Path) -> Any:
    """MetaCLIP 2."""
    from transformers import MetaClip2Config, MetaClip2Model
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(3)
    model = MetaClip2Model(
        MetaClip2Config(
            text_config=_text(),
            vision_config={**TOWER, "image_size": 28, "patch_size": 4},
            projection_dim=24,
        )
    ).eval()
    return _saved(folder, model, CLIPImageProcessorPil(**_square(28)))


def save_altclip(folder: Path) -> Any:
    """AltCLIP, whose text tower is XLM-RoBERTa's."""
    from transformers import AltCLIPConfig, AltCLIPModel
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(4)
    text = {**_text(16), "project_dim": 24}
    model = AltCLIPModel(
        AltCLIPConfig(text_config=text, vision_config={**TOWER, "image_size": 28, "patch_size": 4}, projection_dim=24)
    ).eval()
    return _saved(folder, model, CLIPImageProcessorPil(**_square(28)))


def save_xclip(folder: Path, frames: int = 4) -> Any:
    """X-CLIP, which sees windows of frames."""
    from transformers import XCLIPConfig, XCLIPModel
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(5)
    vision = {**TOWER, "image_size": 28, "patch_size": 4, "num_frames": frames, "mit_hidden_size": 24}
    model = XCLIPModel(
        XCLIPConfig(
            text_config=_text(),
            vision_config={
                **vision,
                "mit_intermediate_size": 32,
                "mit_num_hidden_layers": 1,
                "mit_num_attention_heads": 4,
            },
            projection_dim=24,
            prompt_num_attention_heads=4,
        )
    ).eval()
    return _saved(folder, model, CLIPImageProcessorPil(**_square(28)))


def save_multimodal_sentences(folder: Path) -> Any:
    """A model of sentence-transformers that encodes texts and pictures."""
    from sentence_transformers import SentenceTransformer

    save_clip(folder.parent / f"{folder.name}-clip", seed=7)
    model = SentenceTransformer(str(folder.parent / f"{folder.name}-clip"), device="cpu")
    model.save(str(folder))
    return model


def save_bert(folder: Path) -> Any:
    """Plain BERT: text alone, in no joint space."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(6)
    model = BertModel(BertConfig(**TOWER, vocab_size=VOCABULARY, max_position_embeddings=16)).eval()
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return model


def _text(positions: int = 12) -> dict[str, int]:
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    return {**TOWER, "vocab_size": VOCABULARY, "max_position_embeddings": positions, **ids}


def _square(size: int) -> dict[str, Any]:
    return {"size": {"shortest_edge": size}, "crop_size": {"height": size, "width": size}}


def _saved(folder: Path, model: Any, processor: Any) -> Any:
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    save_tokenizer(folder)
    return model
