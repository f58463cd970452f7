"""`vtr index VIDEOS`: a folder of videos without captions is searched by words, and each hit tells its classes."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vtr_core
from pipelines.cli import run
from pipelines.explain.command import ExplainQueriesFlags
from pipelines.explain.queries import explain
from pipelines.index.command import IndexFlags
from pipelines.index.indexing import index
from pipelines.search.command import SearchFlags
from pipelines.search.search import search
from tests.builders.dual_checkpoints import capsule_checkpoint
from tests.builders.small_videos import grey_video
from tests.builders.toy import toy_dataset
from vtr_core.encoders.encoder import encoder
from vtr_core.errors import ConfigError, DatasetError, InputError, VtrError
from vtr_core.extraction import outputs as in_process
from vtr_core.retrieval.index.index import load_index
from vtr_core.retrieval.index.windows import WindowStore
from vtr_core.storage import locate

TIMES = [k / 5 for k in range(13)]
ODD = 'it\'s a "film", 100% of ünïcode #1.mkv'
QUERY = "a dog on grass"


def made(folder: Path) -> Path:
    """Two films that can be used, one of them long enough for two windows, and files that cannot."""
    folder.mkdir()
    grey_video(folder / "one.mp4", TIMES, sound_s=2.5)
    grey_video(folder / ODD, TIMES[:8], (48, 64))
    (folder / "empty.mp4").touch()
    (folder / "text.mp4").write_text("no video")
    return folder


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("films") / "of mine")


@pytest.fixture(scope="module")
def place(films: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = str(tmp_path_factory.mktemp("index") / "found")
    index(IndexFlags(str(films), out=out, window=1.3))
    return out


def ids(place: str) -> list[str]:
    return [item.item_id for item in load_index(locate(place)).items]


def found(capsys: pytest.CaptureFixture[str], place: str, *queries: str, **others: object) -> dict:
    capsys.readouterr()
    search(SearchFlags(queries or (QUERY,), place, json=True, **others))  # type: ignore[arg-type]
    return json.loads(capsys.readouterr().out)


def test_an_item_is_a_window_of_a_file(place: str) -> None:
    items = {item.item_id: item for item in load_index(locate(place)).items}
    (first, second, odd) = (items[name] for name in ("one.mp4#0", "one.mp4#1.3", f"{ODD}#0"))
    assert len(items) == 3
    assert (first.video_id, first.start, first.end, first.caption) == ("one.mp4", 0.0, pytest.approx(1.3), None)
    assert (second.start, second.end) == (pytest.approx(1.3), pytest.approx(2.6))
    assert odd.video_id == ODD


def test_scores_and_classes_are_those_of_the_encoder(
    place: str, films: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundled = encoder("bundled")
    (text,) = bundled.encode_text([QUERY])
    hits = {hit["item_id"]: hit for hit in found(capsys, place)["hits"]}
    stored = load_index(locate(place))
    for number, item in enumerate(stored.items):
        (shard,) = stored.shards
        z, vector = shard.tensors["concept"][number].astype(np.float64), shard.tensors["video"][number]
        q = [float(name @ text) for name in bundled.head().names.double().numpy()]  # type: ignore[union-attr]
        terms = [one * other for one, other in zip(z, q, strict=True)]
        assert sum(terms) == pytest.approx(float(vector @ text), abs=2e-3), "the similarity is the sum of its terms"
        hit = hits[item.item_id]
        assert hit["score"] == pytest.approx(float(vector @ text), abs=1e-5)
        order = sorted(range(1000), key=lambda i: -terms[i])[:5]
        assert [tag["name"] for tag in hit["tags"]] == [bundled.concepts[i] for i in order]
        shares = [terms[i] / sum(map(abs, terms)) for i in order]
        assert [tag["share"] for tag in hit["tags"]] == pytest.approx(shares, rel=1e-3)
    assert hits["one.mp4#0"]["link"] == f"{(films / 'one.mp4').as_uri()}#t=0,1.3"


def test_pages_show_pictures_and_escape_names(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found(capsys, place, page=str(tmp_path / "hits.html"))
    page = (tmp_path / "hits.html").read_text()
    assert page.count("data:image/jpeg;base64,") == 3
    assert "it&#39;s a &#34;film&#34;" in page
    assert 'href="file://' in page
    assert "#t=0,1.3" in page
    report = explain(ExplainQueriesFlags(index=place, query=(QUERY,), out=str(tmp_path), k=3, experiment="windows"))
    (hits,) = (query.answers[0].hits for query in report.queries)
    assert [hit.video_id for hit in hits] == [hit.item_id for hit in vtr_core.Index.open(place).search(QUERY)]
    assert all(0 < hit.causality_few <= hit.causality_many <= 1 for hit in hits)
    assert (tmp_path / "explanations.html").read_text().count("data:image/jpeg;base64,") == 3


def test_a_second_call_encodes_nothing_again(
    films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that are new, others under their name or gone, and a folder that is added."""
    folder, out = shutil.copytree(films, tmp_path / "films"), str(tmp_path / "found")
    index(IndexFlags(str(folder), out=out, window=1.3))
    asked: list[str] = []
    real = in_process.extract_here

    def watched(uris: list[str], *args: object, **others: object) -> Iterator[object]:
        asked.extend(Path(uri).name for uri in uris)
        return real(uris, *args, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(in_process, "extract_here", watched)
    revision = index(IndexFlags(str(folder), out=out)).revision
    assert asked == []
    assert "is up to date" in capsys.readouterr().out
    grey_video(folder / "new.mp4", TIMES[:5])
    grey_video(folder / ODD, TIMES[3:9], (48, 64))
    record = index(IndexFlags(str(folder), out=out))
    assert sorted(asked) == sorted([ODD, "new.mp4"])
    assert (record.revision, record.num_items) == (revision + 1, 4)
    (folder / ODD).unlink()
    index(IndexFlags(str(folder), out=out))
    assert ids(out) == ["one.mp4#0", "one.mp4#1.3", "new.mp4#0"]
    assert sorted(asked) == sorted([ODD, "new.mp4"])
    (tmp_path / "more").mkdir()
    grey_video(tmp_path / "more" / "more.mp4", TIMES[:5])
    index(IndexFlags(str(tmp_path / "more"), out=out, add=True))
    assert sorted(ids(out)) == ["more.mp4#0", "new.mp4#0", "one.mp4#0", "one.mp4#1.3"]
    index(IndexFlags(out=out, delete=("one.mp4#0", "new.mp4")))
    assert sorted(ids(out)) == ["more.mp4#0", "one.mp4#1.3"]
    assert not (WindowStore.beside(locate(out)).names() & {"new.mp4"}), "its pictures are gone, too"


@pytest.mark.long
def test_ray_makes_the_same_index(films: Path, place: str, tmp_path: Path) -> None:
    out = str(tmp_path / "found")
    index(IndexFlags(str(films), out=out, window=1.3, workers=1))
    one, other = (load_index(locate(where)) for where in (place, out))
    assert sorted(ids(out)) == sorted(ids(place))
    order = [ids(out).index(item_id) for item_id in ids(place)]
    for name, tensor in one.shards[0].tensors.items():
        assert np.array_equal(tensor, other.shards[0].tensors[name][order]), name


def test_what_cannot_be_used_is_counted(films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    shutil.copy(films / "empty.mp4", broken)
    with pytest.raises(DatasetError, match=r"none of the 1 files can be encoded, for instance .*empty.mp4 is empty"):
        run("index", [str(broken), "--out", str(tmp_path / "out"), "--workers", "0"])
    assert "dropped 1 × not_a_video" in capsys.readouterr().out


def test_another_encoder_is_refused(films: Path, place: str, tmp_path: Path) -> None:
    folder, out = films, str(shutil.copytree(place, tmp_path / "found"))
    record = Path(out) / "windows" / "windows.json"
    other = {**json.loads(record.read_text()), "model_fingerprint": "0" * 64, "checkpoint": "encoder:other"}
    record.write_text(json.dumps(other))
    with pytest.raises(ConfigError, match="is an index of the encoder encoder:other, whose vectors cannot be compared"):
        index(IndexFlags(str(folder), out=out, encoder="bundled"))
    data = toy_dataset(tmp_path / "data")[0]
    capsules = capsule_checkpoint(tmp_path / "capsules", data)
    with pytest.raises(DatasetError, match="their vectors cannot be compared; run vtr index again"):
        search(SearchFlags((QUERY,), out, checkpoint=capsules))
    with pytest.raises(ConfigError, match="names no recipes of its features"):
        index(IndexFlags(str(folder), out=str(tmp_path / "third"), encoder=capsules))
    with pytest.raises(ConfigError, match="is a model, and there is nothing to index; give --data URI"):
        index(IndexFlags(capsules, out=str(tmp_path / "third")))


@pytest.mark.parametrize(
    ("flags", "error", "message"),
    [
        (IndexFlags("films", encoder="bundeld"), ConfigError, "no encoder 'bundeld'; did you mean bundled"),
        (IndexFlags("films", encoder="howto-2d"), ConfigError, "howto-2d makes features of videos and encodes no text"),
        (IndexFlags("films", window=-1.0), ConfigError, "--window is -1; it must be from 0.1 to 3600 seconds"),
        (IndexFlags("encoder:bundled"), ConfigError, "encoder:bundled is a model"),
        (IndexFlags("films", shards=2), ConfigError, "--shards is for a data set"),
        (IndexFlags("nowhere"), InputError, "nowhere is no folder"),
        (IndexFlags("empty"), InputError, "empty gives no video"),
        (IndexFlags("x", data="y", encoder="bundled"), ConfigError, "give x or --encoder bundled"),
        (IndexFlags("x", data="y", window=2.0), ConfigError, "--window belong to videos"),
        (IndexFlags(), ConfigError, "or videos \\(a folder, glob, list or table\\)"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_faults_are_named(
    flags: IndexFlags, error: type[VtrError], message: str, films: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "empty").mkdir()
    (tmp_path / "films").symlink_to(films)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        index(replace(flags, out="out"))
