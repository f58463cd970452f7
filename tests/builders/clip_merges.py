"""A small file of merges in the format of CLIP's, and the tokenizer of transformers that has them."""

from transformers import CLIPTokenizer

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
START, END = "<|startoftext|>", "<|endoftext|>"
PIECES = len(byte_pairs.ids(MERGES))
"""Without start and end, whose ids follow."""


def clip_tokenizer() -> CLIPTokenizer:
    """As published: its vocabulary lists every piece."""
    vocabulary = byte_pairs.ids(MERGES) | {START: PIECES, END: PIECES + 1}
    return CLIPTokenizer(vocab=vocabulary, merges=list(MERGES))
