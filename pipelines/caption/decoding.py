"""Changes to a model's decoding settings by a command's flags."""

from typing import Protocol


class DecodingFlags(Protocol):
    """The flags of decoding that commands have; None leaves a setting as in training."""

    @property
    def beams(self) -> int | None: ...  # noqa: D102
    @property
    def length_penalty(self) -> float | None: ...  # noqa: D102
    @property
    def block_ngrams(self) -> int | None: ...  # noqa: D102
    @property
    def consensus_samples(self) -> int | None: ...  # noqa: D102


def decoding_changes(flags: DecodingFlags) -> dict[str, int | float]:
    """The given settings by name."""
    given = {
        "beams": flags.beams,
        "length_penalty": flags.length_penalty,
        "block_ngrams": flags.block_ngrams,
        "consensus_samples": flags.consensus_samples,
    }
    return {name: value for name, value in given.items() if value is not None}
