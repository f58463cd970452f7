"""From captions to a table: what is ranked, what is counted, what is reported, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.captioned import captioned_clips, captioned_videos
from tests.text.tagged import FixedTagger
from vtr_core.data.concepts.building import TableSettings, build_concept_table
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import key64
from vtr_core.text.concepts import ConceptSettings

ENTRIES = "dogs:dog/NOUN dog/NOUN run/VERB runs:run/VERB red/ADJ cat/NOUN sits:sit/VERB ball/NOUN a/DET the/DET"
TRAIN = {
    "v0": ["A dog runs.", "the dogs run", "a red dog", "красный шар"],
    "v1": ["a cat sits", "a cat runs", "the ball"],
    "v2": ["a red ball", "the red ball", "dog"],
}
TEST = {"t0": ["a cat"], "t1": ["a ball runs"], "t2": ["dogs"]}


def sets(folder: Path) -> list[Manifest]:
    return [captioned_videos(folder / "train", TRAIN), captioned_clips(folder / "test", TEST)]


def build(manifests: list[Manifest], out: Path, **settings: object) -> ConceptTable:
    made = TableSettings(**settings)  # type: ignore[arg-type]
    return build_concept_table(manifests, FixedTagger(ENTRIES), made, str(out))[0]


def test_the_first_data_set_decides_the_names(tmp_path: Path) -> None:
    table = build(sets(tmp_path), tmp_path / "table")
    assert (table.names[0], set(table.names)) == ("dog", {"dog", "run", "cat", "red", "ball"})
    assert table.head.frequency == (3, 2, 2, 2, 2)
    assert [part.min_captions for part in table.head.datasets] == [2, 1]  # the test set has a caption per video
    assert [(part.videos, part.captions) for part in table.head.datasets] == [(3, 10), (3, 3)]
    keys = np.array([key64(name) for name in ("v0", "v1", "v2", "t1")])
    labels = [[1, 2 / 3, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 1], [0, 1, 0, 0, 1]]
    order = [table.names.index(name) for name in ("dog", "run", "cat", "red", "ball")]
    again = ConceptTable.load(str(tmp_path / "table"))
    for result in (table, again):
        np.testing.assert_array_equal(result.soft_labels(keys, 5)[:, order], np.array(labels, np.float32))
    assert again.fingerprint == table.fingerprint


def test_settings(tmp_path: Path) -> None:
    manifests = sets(tmp_path)
    table = build(manifests, tmp_path / "table", concepts=ConceptSettings(pos=True), min_captions=1)
    assert table.names[0] == "dog/noun"
    assert {"run/verb", "red/adjective", "sit/verb"} < set(table.names)
    assert [part.min_captions for part in table.head.datasets] == [1, 1]
    assert (table.head.pos, table.head.parts) == (True, ("noun", "verb", "adjective"))


def test_report(tmp_path: Path) -> None:
    captions = {"v0": ["a play", "we play"], "v1": ["a play", "…"], "v2": ["dog", "a play"]}
    manifest = captioned_videos(tmp_path / "data", captions)

    class Contextual(FixedTagger):
        def tag(self, captions):
            for caption, tagged in zip(*map(list, (captions, super().tag(captions))), strict=True):
                yield [word._replace(pos="VERB") if "we" in caption else word for word in tagged]

    tagger = Contextual("play/NOUN dog/NOUN a/DET")
    settings = TableSettings(min_captions=1, ambiguous="corpus")
    table, (report,) = build_concept_table([manifest], tagger, settings, str(tmp_path / "t"))
    assert (report.videos, report.captions, report.without_words, report.ambiguous) == (3, 6, 1, 4)
    assert report.overlap == pytest.approx(2 / 6)
    assert set(table.counts.ambiguous.tolist()) == {caption_key("a play"), caption_key("we play")}
    rarely = TableSettings(min_captions=1, ambiguous="corpus", ambiguous_share=0.3)
    table, _ = build_concept_table([manifest], tagger, rarely, str(tmp_path / "t"))
    assert len(table.counts.ambiguous) == 0


def test_by_default_a_caption_is_ambiguous_by_its_own_words(tmp_path: Path) -> None:
    """As the thesis has it: `cooks` beside `cook` of another part, not a word that other captions use otherwise."""
    manifest = captioned_videos(tmp_path / "d", {"v0": ["a cook cooks", "a cook"], "v1": ["he cooks", "a dog"]})
    tagger = FixedTagger("cooks:cook/VERB cook/NOUN dog/NOUN a/DET he/PRON")
    table, (report,) = build_concept_table([manifest], tagger, TableSettings(min_captions=1), str(tmp_path / "t"))
    assert table.counts.ambiguous.tolist() == [caption_key("a cook cooks")]
    assert report.ambiguous == 1


def test_labels_count_every_occurrence(tmp_path: Path) -> None:
    manifest = captioned_videos(tmp_path / "d", {"v0": ["a dog and a dog", "dogs run", "the dog runs"]})
    tagger = FixedTagger(f"{ENTRIES} and/CCONJ")
    found = {}
    for count in ("occurrences", "captions"):
        settings = TableSettings(ConceptSettings(count=count))  # type: ignore[arg-type]
        table, _ = build_concept_table([manifest], tagger, settings, str(tmp_path / count))
        assert ConceptTable.load(str(tmp_path / count)).head.count == count
        found[count] = dict(zip(table.names, table.soft_labels(np.array([key64("v0")]), 2)[0].tolist(), strict=True))
    assert found["occurrences"] == {"dog": 1, "run": 0.5}
    assert found["captions"] == pytest.approx({"dog": 1, "run": 2 / 3})


def test_concepts_of_joint_training_are_ranked_over_all_its_sets(tmp_path: Path) -> None:
    first = captioned_videos(tmp_path / "a", {"v0": ["a dog", "a dog runs"]})
    second = captioned_videos(tmp_path / "b", {f"g{n}": ["a red ball"] for n in range(3)})
    tagger = FixedTagger(ENTRIES)
    with pytest.raises(DatasetError, match="would have no concept"):  # by the words of the first alone
        build_concept_table([first, second], tagger, TableSettings(), str(tmp_path / "t"))
    both, _ = build_concept_table([first, second], tagger, TableSettings(), str(tmp_path / "u"), training=(0, 1))
    assert both.names == ("red", "ball", "dog")
    assert both.head.frequency == (3, 3, 2)
    assert ConceptTable.load(str(tmp_path / "u")).head.training == (0, 1)


def test_a_vocabulary_larger_than_the_corpus_offers(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"offer 5 concepts that 2 captions of a video mention, fewer than the 6"):
        build_concept_table(sets(tmp_path), FixedTagger(ENTRIES), TableSettings(), str(tmp_path / "t"), 6)
    assert not (tmp_path / "t").exists()
    with pytest.raises(DatasetError, match=r"offer 0 concepts that 9 captions.*fewer than the 1 needed"):
        build(sets(tmp_path), tmp_path / "t", min_captions=9)


def test_captions_of_another_alphabet(tmp_path: Path) -> None:
    captions = {"v0": ["собака бежит", "собака"], "v1": ["красный шар", "a ball"]}
    with pytest.raises(DatasetError, match=r"3 of the 4 captions of .* hold no Latin letter or digit, .*English"):
        build([captioned_videos(tmp_path / "d", captions)], tmp_path / "t")


def test_a_video_with_different_captions_in_two_sets(tmp_path: Path) -> None:
    manifests = [*sets(tmp_path), captioned_videos(tmp_path / "more", {"v1": ["a dog", "a dog runs"]})]
    with pytest.raises(DatasetError, match=r"v1 stands in .*train and in .*more with different captions"):
        build(manifests, tmp_path / "t")
    assert not (tmp_path / "t" / "concepts.json").exists()
    assert len(build([*sets(tmp_path), sets(tmp_path)[0]], tmp_path / "t").counts.video_key) == 6


def test_a_set_of_mostly_single_captions_is_labelled_by_single_captions(tmp_path: Path) -> None:
    """As TGIF: 36 GIFs of one caption and 4 of three."""
    single = {f"g{i}": ["a dog runs"] for i in range(36)}
    several = {f"h{i}": ["a cat sits", "the cat", "a red ball"] for i in range(4)}
    manifest = captioned_videos(tmp_path / "data", single | several)
    table = build([manifest], tmp_path / "table")
    assert table.head.datasets[0].min_captions == 1
    keys = np.array([key64(name) for name in (*single, *several)])
    assert (table.soft_labels(keys, len(table.names)).sum(axis=1) > 0).all()


def test_a_set_that_would_have_no_labels_is_refused(tmp_path: Path) -> None:
    train = captioned_videos(tmp_path / "train", TRAIN)
    other = captioned_videos(
        tmp_path / "other", {f"t{i}": ["the a", "a the"] for i in range(3)} | {"u": ["dog", "dogs"]}
    )
    with pytest.raises(DatasetError, match=r"3 of the 4 videos of .*other would have no concept.*lower --min-captions"):
        build([train, other], tmp_path / "t")
    assert not (tmp_path / "t").exists()
