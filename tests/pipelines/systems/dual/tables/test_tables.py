"""`vtr tables thesis`: rows are trained where their data is there, and say why where it is not."""

import json
from pathlib import Path

import pytest

from pipelines.index.command import IndexFlags
from pipelines.index.indexing import index
from pipelines.search.command import SearchFlags
from pipelines.search.search import search
from pipelines.systems.dual.thesis_rows import (
    FUSED,
    PAPER,
    AvsYear,
    avs_figures,
    num_topics,
    parse_year,
    tables,
    training,
)
from pipelines.systems.dual.thesis_tables import TablesFlags
from pipelines.tables.row_settings import variant_configs
from pipelines.tables.runs import variants_of
from tests.builders.captioned import CaptionedVideos, captioned_videos
from tests.builders.dual_checkpoints import dual_checkpoint
from tests.builders.toy import toy_videos, written
from tests.text.tagged import FixedTagger
from vtr_core.data.concepts.building import TableSettings, build_concept_table
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.synthetic import SyntheticVideos
from vtr_core.errors import ConfigError, InputError

SMALL = {"training.max_steps": 2, "batch.videos": 16, "scaling.workers": 0, "model.num_concepts": 8}


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("data") / "described"
    data = {
        str(one.source["split"]): one
        for one in written(SyntheticVideos(num_videos=100, dim=8), out, IngestOptions(videos_per_shard=40))
    }
    tagger = FixedTagger(" ".join(f"{word}/NOUN" for word in WordTable.load(data["train"]).vocabulary.words))
    sets = [data["train"], data["val"], data["test"]]
    build_concept_table(sets, tagger, TableSettings(), str(out / "concepts"))
    return out


@pytest.mark.long
@pytest.mark.usefixtures("own_tracking_store")
def test_rows_stand_beside_the_papers_figures(described: Path, tmp_path: Path) -> None:
    rows = {"only": ("3.1", "3.2", "4.1", "5.2", "5.3", "5.4"), "rows": ("concept", FUSED, "concept-pos-spacy")}
    flags = TablesFlags(preset="hybrid-msrvtt-tiny", data=str(described), seeds=2, out=str(tmp_path / "out"), **rows)
    page = tables(flags, SMALL)
    found = json.loads((tmp_path / "out" / "tables.json").read_text())["figures"]
    assert len(found["concept"]["msrvtt/concepts, improved/c10"]) == 2
    assert len(found[FUSED]["msrvtt/two spaces/sum_r"]) == 1
    assert set(found["concept"]) >= {
        "msrvtt/transform/enough/scale",
        "msrvtt/detectors/video/train",
        "msrvtt/concept/t2v_map",
        "msrvtt/concepts, enough/c10",
        "msrvtt/validation/original/map",
    }
    assert found["data-msrvtt"]["data/videos"] == [100.0]
    assert "| MSR-VTT | 10000 → **100** | 200000 → **" in page
    assert "| 512-d Jaccard | 1.00 → **" in page
    assert "512-d, concept-only training (spaCy): not run. No data tagged by it was given: vtr ingest msrvtt" in page
    assert "IACC.3 and V3C1 are licensed" not in page  # Table 3.4 was not asked for
    again = tables(flags, SMALL)  # nothing is trained twice
    assert again == page


def test_without_data_the_papers_figures_stand_alone(tmp_path: Path) -> None:
    page = tables(TablesFlags(out=str(tmp_path)), {})
    assert page.count("## Table ") == 9
    assert "| 512-d (TT) | 32.3 | 60.7 | 71.7 | 3.1 |" in page
    assert "avs: not run. The collections IACC.3 and V3C1" in page
    assert "2048-d latent: not run. No training data was given: --data FOLDER." in page
    page = tables(TablesFlags(out=str(tmp_path), only=("3.2",), rows=("base", "concept")), {})
    assert "Dual Encoding TPAMI: not run. No training data was given" in page  # the hybrid's own row


def test_every_row_is_a_training_of_a_preset() -> None:
    rows = [row for row in variants_of(PAPER.tables) if not row.startswith("data-")]
    variant_configs("hybrid-msrvtt-tiny", [training(row)[0] for row in rows], {})  # all are presets
    assert {row: training(row) for row in rows if training(row) != (row, "")} == {
        FUSED: ("equal-latent", ""),
        **{f"pos-{tagger}": ("pos", tagger) for tagger in ("treetagger", "wordnet", "spacy")},
        **{f"concept-pos-{tagger}": ("concept-pos", tagger) for tagger in ("treetagger", "wordnet", "spacy")},
    }


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ({"only": ("3.9",)}, r"the paper has tables 3\.1, 3\.2"),
        ({"test": ("msrvtt=x",)}, "leave out --test"),
        ({"rows": ("none",)}, "--rows: there is no row 'none'"),
        ({"seeds": 0}, "--seeds is 0; it must be 1 or more"),
        ({"tagged": ("brill=x",)}, "write NAME=URI, with a name of treetagger, wordnet, spacy"),
        ({"size": ("tgif",)}, "--size 'tgif': write NAME=URI"),
    ],
)
def test_what_is_wrong_is_said(flags: dict[str, object], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=complaint):
        tables(TablesFlags(out=str(tmp_path), **flags), {})  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.usefixtures("own_tracking_store")
