"""Changes to a model's decoding settings by a command's flags."""


def decoding_changes(
    beams: int | None, length_penalty: float | None, block_ngrams: int | None
) -> dict[str, int | float]:
    """The given settings by name."""
    given = {"beams": beams, "length_penalty": length_penalty, "block_ngrams": block_ngrams}
    return {name: value for name, value in given.items() if value is not None}
