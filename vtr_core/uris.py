"""URIs as text."""


def below(uri: str, name: str) -> str:
    """The URI of `name` in the folder `uri`; the settings of an s3:// URI stay at its end."""
    place, mark, settings = uri.partition("?") if uri.startswith("s3://") else (uri, "", "")
    return f"{place.rstrip('/')}/{name}{mark}{settings}"
