"""How captions become words: rare and unknown ones, word vectors, uncut captions, parts of speech."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from tests.builders.captioned import CaptionedVideos
from tests.builders.toy import written
from vtr_core.config.override import override
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import Drops, VideoEntry
from vtr_core.errors import DatasetError
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset

CAPTIONS = {"v0": ["a dog runs", "a dog runs far away"], "v1": ["a cat"], "test": ["a zebra runs"]}


@dataclass(frozen=True)
class WithTest(CaptionedVideos):
    """The video called test is the test split."""

    captions_of: Mapping[str, Sequence[str]] = field(default_factory=lambda: CAPTIONS)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        videos = super().videos(drops)
        return [replace(video, split="test" if video.video_id == "test" else "train") for video in videos]


def _ingest(folder: Path, word_vectors: str | None = None, **options: object) -> dict[str, Manifest]:
    settings = IngestOptions(**options)  # type: ignore[arg-type]
    manifests = written(WithTest(), folder, settings, word_vectors=word_vectors)
    return {str(manifest.source["split"]): manifest for manifest in manifests}


def _tokens(manifest: Manifest) -> dict[str, list[int]]:
    by_name = {}
    for videos in video_rows(manifest, row_groups(manifest), 64):
        for caption, tokens in zip(videos.captions, videos.tokens.tolist(), strict=True):
            by_name[caption] = tokens
    return by_name


def _vectors(folder: Path, words: Iterable[str]) -> str:
    lines = [f"{word} {number}.0 0.5" for number, word in enumerate(words, start=1)]
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n")
    return str(folder / "vectors.txt")


def test_rare_and_unseen_words_become_the_unknown_token(tmp_path: Path) -> None:
    manifest = _ingest(tmp_path / "d", min_count=2, unknown="token", max_words=None)
    assert WordTable.load(manifest["train"]).vocabulary.words == ("a", "dog", "runs")
    unknown = 3 + 3
    assert _tokens(manifest["test"]) == {"a zebra runs": [1, unknown, 3, 0, 0]}
    assert _tokens(manifest["train"])["a dog runs far away"] == [1, 2, 3, unknown, unknown]


def test_uncut_captions_are_as_long_as_the_longest(tmp_path: Path) -> None:
    manifest = _ingest(tmp_path / "d", max_words=None)
    assert manifest["train"].schema.max_words == manifest["test"].schema.max_words == 5
    assert manifest["train"].vocabulary.made == {
        "tokenizer": "words", "min_count": 1, "unknown": "dropped", "uncut": True, "tagged": False,
    }  # fmt: skip


def test_word_vectors_are_of_frequent_words_of_the_training_captions(tmp_path: Path) -> None:
    vectors = _vectors(tmp_path, ["zebra", "dog", "a", "cat"])
    table = WordTable.load(_ingest(tmp_path / "d", vectors)["train"])
    assert table.vocabulary.words == ("a", "dog", "cat")  # not zebra, a word of the test captions
    assert table.vectors is not None
    assert table.vectors.tolist() == [[3, 0.5], [2, 0.5], [4, 0.5]]
    frequent = WordTable.load(_ingest(tmp_path / "e", vectors, min_count=2)["train"])
    assert frequent.vocabulary.words == ("a", "dog")


def test_words_without_a_vector_stay_where_unknown_ones_are_tokens(tmp_path: Path) -> None:
    table = WordTable.load(_ingest(tmp_path / "d", _vectors(tmp_path, ["dog"]), min_count=2, unknown="token")["train"])
    assert table.vocabulary.words == ("a", "dog", "runs")
    assert table.vectors is not None
    assert table.vectors[1].tolist() == [1, 0.5]
    assert (np.abs(table.vectors[[0, 2]]) <= 1).all()
    assert len(np.unique(table.vectors)) == 6  # drawn apart


def test_tagged_words_take_the_vector_of_the_bare_word(tmp_path: Path) -> None:
    manifest = _ingest(tmp_path / "d", _vectors(tmp_path, ["dog", "runs"]), tagger="default")["train"]
    table = WordTable.load(manifest)
    assert table.vocabulary.words == ("dog/noun", "runs/verb")
    assert table.vectors is not None
    assert table.vectors[:, 0].tolist() == [1, 2]
    assert manifest.vocabulary.made is not None
    assert manifest.vocabulary.made["tagger"] == "default"


def test_training_refuses_data_that_do_not_fit_the_preset(tmp_path: Path) -> None:
    published = override(preset("hybrid-msrvtt-tiny-latent"), {"captions.min_count": 2, "captions.unknown": "token"})
    with pytest.raises(DatasetError, match=r"min_count is 1 where 2 is asked for.*vtr ingest captioned .*--preset"):
        with_inputs(published, _ingest(tmp_path / "plain")["train"])
    fitting = _ingest(tmp_path / "fitting", min_count=2, unknown="token")["train"]
    assert with_inputs(published, fitting).model.inputs.num_words == 3
    old = replace(fitting, vocabulary=replace(fitting.vocabulary, made=None))
    with pytest.raises(DatasetError, match="min_count is not recorded where 2 is asked for"):
        with_inputs(published, old)
    assert with_inputs(preset("hybrid-msrvtt-tiny-latent"), old)
