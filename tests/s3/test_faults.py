"""A store that fails for a while is waited for; one that refuses is understood, in one line without secrets."""

import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.s3.proxy import Answer, Proxy, Reset
from vtr_core import storage
from vtr_core.storage import Location, StorageError, locate

SECRET = "a-secret-that-the-store-repeats"
FAILING = [Answer(503, "SlowDown"), Answer(503, "ServiceUnavailable"), Answer(500, "InternalError"), Reset()]
OPERATIONS: dict[str, Callable[[Location], object]] = {
    "read": storage.read_bytes,
    "write": lambda place: storage.write_bytes(place, b"anew"),
    "exists": storage.exists,
    "children": lambda place: list(storage.children(place)),
    "delete": storage.delete_file,
}
REFUSALS = [
    (Answer(400, "ExpiredToken", SECRET), "credentials have expired; renew"),
    (Answer(403, "ExpiredToken", SECRET), "credentials have expired; renew"),
    (Answer(403, "InvalidAccessKeyId", SECRET), "does not know the access key; set AWS_ACCESS_KEY_ID"),
    (Answer(403, "SignatureDoesNotMatch", SECRET), "set AWS_SECRET_ACCESS_KEY"),
    (Answer(403, "AccessDenied", SECRET), "access is denied"),
    (Answer(403, "RequestTimeTooSkewed", SECRET), "clock"),
]


@pytest.fixture
def place(folder: str, proxy: Proxy) -> Location:
    """A file, seen through the proxy."""
    file = locate(folder) / "file"
    storage.write_bytes(file, b"content")
    proxy.requests.clear()
    return file


@pytest.mark.parametrize(
    ("operation", "fault"),
    [("write", fault) for fault in FAILING] + [(name, Answer(503, "SlowDown")) for name in OPERATIONS],
    ids=str,
)
def test_what_fails_for_a_while_is_done_in_the_end(
    operation: str, fault: Answer | Reset, place: Location, proxy: Proxy
) -> None:
    proxy.faults = [fault] * 4
    OPERATIONS[operation](place)
    assert not proxy.faults
    assert len(proxy.requests) > 4


def test_a_file_that_is_open_is_read_on(place: Location, proxy: Proxy) -> None:
    with place.filesystem.open_input_file(place.path) as source:
        proxy.faults = [Reset(), Answer(503, "SlowDown"), Reset(), Answer(500, "InternalError")]
        assert source.read_at(3, 2) == b"nte"
        proxy.faults = [Reset()] * 4
        source.seek(0)
        assert source.read() == b"content"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_refusal_is_named_at_once(
    operation: str, place: Location, proxy: Proxy, capfd: pytest.CaptureFixture[str]
) -> None:
    for answer, message in REFUSALS:
        proxy.always = answer
        with pytest.raises(StorageError, match=message) as raised:
            OPERATIONS[operation](place)
        _assert_one_clean_line(raised.value, place)
    shown = capfd.readouterr()
    assert SECRET not in shown.out + shown.err


def _assert_one_clean_line(error: StorageError, place: Location) -> None:
    assert "\n" not in str(error)
    assert SECRET not in str(error)
    assert place.path.partition("/")[0] in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__


@pytest.mark.parametrize("check", [storage.check_readable, storage.check_writable])
def test_a_bucket_is_checked_before_anything_starts(
    check: Callable[[Location], None], folder: str, proxy: Proxy
) -> None:
    check(locate(folder))
    with pytest.raises(StorageError, match="there is no such bucket"):
        check(locate("s3://vtr-no-such-bucket-4711/x"))
    for answer, message in REFUSALS:
        proxy.always = answer
        with pytest.raises(StorageError, match=message) as raised:
            check(locate(folder))
        assert SECRET not in str(raised.value)
    proxy.always = None
    proxy.refuse()
    with pytest.raises(StorageError, match="cannot be reached"):
        check(locate(folder))
    proxy.accept()


def test_checking_a_bucket_leaves_nothing_in_it(folder: str) -> None:
    storage.check_writable(locate(folder))
    assert list(storage.children(locate(folder))) == []


def test_a_missing_bucket_is_named_when_writing(folder: str) -> None:
    with pytest.raises(StorageError, match="there is no such bucket"):
        storage.write_bytes(locate("s3://vtr-no-such-bucket-4711/x"), b"1")


def test_a_store_that_stays_away_is_given_up(place: Location, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTR_S3_PATIENCE_S", "1")
    proxy.refuse()
    with pytest.raises(StorageError, match=r"cannot be reached .* check AWS_ENDPOINT_URL"):
        storage.read_bytes(place)
    proxy.accept()
    proxy.always = Answer(503, "SlowDown", SECRET)
    with pytest.raises(StorageError, match=r"goes on failing \(HTTP 503, tried for \d+ s\)"):
        storage.exists(place)


def test_signals_are_handled_while_a_store_is_waited_for(place: Location, proxy: Proxy) -> None:
    """Within obstore they are not: the store is back by the handler alone."""
    remaining = signal.signal(signal.SIGUSR1, lambda *_: proxy.accept())
    try:
        proxy.refuse()
        threading.Timer(0.5, signal.raise_signal, [signal.SIGUSR1]).start()
        assert storage.read_bytes(place) == b"content"
    finally:
        signal.signal(signal.SIGUSR1, remaining)


def test_an_open_file_of_a_store_that_stays_away_is_no_damaged_file(
    folder: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error passes through Arrow's and Parquet's C++ as it is, and is not one of the file's."""
    place, table = locate(folder) / "table.parquet", pa.table({"a": range(1000)})
    with storage.open_for_writing(place) as sink:
        pq.write_table(table, sink)
    monkeypatch.setenv("VTR_S3_PATIENCE_S", "0")
    with place.filesystem.open_input_file(place.path) as source:
        file = pq.ParquetFile(source)
        proxy.refuse()
        with pytest.raises(StorageError, match="cannot be reached"):
            source.read_at(4, 0)
        with pytest.raises(StorageError, match="cannot be reached"):
            file.read_row_group(0)
        proxy.accept()
        assert file.read_row_group(0) == table


def test_without_credentials_that_is_said(
    place: Location, proxy: Proxy, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/none")
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    proxy.always = Answer(403, "AccessDenied", SECRET)
    for operation in OPERATIONS.values():
        with pytest.raises(StorageError, match="no credentials were found; set AWS_ACCESS_KEY_ID"):
            operation(place)
    with pytest.raises(StorageError, match="no credentials were found"):
        storage.check_readable(place)


def test_credentials_of_a_profile_are_found(
    folder: str, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "credentials").write_text("[other]\naws_access_key_id = OFPROFILE\naws_secret_access_key = secret\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    monkeypatch.setenv("AWS_PROFILE", "other")
    url = storage.presigned_url(locate(folder) / "file")
    assert url is not None
    assert "X-Amz-Credential=OFPROFILE" in url


def test_a_missing_file_of_certificates_is_named(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/no/such/file.pem")
    with pytest.raises(StorageError, match=r"AWS_CA_BUNDLE=/no/such/file.pem cannot be read .* name a file"):
        storage.exists(locate(folder))


def test_links_open_without_credentials(place: Location, tmp_path: object) -> None:
    from urllib.request import urlopen

    url = storage.presigned_url(place, expires_s=60)
    assert url is not None
    assert urlopen(url).read() == b"content"
    assert storage.presigned_url(locate(f"{tmp_path}/x")) is None
    assert storage.presigned_url(locate(f"s3://{place.path}?anonymous=true")) is None
