"""A sentence encoder of one small layer with random weights, as sentence-transformers saves it."""

from pathlib import Path
from string import ascii_lowercase, digits

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

LETTERS = ascii_lowercase + digits


def tiny_encoder(folder: Path, seed: int = 0, dim: int = 16) -> str:
    """The name of an encoder of letters below `folder`; another seed has other weights."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=dim,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=dim,
        max_position_embeddings=128,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder / "bert")
    BertTokenizerFast(vocab={piece: number for number, piece in enumerate(pieces)}).save_pretrained(folder / "bert")
    SentenceTransformer(modules=[Transformer(str(folder / "bert")), Pooling(dim)]).save(str(folder / "model"))
    return f"st:{folder / 'model'}"
