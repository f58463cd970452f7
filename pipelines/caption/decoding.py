"""How captions are decoded: settings of the model that the flags of a command change."""


def decoding_changes(
    beams: int | None, length_penalty: float | None, block_ngrams: int | None
) -> dict[str, int | float]:
    """The settings that were given, by name."""
    given = {"beams": beams, "length_penalty": length_penalty, "block_ngrams": block_ngrams}
    return {name: value for name, value in given.items() if value is not None}
