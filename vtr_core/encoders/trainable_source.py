"""Where the weights and the tokenizer of a trained joint encoder come from: an `hf:` source, or files of a CLIP."""

import gzip
import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from vtr_core.backbones.clip_weights import transformers_state
from vtr_core.backbones.weights import load_state, read_state
from vtr_core.config.pretrained import ClipConfig, JointRecord, recorded_sizes
from vtr_core.encoders.huggingface import PADDED, JointModel, joint_model, pretrained_tokenizer
from vtr_core.encoders.trainable import (
    DEVIATION,
    MEAN,
    NUM_SPECIAL,
    TrainableEncoder,
    architecture_json,
    clip_architecture,
    packed_tokenizer,
)
from vtr_core.encoders.weights import folder_fingerprint, model_folder
from vtr_core.errors import CheckpointError, ConfigError, InputError

PREFIX = "hf:"
CLIP_MERGES = 49_152 - 256 - 2
"""The number of merges that CLIP takes of its file; with 2 · 256 bytes and the start and end tokens: 49,408 tokens."""
_TOKENIZERS = ("tokenizer.json", "merges.txt", "bpe_simple_vocab_16e6.txt.gz")
"""What a tokenizer is called beside a file of weights."""
_MAX_BYTES = 64 * 2**20
"""Of a file of merges, unpacked."""
_TRAINABLE = "give a CLIP, SigLIP, SigLIP 2 or MetaCLIP 2"


def recorded(config: ClipConfig) -> ClipConfig:
    """`config` with what its source or tokenizer decides; as it is where it has neither, or is recorded already.

    ConfigError where there is no such source, CheckpointError or InputError for files that are not what they should be.
    """
    place = config.source or config.tokenizer
    if place is None or (config.record is not None and config.record.source == place):
        return config
    record = _of_folder(place) if config.source is not None else _of_tokenizer(config, place)
    values = config.model_dump() | recorded_sizes(record.architecture) | {"record": record.model_dump()}
    return ClipConfig.model_validate(values)


def load_pretrained(model: TrainableEncoder) -> None:
    """The weights and the tokenizer that the model's configuration names; nothing where it names none.

    CheckpointError for files of another network, and for a source that changed since the run was recorded.
    """
    config, record = model.config, model.config.record
    if config.source is not None:
        assert record is not None, "a model with a source is recorded when it is built"
        folder = model_folder(config.source.removeprefix(PREFIX))
        _require_unchanged(record, folder_fingerprint(folder))
        joint = joint_model(folder)
        state = joint.model.state_dict()
        model.model.load_state_dict({name: state[name] for name in model.model.state_dict()})
        model.take_tokenizer(packed_tokenizer(_tokenizer_of(joint, folder)))
        return
    if config.tokenizer is not None and record is not None:
        tokenizer, fingerprint = _clip_tokenizer(config.tokenizer, config.context)
        _require_unchanged(record, fingerprint)
        model.take_tokenizer(packed_tokenizer(tokenizer))
    if config.weights is not None:
        load_clip(model, config.weights)


def load_clip(model: TrainableEncoder, file: str) -> None:
    """Load all weights of a CLIP from a file; CheckpointError where it is missing or of another network."""
    if not Path(file).is_file():
        raise CheckpointError(f"there is no file of weights {file}; give model.backbone.weights a file on every node")
    state = transformers_state(read_state(file))
    words = state.get("text_model.embeddings.token_embedding.weight")
    expected = model.model.config.text_config.vocab_size
    if words is not None and len(words) != expected:
        whose = "the tokenizer" if model.config.reads_texts else "the data set's vocabulary, start and end included,"
        raise CheckpointError(
            f"{file} has {len(words)} tokens, {whose} has {expected}; for published weights give "
            "--model.backbone.tokenizer, the published tokenizer or CLIP's file of merges"
        )
    load_state(model.model, state, file)


def _of_folder(place: str) -> JointRecord:
    """The record of an `hf:` source; ConfigError for a model that cannot be trained on squares of stored frames."""
    folder = model_folder(place.removeprefix(PREFIX))
    joint = joint_model(folder)
    architecture = architecture_json(joint.model.config)
    kind, pixels = architecture.get("model_type"), joint.preparation
    try:
        recorded_sizes(architecture)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{place} is a {kind}, whose sizes are not known here ({error}); {_TRAINABLE}") from error
    if joint.kind != "frames" or pixels.processor is not None:
        raise ConfigError(f"{place} is a {kind}, which reads no single square frames; {_TRAINABLE}")
    scale = pixels.normalization.divisor / 255  # 1, but for a processor that leaves values from 0 to 255
    red, green, blue = (scale * value for value in pixels.normalization.mean)
    red_deviation, green_deviation, blue_deviation = (scale * value for value in pixels.normalization.deviation)
    return JointRecord(
        source=place,
        fingerprint=folder_fingerprint(folder),
        architecture=architecture,
        tokenizer_bytes=len(packed_tokenizer(_tokenizer_of(joint, folder))),
        mean=(red, green, blue),
        deviation=(red_deviation, green_deviation, blue_deviation),
    )


