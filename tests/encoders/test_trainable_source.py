"""Sources and tokenizers of trained encoders: read, recorded, and refused in one line."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from safetensors.torch import load_file, save_file

from tests.builders.clip_merges import LINES, MERGES, PIECES, clip_tokenizer
from tests.builders.pretrained import save_clip, save_siglip2, save_xclip
from tests.reference import byte_pairs as slow
from vtr_core.config.override import override
from vtr_core.config.pretrained import ClipConfig
from vtr_core.encoders.trainable import TrainableEncoder
from vtr_core.encoders.trainable_source import (
    load_pretrained,
    merges_tokenizer,
    recorded,
)
from vtr_core.errors import CheckpointError, ConfigError, InputError
from vtr_core.run.presets import preset

# Not unassigned characters, which versions of Unicode class differently; not Σ, which Python puts into lower case by
# its place in the word; not <, with which special tokens begin.
assigned = st.characters(
    codec="utf-8", exclude_categories=("Cn", "Co", "Cs", "Cc"), exclude_characters="Σ<", max_codepoint=0xFFFF
)
text = st.text(st.sampled_from("thecookiangrms 's7½²Ⅷ_-!&日本\n\t") | assigned, max_size=40)


@pytest.fixture(scope="module")
def merges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("merges") / "merges.txt"
    file.write_text(LINES)
    return file


@given(caption=text)
@settings(max_examples=200, deadline=None)
def test_ids_of_a_file_of_merges_are_those_of_slow_code(caption: str, merges: Path) -> None:
    import unicodedata

    known = slow.ids(MERGES)
    pieces = [known[piece] for piece in slow.cut(unicodedata.normalize("NFC", caption), MERGES)]
    assert merges_tokenizer(merges).encode(caption).ids == [PIECES, *pieces, PIECES + 1]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"#version\na b c\n", "line 2 is not two pieces"),
        (b"#version\na b\na b\n", "a piece twice"),
        (b"\xff\xfe", "no readable text"),
        (b"\x1f\x8bnothing", "no readable text"),
    ],
)
def test_another_file_of_merges_is_refused(tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / "merges.txt").write_bytes(content)
    with pytest.raises(InputError, match=fault):
        merges_tokenizer(tmp_path / "merges.txt")


def of(folder: Path, save: Callable[[Path], Any]) -> ClipConfig:
    save(folder)
    return recorded(ClipConfig(source=f"hf:{folder}"))


def test_the_record_has_the_sources_sizes_and_normalisation(tmp_path: Path) -> None:
    config = of(tmp_path, save_siglip2)
    assert (config.image_size, config.patch, config.context, config.embedding_dim) == (24, 4, 16, 32)
    assert (config.vision.width, config.text.layers) == (32, 2)
    assert config.record is not None
    assert config.record.mean == (0.5, 0.5, 0.5)
    assert ClipConfig.model_validate_json(config.model_dump_json()) == config
    shutil.rmtree(tmp_path)
    assert recorded(config) == config  # without its source
    with pytest.raises(ValidationError, match=r"patch = 16 is not the 4 of hf:.*; leave it"):
        ClipConfig.model_validate({**config.model_dump(), "patch": 16})


def test_a_published_clip_takes_a_tokenizer_file(merges: Path) -> None:
    small = {"vision": {"width": 16, "layers": 1, "heads": 2}, "text": {"width": 16, "layers": 1, "heads": 2}}
    config = recorded(ClipConfig.model_validate({**small, "tokenizer": str(merges), "weights": "w.pt"}))
    assert config.reads_texts
    assert config.record is not None
    text_side = config.record.architecture["text_config"]
    assert (text_side["vocab_size"], text_side["eos_token_id"]) == (PIECES + 2, PIECES + 1)


def test_sources_that_are_no_encoder_say_what_to_do(tmp_path: Path, merges: Path) -> None:
    save_clip(tmp_path / "clip")
    clip_tokenizer().save_pretrained(tmp_path / "clip")
    with pytest.raises(CheckpointError, match=r"a tokenizer of 528 tokens, and a model of 18"):
        recorded(ClipConfig(source=f"hf:{tmp_path / 'clip'}"))
    with pytest.raises(ConfigError, match="is a xclip, which reads no single square frames"):
        of(tmp_path / "xclip", save_xclip)
    for source in ("clip", "open-clip:ViT-B-32/openai", "hf:"):
        with pytest.raises(ConfigError, match="no encoder that can be trained; give hf:"):
            override(preset("clip4clip-tiny"), {"model.backbone.source": source})
    both = {"model.backbone.source": "hf:x", "model.backbone.weights": "y"}
    with pytest.raises(ConfigError, match="leave out weights and tokenizer, or the source"):
        override(preset("clip4clip-tiny"), both)
    (merges.parent / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"is no tokenizer\.json"):
        recorded(ClipConfig(tokenizer=str(merges.parent / "tokenizer.json")))


def test_a_source_that_changed_or_lacks_weights_is_refused(tmp_path: Path) -> None:
    config = of(tmp_path, save_clip)
    save_clip(tmp_path, seed=1)
    with pytest.raises(CheckpointError, match="is not what it was when the run was recorded"):
        load_pretrained(TrainableEncoder(config, 256))
    weights = load_file(tmp_path / "model.safetensors")
    del weights["visual_projection.weight"]
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(CheckpointError, match="lacks 1 of CLIPModel's weights, such as visual_projection"):
        load_pretrained(TrainableEncoder(recorded(ClipConfig(source=f"hf:{tmp_path}")), 256))