def test_ad_hoc_search_is_of_joint_training_validated_elsewhere(tmp_path: Path) -> None:
    """As Table 3.4: trained on two data sets, whose concepts are ranked together, validated on a third."""
    said = ["a dog runs", "a red ball", "the cat sits"]
    first = captioned_videos(tmp_path / "first", {f"a{n}": [*said, f"{said[n % 3]} here"] for n in range(6)})
    words = WordTable.load(first)
    more, val = (
        written(
            CaptionedVideos({f"{name}{n}": [said[n % 3]] for n in range(9)}), tmp_path / name, IngestOptions(), words
        )[0]
        for name in ("more", "val")
    )
    tagger = FixedTagger("dog/NOUN runs:run/VERB red/ADJ ball/NOUN cat/NOUN sits:sit/VERB a/DET the/DET here/ADV")
    build_concept_table([first, more], tagger, TableSettings(), str(tmp_path / "concepts"), training=(0, 1))
    (tmp_path / "topics").write_text("501 a red ball\n")
    (tmp_path / "judged").write_text("1501 0 val1 1 1\n")
    rows = {"only": ("3.4",), "rows": ("concept",), "preset": "hybrid-msrvtt-tiny", "seeds": 1}
    data = {"data": f"{first.uri} + {more.uri}", "validation": val.uri, "concepts": str(tmp_path / "concepts")}
    avs = (f"2016={val.uri},{tmp_path}/topics,{tmp_path}/judged",)
    flags = TablesFlags(avs=avs, out=str(tmp_path / "out"), **rows, **data)
    small = {**SMALL, "model.num_concepts": 4, "batch.videos": 4, "batch.epoch": "captions"}
    tables(flags, small)
    (record,) = [json.loads(file.read_text()) for file in (tmp_path / "out").rglob("run.json")]
    assert (record["data"], record["validation"]) == (f"{first.uri} + {more.uri}", val.uri)
    found = json.loads((tmp_path / "out" / "tables.json").read_text())["figures"]["concept"]
    assert set(found) == {"avs/2016", "avs/overall"}


def test_joint_training_is_of_the_table_of_ad_hoc_search(described: Path, tmp_path: Path) -> None:
    flags = TablesFlags(data=f"{described} + {described / 'test'}", rows=("concept",), out=str(tmp_path))
    with pytest.raises(ConfigError, match=r"training on several data sets is of Table 3\.4; give its years with --avs"):
        tables(flags, SMALL)


def test_both_rows_of_a_pair_are_measured_on_the_captions_of_one_tagger() -> None:
    (table,) = (table for table in PAPER.tables if table.number == "3.3")
    by_title = {row.title: row.direction for row in table.rows}
    for tagger, name in (("WN", "wordnet"), ("TT", "treetagger"), ("spaCy", "spacy")):
        assert by_title[f"512-d ({tagger})"] == by_title[f"512-d, on the queries of {tagger}"]
        assert by_title[f"512-d ({tagger})"] == f"concept, ambiguous, {name}"


TOPICS = "501 Caption number1 of video number2\n502 video number4\n"
JUDGED = {"first": "1501 0 v1 1 1\n1501 0 v2 1 0\n1502 0 v0 1 1\n", "second": "1501 0 v4 1 1\n1502 0 v2 1 1\n"}


def _year(folder: Path, year: int, judged: str, data: str) -> AvsYear:
    (folder / "topics").write_text(TOPICS)
    (folder / judged).write_text(JUDGED[judged])
    return AvsYear(year, data, str(folder / "topics"), str(folder / judged))


def test_infap_is_that_of_the_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = toy_videos(tmp_path / "set")
    checkpoint = dual_checkpoint(tmp_path / "model", data)
    years = [_year(tmp_path, 2016, "first", data.uri), _year(tmp_path, 2017, "second", data.uri)]
    found = avs_figures(checkpoint, years)
    index(IndexFlags(checkpoint, data.uri, str(tmp_path / "index")))
    expected = []
    for one in years:
        capsys.readouterr()
        search(SearchFlags(index=str(tmp_path / "index"), topics=one.topics, judgements=one.judgements, json=True))
        expected.append(100 * json.loads(capsys.readouterr().out)["infap"])
    assert [found["avs/2016"], found["avs/2017"]] == pytest.approx(expected)
    assert found["avs/overall"] == pytest.approx(sum(expected) / 2)
    assert min(expected) > 0


def test_topics_are_counted_in_table_3_1(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(TOPICS)
    flags = TablesFlags(only=("3.1", "3.4"), out=str(tmp_path / "out"), topics=(f"iacc3={tmp_path}/t,{tmp_path}/t",))
    assert "| IACC.3 | 335944 | – | 90 → **4** |" in tables(flags, {})
    with pytest.raises(InputError, match="cannot be read"):
        num_topics({"iacc3": str(tmp_path / "none")})


@pytest.mark.parametrize("word", ["2016", "2016=a,b", "2015=a,b,c", "2016=a,b,", "x=a,b,c"])
def test_what_is_no_year(word: str) -> None:
    with pytest.raises(ConfigError, match="write YEAR=COLLECTION,TOPICS,JUDGEMENTS"):
        parse_year(word)


def test_a_year_comes_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="given twice"):
        tables(TablesFlags(out=str(tmp_path), avs=("2016=a,b,c", "2016=d,e,f")), {})
