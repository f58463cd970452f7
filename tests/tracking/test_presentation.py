"""What MLflow's pages show of a run: its columns, and a description that says what to do next."""

from vtr_core.tracking.run import code, markdown_table, page_tags


def test_versions_are_left_to_the_environment_and_pages_get_their_columns() -> None:
    origin = {"git.commit": "abc", "git.branch": "main", "version.torch": "2", "machine": "x", "version.vtr": "1"}
    tags = page_tags(origin, "vtr train", "what it is")
    assert {name for name in tags if name.startswith("version.")} == set()
    assert "machine" not in tags
    assert (tags["git.commit"], tags["mlflow.source.git.commit"]) == ("abc", "abc")
    assert tags["mlflow.source.type"] == "LOCAL"
    assert (tags["mlflow.source.name"], tags["mlflow.note.content"]) == ("vtr train", "what it is")


def test_code_cannot_be_left() -> None:
    assert code("a `b`\n# c") == "`a b # c`"


def test_a_cell_cannot_be_left_either() -> None:
    assert markdown_table(["trial", "r1"], [["a|b", "0.5"]]) == "| trial | r1 |\n| --- | ---: |\n| a&#124;b | 0.5 |\n"
