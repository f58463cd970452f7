"""Several data sets that are trained on as one, in one word: "A + B"."""

JOINED = " + "


def joined_uris(uri: str) -> list[str]:
    """The URIs of "A + B", or the one that it is."""
    return uri.split(JOINED)
