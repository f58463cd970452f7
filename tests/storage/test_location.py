"""Local folders and settings of stores: what is allowed, and what is said of the rest."""

from pathlib import Path

import pytest

from vtr_core.storage import StorageError, check_writable, locate
from vtr_core.storage.s3_filesystem import parse_s3


def test_a_new_folder_is_accepted_and_not_made(tmp_path: Path) -> None:
    check_writable(locate(tmp_path / "new" / "deep"))
    check_writable(locate(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["film.mp4", "film.mp4/below"])
def test_a_file_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "film.mp4").touch()
    with pytest.raises(StorageError, match=r"film\.mp4 is a file; name a folder"):
        check_writable(locate(tmp_path / name))


@pytest.mark.linux
def test_a_place_where_nothing_can_be_written_is_named() -> None:
    with pytest.raises(StorageError, match="/proc/features cannot be written: a file in /proc is refused"):
        check_writable(locate("/proc/features"))


VARIABLES = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_bucket_and_key_are_told_apart() -> None:
    place = parse_s3("s3://bucket/a%20b/c d/?region=eu-west-1")
    assert (place.path, place.settings.region) == ("bucket/a b/c d", "eu-west-1")
    assert parse_s3("s3://bucket").path == "bucket"


def test_the_uri_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_s3("s3://b/k").settings.endpoint is None
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://general:1")
    assert parse_s3("s3://b/k").settings.endpoint == "http://general:1"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://of-s3:2/")
    assert parse_s3("s3://b/k").settings.endpoint == "https://of-s3:2"
    override = "s3://b/k?endpoint_override=own:3&scheme=http"
    assert parse_s3(override).settings.endpoint == "http://own:3"
    assert parse_s3("s3://b/k?endpoint_override=own:3").settings.endpoint == "https://own:3"


def test_credentials_in_a_uri_are_refused_and_not_repeated() -> None:
    for uri in ("s3://AKIAKEY:very-secret@bucket/k", "s3://AKIAKEY@bucket/k"):
        with pytest.raises(StorageError, match="AWS_ACCESS_KEY_ID") as raised:
            locate(uri)
        assert "AKIAKEY" not in str(raised.value)
        assert "very-secret" not in str(raised.value)


def test_unknown_settings_are_named_without_their_values() -> None:
    with pytest.raises(StorageError, match="cannot set secret_key") as raised:
        locate("s3://bucket/k?secret_key=very-secret")
    assert "very-secret" not in str(raised.value)


@pytest.mark.parametrize("endpoint", ["localhost:9000", "http://", "ftp://host", "http://user:very-secret@host"])
def test_a_damaged_endpoint_is_refused(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(StorageError, match="AWS_ENDPOINT_URL must be http") as raised:
        locate("s3://bucket/k")
    assert "very-secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("uri", "message"), [("s3:///k", "names no bucket"), ("s3://b/k?anonymous=7", "true or false")]
)
def test_other_faults_of_a_uri_are_named(uri: str, message: str) -> None:
    with pytest.raises(StorageError, match=message):
        locate(uri)


def test_locations_on_s3_join_before_their_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    place = locate("s3://bucket/run/?region=eu-west-1") / "a" / "b.json"
    assert place.uri == "s3://bucket/run/a/b.json?region=eu-west-1"
    assert (place.path, place.name) == ("bucket/run/a/b.json", "b.json")
    assert locate(place.uri) == place
    assert locate("s3://bucket/run").filesystem is locate("s3://bucket/other").filesystem