def _of_tokenizer(config: ClipConfig, place: str) -> JointRecord:
    """The record of a CLIP of the configured sizes with a published tokenizer."""
    tokenizer, fingerprint = _clip_tokenizer(place, config.context)
    return JointRecord(
        source=place,
        fingerprint=fingerprint,
        architecture=clip_architecture(config, tokenizer.get_vocab_size() - NUM_SPECIAL),
        tokenizer_bytes=len(packed_tokenizer(tokenizer)),
        mean=MEAN,
        deviation=DEVIATION,
    )


def _require_unchanged(record: JointRecord, fingerprint: str) -> None:
    if fingerprint != record.fingerprint:
        raise CheckpointError(
            f"{record.source} is not what it was when the run was recorded (sha256 {fingerprint[:12]}, recorded "
            f"{record.fingerprint[:12]}); restore it, or start a new run"
        )


def _tokenizer_of(joint: JointModel, folder: Path) -> Tokenizer:
    """A model's tokenizer, with its padding and truncation; CheckpointError where the folder has none that fits it."""
    fixed = joint.model.config.model_type in PADDED
    cutter = _cutter(joint.tokenizer, folder)
    pieces, known = cutter.get_vocab_size(with_added_tokens=False), joint.model.config.text_config.vocab_size
    if pieces > known:
        raise CheckpointError(
            f"{folder} has a tokenizer of {pieces} tokens, and a model of {known}; give the tokenizer that it was "
            "trained with"
        )
    return _fitted(cutter, joint.longest, joint.tokenizer.pad_token_id or 0, joint.tokenizer.padding_side, fixed)


def _cutter(tokenizer: Any, folder: Path) -> Tokenizer:
    """The part of transformers' tokenizer that cuts texts, apart from it."""
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise CheckpointError(f"{folder} has a tokenizer without tokenizer.json; save it again with transformers 5")
    return Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())


def _fitted(cutter: Tokenizer, context: int, pad: int, side: str, fixed: bool) -> Tokenizer:
    """With truncation to the context, and padding to it or to the longest caption."""
    cutter.enable_truncation(context)
    cutter.enable_padding(
        direction=side, pad_id=pad, pad_token=cutter.id_to_token(pad) or "", length=context if fixed else None
    )
    return cutter


def _clip_tokenizer(place: str, context: int) -> tuple[Tokenizer, str]:
    """CLIP's tokenizer of a tokenizer.json, a file of merges, or a folder or hub id; and its sha256."""
    file = Path(place)
    if not file.is_file():
        folder = model_folder(place.removeprefix(PREFIX))
        made = _cutter(pretrained_tokenizer(folder), folder)
    elif file.suffix == ".json":
        try:
            made = Tokenizer.from_file(place)
        except Exception as error:  # the library raises no class of its own
            raise InputError(f"{place} is no tokenizer.json ({error}); give the published file") from error
    else:
        made = merges_tokenizer(file)
    end = made.token_to_id("<|endoftext|>")
    if end is None:
        raise InputError(f"{place} has no token <|endoftext|>, which ends CLIP's captions; give CLIP's tokenizer")
    made = _fitted(made, context, end, "right", fixed=False)
    return made, hashlib.sha256(made.to_str().encode()).hexdigest()


def tokenizer_near(file: Path) -> str:
    """The tokenizer of a published file of a CLIP: beside it, or in the package open_clip, of which nothing runs.

    ConfigError where there is none.
    """
    places = [file.parent / name for name in _TOKENIZERS]
    spec = find_spec("open_clip")
    if spec is not None and spec.origin is not None:
        places.append(Path(spec.origin).parent / _TOKENIZERS[-1])
    here = next((place for place in places if place.is_file()), None)
    if here is None:
        raise ConfigError(
            f"{file} has no tokenizer beside it ({', '.join(_TOKENIZERS)}), and open_clip, which carries CLIP's, is "
            "not installed; give one with --tokenizer"
        )
    return str(here)


def merges_tokenizer(file: Path) -> Tokenizer:
    """CLIP's tokenizer of `bpe_simple_vocab_16e6.txt.gz` or of a `merges.txt`; InputError for another file."""
    from transformers import CLIPTokenizer
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    try:
        content = file.read_bytes()
        if content[:2] == b"\x1f\x8b":
            with gzip.open(file) as packed:
                content = packed.read(_MAX_BYTES)
        lines = content.decode().rstrip("\n").split("\n")[1 : CLIP_MERGES + 1]
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{file} is no readable text of merges ({error}); give CLIP's file of merges") from error
    merges: list[Any] = [tuple(line.split()) for line in lines]  # the library takes pairs, and says lines
    wrong = next((number for number, pair in enumerate(merges, start=2) if len(pair) != 2), None)
    if wrong is not None or not merges:
        where = "it holds none" if wrong is None else f"line {wrong} is not two pieces with a space between"
        raise InputError(f"{file} is no file of merges: {where}; give CLIP's file of merges")
    single = list(bytes_to_unicode().values())
    pieces = [*single, *(letter + "</w>" for letter in single), *("".join(pair) for pair in merges)]
    vocabulary = {piece: number for number, piece in enumerate([*pieces, "<|startoftext|>", "<|endoftext|>"])}
    if len(vocabulary) != len(pieces) + NUM_SPECIAL:
        raise InputError(f"{file} holds a piece twice; give CLIP's file of merges")
    made: Tokenizer = CLIPTokenizer(vocab=vocabulary, merges=merges).backend_tokenizer
    return Tokenizer.from_str(made.to_str())
