"""Activations of a data set: clips once, missing modalities never, the same in whatever pieces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.builders.toy import DIM, Toy, toy_dataset, written
from vtr_core.data.batches import ClipBatch
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.systems.capsules.activations import ClipActivations, capsule_model, read_activations
from vtr_core.text.tokens.vocabulary import Vocabulary

FEATURES = {"video": DIM, "audio": 2}


class Telling(nn.Module):
    """Text capsules tell the ids of the first two words, video capsules v and c of `Toy`, audio capsules c and 1."""

    def __init__(self, broken: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.broken = broken

    def activations(self, batch: ClipBatch) -> dict[str, Capsules]:
        values = {"text": batch.tokens[:, :2].float(), **{n: batch.features[n][:, :2].float() for n in FEATURES}}
        if self.broken:
            values["video"] = values["video"] / 0
        assert not self.training
        return {name: Capsules(torch.zeros(len(v), 2, 1), v) for name, v in values.items()}


@dataclass(frozen=True)
class Captioned(Toy):
    """`Toy` with as many rows of each clip as `captions_each`, each with a caption of its own."""

    captions_each: int = 3

    def captions(self, videos: Sequence[Any]) -> Any:
        return (f"clip spoken{j}" for j in range(self.captions_each))

    def clips(self, video: Any, drops: Any) -> Any:
        for clip in super().clips(video, drops):
            for j in range(self.captions_each):
                yield type(clip)(clip.clip_id, clip.start, clip.end, f"clip spoken{j}", clip.features)


def read(manifest: Manifest, **changes: Any) -> ClipActivations:
    options: dict[str, Any] = {"max_clips": 1000, "batch_rows": 1000, "seed": 0, **changes}
    words = options.pop("vocabulary", None) or WordTable.load(manifest).vocabulary
    model = options.pop("model", Telling())
    return read_activations(model, options.pop("features", FEATURES), manifest, words, **options)


@pytest.fixture
def toy(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "d", clips_of=[2, 3, 1, 4, 2])[0]


def clip_ids(manifest: Manifest) -> list[str]:
    reader = RowGroupReader(manifest, ["clip_id"])
    return [clip for place in row_groups(manifest) for clip in reader.read(place)["clip_id"]]


@pytest.mark.parametrize("batch_rows", [1, 1000])
def test_clips_are_in_the_order_of_the_set(toy: Manifest, batch_rows: int) -> None:
    found = read(toy, batch_rows=batch_rows)
    ids = clip_ids(toy)
    assert found.num_clips == 12
    assert found.clips["clip_id"].tolist() == ids
    told = [[int(number) for number in clip[1:].split(":")[:2]] for clip in ids]
    assert found.activations["video"].tolist() == told


def test_a_clip_without_a_modality_is_not_among_its_clips(toy: Manifest) -> None:
    """Every third clip of a video has audio; the others are stored as zeros."""
    rows, values = read(toy).of("audio")
    assert len(rows) == len(values) == 6
    assert (values[:, 1] == 1).all()


def test_a_clip_with_many_captions_is_one_clip_as_active_as_its_strongest(tmp_path: Path) -> None:
    manifest = written(Captioned((2, 3)), tmp_path / "d", IngestOptions())[0]
    assert manifest.rows == 15
    found = read(manifest, batch_rows=2)
    assert found.num_clips == len(set(found.clips["clip_id"])) == 5
    ids = WordTable.load(manifest).vocabulary.ids
    strongest = float(max(ids[f"spoken{j}"] for j in range(3)))
    assert found.activations["text"][:, 1].tolist() == [strongest] * 5
    assert found.clips["captions"][0] == tuple(f"clip spoken{j}" for j in range(3))


def test_a_modality_that_no_clip_has_is_said_to_be_absent(toy: Manifest) -> None:
    class More(Telling):
        def activations(self, batch: ClipBatch) -> dict[str, Capsules]:
            return {
                **super().activations(batch),
                "depth": Capsules(torch.zeros(batch.rows, 2, 1), batch.features["depth"]),
            }

    found = read(toy, model=More(), features={**FEATURES, "depth": 2})
    assert found.absent == ("depth",)
    assert set(found.activations) == {"text", "video", "audio", "depth"}


def test_the_sample_depends_on_the_seed_alone(toy: Manifest, tmp_path: Path) -> None:
    """The same clips in one shard or in three, in small pieces or large."""
    whole = toy_dataset(tmp_path / "e", clips_of=[2, 3, 1, 4, 2], videos_per_shard=9)[0]

    def sample(manifest: Manifest, seed: int) -> list[list[float]]:
        found = read(manifest, max_clips=5, seed=seed, batch_rows=3)
        assert len(found.clips["video_key"]) == 5
        return sorted(found.activations["video"].tolist())

    assert sample(toy, 1) == sample(whole, 1)
    assert sample(toy, 1) != sample(toy, 2)


def test_sampled_captions_belong_to_sampled_clips(toy: Manifest) -> None:
    found = read(toy, max_clips=4)
    told = found.activations["video"][:, 0].astype(int).tolist()
    assert list(found.clips["captions"]) == [(f"video number{v}",) for v in told]


def test_another_vocabulary_encodes_captions_anew(toy: Manifest) -> None:
    own = WordTable.load(toy).vocabulary
    other = Vocabulary(("unheard", *own.words))
    np.testing.assert_array_equal(read(toy, vocabulary=other).activations["text"], read(toy).activations["text"] + 1)


def test_captions_of_unknown_words_are_no_text(toy: Manifest) -> None:
    assert read(toy, vocabulary=Vocabulary(("unheard",))).absent == ("text",)


def test_a_broken_model_is_named(toy: Manifest) -> None:
    with pytest.raises(CheckpointError, match="video capsules give activations that are not finite"):
        read(toy, model=Telling(broken=True))


def test_a_model_without_capsules_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"\(fully_connected\) has no capsules"):
        capsule_model(nn.Linear(2, 2), "fully_connected")
    model = Telling()
    assert capsule_model(model, "capsule_net") is model
