"""`vtr doctor --model`: the table, its JSON, settings that differ, a batch of a data set."""

import json
from pathlib import Path

import pytest

from pipelines.doctor.command import main
from tests.builders.toy import toy_dataset
from vtr_core.errors import ConfigError
from vtr_core.run.made_batch import usual_rows
from vtr_core.run.presets import preset

SMALL = [
    "model.num_capsules=8",
    "model.primary_dim=8",
    "model.routing.pose_dim=16",
    "model.routing.mlp_dim=32",
    "model.embedding_dim=64",
    "model.words.hidden_dim=64",
]


def test_a_model_whose_signal_arrives(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--model", "capsule-howto", "--set", *SMALL])
    printed = capsys.readouterr().out
    assert printed.count("share between rows") == 3
    assert "!" not in printed


def test_a_model_whose_signal_dies(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--model", "capsule-howto-published", "--json", "--set", *SMALL])
    assert end.value.code == 1
    found = json.loads(capsys.readouterr().out)
    assert [len(look["shares"]) for look in found] == [3, 3, 3]
    assert any(fault.startswith("video: share") for fault in found[0]["faults"])


def test_on_a_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data,) = toy_dataset(tmp_path / "data")
    with pytest.raises(SystemExit):  # its captions are almost the same
        main(["--model", "capsule-howto", "--data", data.uri, "--set", *SMALL])
    assert f"rows of {data.uri}" in capsys.readouterr().out


@pytest.mark.parametrize(("given", "said"), [("19", "16 invented images"), ("8", "8 invented images")])
def test_a_chosen_number_of_rows(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--model", "siamese-att-tiny", "--rows", given])
    assert capsys.readouterr().out.startswith(said)


def test_rows_are_fewer_where_their_inputs_are_large() -> None:
    assert usual_rows(preset("capsule-howto")) == 64
    assert usual_rows(preset("muse-msrvtt")) == 8


def test_flags_that_need_a_model() -> None:
    for flag, value in (("--data", "d"), ("--rows", "8")):
        with pytest.raises(ConfigError, match="go with --model"):
            main([flag, value])
    with pytest.raises(ConfigError, match="--rows 7 is too few to differ from each other; give 8"):
        main(["--model", "capsule-howto-tiny", "--rows", "7"])
    with pytest.raises(ConfigError, match="NAME=VALUE"):
        main(["--model", "capsule-howto-tiny", "--set", "model.standardize"])
