"""What MLflow's pages show of a run: its columns, and a description that says what to do next."""

from vtr_core.tracking.run import code, figures_table, markdown_table, page_tags


def test_versions_are_left_to_the_environment_and_pages_get_their_columns() -> None:
    origin = {"git.commit": "abc", "git.branch": "main", "version.torch": "2", "machine": "x", "version.vtr": "1"}
    tags = page_tags(origin, "vtr train", "what it is")
    assert {name for name in tags if name.startswith("version.")} == set()
    assert "machine" not in tags
    assert (tags["git.commit"], tags["mlflow.source.git.commit"]) == ("abc", "abc")
    assert tags["mlflow.source.type"] == "LOCAL"
    assert (tags["mlflow.source.name"], tags["mlflow.note.content"]) == ("vtr train", "what it is")


def test_a_submitted_job_is_named_as_one_and_nothing_is_empty() -> None:
    tags = page_tags({"ray.submission_id": "job-1"}, "vtr train", "note")
    assert tags["mlflow.source.type"] == "JOB"
    assert tags["ray.submission_id"] == "job-1"
    assert "mlflow.source.git.commit" not in tags


def test_code_cannot_be_left() -> None:
    assert code("a `b`\n# c") == "`a b # c`"


def test_a_cell_cannot_be_left_either() -> None:
    assert markdown_table(["trial", "r1"], [["a|b", "0.5"]]) == "| trial | r1 |\n| --- | ---: |\n| a&#124;b | 0.5 |\n"


def test_figures_are_a_table_in_the_order_of_their_names() -> None:
    table = figures_table({"val/t2v/r1": 0.25, "val/loss": 3.14159265})
    assert table.splitlines()[2:] == ["| loss | 3.142 |", "| t2v/r1 | 0.25 |"]
    assert figures_table({}) == ""
