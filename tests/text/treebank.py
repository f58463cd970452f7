"""A treebank of a few sentences, to be learned by heart."""

from pathlib import Path

SENTENCES = (
    "The/DET/the men/NOUN/man are/AUX/be running/VERB/run ./PUNCT/.",
    "A/DET/a dog/NOUN/dog runs/VERB/run quickly/ADV/quickly ./PUNCT/.",
    "Two/NUM/two red/ADJ/red cars/NOUN/car and/CCONJ/and a/DET/a dog/NOUN/dog ./PUNCT/.",
    "Anna/PROPN/Anna is/AUX/be running/VERB/run in/ADP/in the/DET/the park/NOUN/park !/PUNCT/!",
    "The/DET/the dogs/NOUN/dog and/CCONJ/and the/DET/the cars/NOUN/car ./PUNCT/.",
    "Red/ADJ/red dogs/NOUN/dog in/ADP/in two/NUM/two parks/NOUN/park ./PUNCT/.",
)


def conllu(sentences: tuple[str, ...] = SENTENCES) -> str:
    """In CoNLL-U, with a comment, a range and an empty node."""
    blocks = []
    for sentence in sentences:
        lines = ["# text = …", "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_"]
        for number, item in enumerate(sentence.split(), 1):
            form, tag, lemma = item.split("/")
            lines.append(f"{number}\t{form}\t{lemma}\t{tag}\t_\t_\t0\troot\t_\t_")
        lines.append("8.1\tgone\tgo\tVERB\t_\t_\t_\t_\t_\t_")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def treebank(folder: Path, name: str = "en_tiny") -> str:
    """The folder of a treebank whose three parts are the same sentences."""
    folder.mkdir(exist_ok=True)
    for part in ("train", "dev", "test"):
        (folder / f"{name}-ud-{part}.conllu").write_text(conllu(), encoding="utf-8")
    return str(folder)
