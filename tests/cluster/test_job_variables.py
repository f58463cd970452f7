"""What leaves this machine with a job: nothing outside the allow-list, no secret unless the user asks for it."""

from collections.abc import Mapping
from typing import Any

import pytest

from cluster.job_variables import ALLOWED, CREDENTIALS, job_variables
from vtr_core.errors import ConfigError
from vtr_core.ray_private import STOP_WAIT

GIT = {"git.commit": "abc-dirty", "git.branch": "main"}
SET_HERE = {
    "PATH": "/usr/bin",
    "HOME": "/home/me",
    "HF_TOKEN": "hf-secret",
    "RAY_AUTH_TOKEN": "ray-secret",
    "RAY_AUTH_MODE": "token",
    "RAY_ADDRESS": "http://head:8265",
    "AWS_PROFILE": "mine",
    "AWS_REGION": "eu-west-1",
    "AWS_ENDPOINT_URL": "https://store:9000",
    "AWS_ACCESS_KEY_ID": "key-secret",
    "AWS_SECRET_ACCESS_KEY": "aws-secret",
    "AWS_SESSION_TOKEN": "session-secret",
    "MLFLOW_TRACKING_URI": "https://mlflow:5000",
    "MLFLOW_TRACKING_PASSWORD": "mlflow-secret",
    "OF_MINE": "7",
    "MY_API_KEY": "api-secret",
}


def variables(environ: dict[str, str], **choices: Any) -> Mapping[str, str]:
    return job_variables(environ, GIT, **choices).sent


def test_nothing_outside_the_list_leaves() -> None:
    every = {**SET_HERE, **{name: f"value of {name}" for name in (*ALLOWED, *CREDENTIALS)}}
    sent = variables(every)
    assert set(sent) == {*ALLOWED, STOP_WAIT, "VTR_GIT_COMMIT", "VTR_GIT_BRANCH"}
    assert all(sent[name] == every[name] for name in ALLOWED)


def test_secrets_stay_and_are_named() -> None:
    environment = job_variables(SET_HERE, GIT)
    assert "secret" not in str(environment.sent)
    assert "secret" not in repr(environment)
    assert set(environment.withheld) == {name for name in CREDENTIALS if name in SET_HERE}


def test_credentials_go_where_the_user_asks_for_it() -> None:
    sent = variables(SET_HERE, pass_credentials=True)
    assert sent["AWS_SECRET_ACCESS_KEY"] == "aws-secret"
    assert job_variables(SET_HERE, GIT, pass_credentials=True).withheld == ()
    assert not [name for name in sent if name.startswith("RAY_AUTH") or name in ("HF_TOKEN", "PATH", "MY_API_KEY")]


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://user:secret@db/mlflow",
        "https://secret@mlflow:5000",
        "https://mlflow:5000?token=secret",
    ],
)
def test_an_allowed_variable_with_a_secret_in_it_stays(uri: str) -> None:
    environment = job_variables({"MLFLOW_TRACKING_URI": uri}, {})
    assert environment.withheld == ("MLFLOW_TRACKING_URI",)
    assert "secret" not in str(environment.sent)
    assert variables({"MLFLOW_TRACKING_URI": uri}, pass_credentials=True)["MLFLOW_TRACKING_URI"] == uri


def test_the_users_own_choice() -> None:
    assert variables(SET_HERE, also=["OF_MINE"])["OF_MINE"] == "7"
    assert "MY_API_KEY" not in variables(SET_HERE, also=["MY_API_KEY"])
    assert variables(SET_HERE, also=["MY_API_KEY"], pass_credentials=True)["MY_API_KEY"] == "api-secret"


@pytest.mark.parametrize(
    ("name", "message"),
    [("RAY_AUTH_TOKEN", "is never sent"), ("OF_MINE=8", "not values"), ("NOBODY", "is not set here")],
)
def test_choices_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        variables(SET_HERE, also=[name], pass_credentials=True)


def test_a_stopped_job_has_time_for_a_checkpoint() -> None:
    assert variables({})[STOP_WAIT] == "120"
    assert job_variables({STOP_WAIT: "600"}, {}).stop_wait_s == 600
    with pytest.raises(ConfigError, match="whole number"):
        variables({STOP_WAIT: "2 minutes"})
