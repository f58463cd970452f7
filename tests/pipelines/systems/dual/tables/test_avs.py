"""infAP of a checkpoint on topics: that of `vtr search` on an index of the same collection."""

import json
from pathlib import Path

import pytest

from pipelines.index.command import IndexFlags
from pipelines.index.indexing import index
from pipelines.search.command import SearchFlags
from pipelines.search.search import search
from pipelines.systems.dual.thesis_rows import AvsYear, avs_figures, num_topics, parse_year, tables
from pipelines.systems.dual.thesis_tables import TablesFlags
from tests.builders.dual_checkpoints import dual_checkpoint
from tests.builders.toy import toy_videos
from vtr_core.errors import ConfigError, InputError

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
