"""`vtr import hybrid_space FILE`: a published checkpoint of dual encoding as one of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from pipelines.arguments import run_import
from vtr_core.errors import command_line

PROJECT = "hybrid_space"


@dataclass(frozen=True)
class HybridSpaceFlags:
    """Flags of `vtr import hybrid_space`."""

    file: Annotated[str, tyro.conf.Positional]
    """File of weights, model_best.pth.tar; only tensors and plain values are read from it."""
    words: str = tyro.MISSING
    """File of the words of its vocabulary in their order, one on each line, without <pad>, <start>, <end>, <unk>."""
    out: str = tyro.MISSING
    """New checkpoint folder or URI."""
    concepts: str | None = None
    """Its tag_vocab_….json, the names of its concepts in their order; needed for a model with a concept space."""
    similarity: Literal["jaccard", "cosine"] = "jaccard"
    """Similarity of concepts that it was trained with."""
    max_words: int = 64
    """Words kept of a caption."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_import(argv, PROJECT, HybridSpaceFlags, import_hybrid_space)


def import_hybrid_space(flags: HybridSpaceFlags) -> None:
    """Write the checkpoint."""
    from pipelines.systems.dual.hybrid_weights import published_config, published_weights, read_published
    from vtr_core.config.override import override
    from vtr_core.fingerprint import fingerprint
    from vtr_core.run.presets import preset
    from vtr_core.storage import check_writable, locate
    from vtr_core.text.concepts import ConceptNames
    from vtr_core.text.tokens.vocabulary import Vocabulary
    from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, save_checkpoint

    out = locate(flags.out)
    check_writable(out)
    base = override(preset("hybrid-msrvtt-published"), {"model.concept_similarity": flags.similarity})
    parts = read_published(flags.file)
    config = published_config(parts, base, flags.max_words)
    names = _concepts(flags.concepts, config.model.system().num_concepts(config.model) or 0)
    words = Vocabulary(_words(flags.words, config.model.inputs.num_words), "alphanumeric", "token")
    concepts = ConceptNames(names, fingerprint(list(names))) if names else None
    save_checkpoint(out, Checkpoint.imported(PROJECT, config, published_weights(parts, config), words, concepts))
    print(f"checkpoint  {out}")
    print(f"next        {command_line('evaluate', flags.out, '--data', 'URI')}")


def _words(file: str, count: int) -> tuple[str, ...]:
    """The distinct words of a file, as many as the model has."""
    from vtr_core.errors import InputError

    words = tuple(line.strip() for line in _text(file).splitlines() if line.strip())
    if len(words) != count or len(set(words)) != count:
        raise InputError(
            f"{file} has {len(words)} words, {len(set(words))} different ones; the model has {count}: give its "
            "vocabulary in its order, one word on each line, without <pad>, <start>, <end>, <unk>"
        )
    return words


def _concepts(file: str | None, count: int) -> tuple[str, ...]:
    """The names of the model's concepts; () for a model without any."""
    from vtr_core.errors import InputError
    from vtr_core.json_text import parse_json

    if file is None or not count:
        if count or file is not None:
            raise InputError(f"the model has {count} concepts; give --concepts FILE if it has any, else leave it out")
        return ()
    try:
        names = parse_json(_text(file).encode())
    except ValueError as error:
        raise InputError(f"{file} is no JSON ({error}); give the list of concepts, tag_vocab_{count}.json") from error
    if not isinstance(names, list) or len(names) != count or len(set(map(str, names))) != count:
        raise InputError(f"{file} is no list of {count} different names, as many as the model has concepts")
    return tuple(map(str, names))


def _text(file: str) -> str:
    from vtr_core import storage
    from vtr_core.errors import InputError
    from vtr_core.storage import locate

    try:
        return storage.read_bytes(locate(file)).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as text ({error})") from error
