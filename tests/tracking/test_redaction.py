"""No secret of a URI is shown, and nothing else is taken out."""

import pytest

from vtr_core.redaction import is_redacted, redact

SECRETS = [
    ("postgresql://user:password@host/db", "postgresql://user:***@host/db"),
    ("postgresql+psycopg2://u:p@ss@h:5432/db", "postgresql+psycopg2://u:***@h:5432/db"),
    ("postgresql://u:p/ss@h/db", "postgresql://u:***@h/db"),
    ("http://token@host", "http://***@host"),
    ("http://user:token@host:5000/x", "http://user:***@host:5000/x"),
    ("mysql://u:@h/db", "mysql://***@h/db"),
    ("http://token:@host", "http://***@host"),
    ("https://token:x-oauth-basic@host/r", "https://***@host/r"),
    ("https://h/x?sig=abc%2F&se=1", "https://h/x?sig=***&se=1"),
    ("s3://b/k?secret_key=abc", "s3://b/k?secret_key=***"),
    ("https://h/x?key=abc#top", "https://h/x?key=***#top"),
    ("https://h/x#access_token=abc&x=1", "https://h/x#access_token=***&x=1"),
    ("https://h/x?X-Amz-Credential=A%2F1;AWSAccessKeyId=B", "https://h/x?X-Amz-Credential=***;AWSAccessKeyId=***"),
    ("postgresql://h/db?user=a&password=hunter2&x=1", "postgresql://h/db?user=a&password=***&x=1"),
    ("https://h/x?X-Amz-Signature=abc&y=2", "https://h/x?X-Amz-Signature=***&y=2"),
    (
        "request to http://u:p@h/1 failed; see http://h:5000/ok",
        "request to http://u:***@h/1 failed; see http://h:5000/ok",
    ),
]


@pytest.mark.parametrize(("text", "shown"), SECRETS)
def test_secrets_are_taken_out(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert is_redacted(redact(text))
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "sqlite:////a/b.db",
        "http://host:5000",
        "databricks://profile",
        "s3://bucket/a@b",
        "me@x.y",
        "http://h:1 a@b",
        "s3://b/k?region=x#y",
        "--key=value",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert redact(text) == text
    assert not is_redacted(text)
