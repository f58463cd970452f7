"""What the page on capsules says, as plain values: the same for the page and for its JSON."""

from dataclasses import asdict, dataclass
from typing import Any

from vtr_core.errors import ConfigError

MAX_CAPTIONS = 3


@dataclass(frozen=True)
class ReportOptions:
    """How much is shown, and how concepts are found."""

    top: int = 4
    active_share: float = 0.1
    min_videos: int = 5
    false_discoveries: float = 0.05
    max_rows: int = 100_000
    concepts: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("top", self.top), ("min-videos", self.min_videos), ("concepts", self.concepts)):
            if value < 1:
                raise ConfigError(f"--{name} is {value}; it must be 1 or more")
        if self.max_rows < 2:
            raise ConfigError(f"--max-rows is {self.max_rows}; it must be 2 or more")
        if self.seed < 0:
            raise ConfigError(f"--seed is {self.seed}; it must be 0 or more")
        for name, share in (("active-share", self.active_share), ("false-discoveries", self.false_discoveries)):
            if not 0 < share < 1:
                raise ConfigError(f"--{name} is {share:g}; it must lie between 0 and 1")


@dataclass(frozen=True)
class Concept:
    """A word that goes with a capsule (lift above 1) or against it (below 1)."""

    word: str
    bits: float
    lift: float
    p: float
    q: float
    clips: int


@dataclass(frozen=True)
class ShownClip:
    """One of a capsule's strongest clips."""

    clip_id: str
    video_id: str
    start: float
    end: float
    activation: float
    captions: tuple[str, ...]
    """At most MAX_CAPTIONS of its distinct ones."""
    num_captions: int
    youtube: str | None
    """The video at that second, where the id can be one of YouTube's."""


@dataclass(frozen=True)
class Cell:
    """A capsule in one modality of one data set."""

    dataset: int
    """Position in the report's `datasets`."""
    mean: float
    deviation: float
    led: float
    """Share of clips on which it is among the strongest."""
    flat: bool
    """Whether its activation hardly varies from clip to clip."""
    concepts: tuple[Concept, ...]
    against: tuple[Concept, ...]
    clips: tuple[ShownClip, ...]

    @property
    def fault(self) -> str | None:
        """Why the capsule is dead here, in words; None where it is not."""
        if self.flat:
            return "flat"
        return "never leads" if self.led == 0 else None


@dataclass(frozen=True)
class CapsuleModality:
    """A capsule in one modality, data set by data set; those that lack the modality are left out."""

    modality: str
    cells: tuple[Cell, ...]

    @property
    def strongest(self) -> Concept | None:
        """The concept with the most information over the data sets."""
        found = [cell.concepts[0] for cell in self.cells if cell.concepts]
        return max(found, key=lambda concept: concept.bits, default=None)

    @property
    def fault(self) -> str | None:
        """Why it is dead on all data sets, by the first of them; None where it is alive on one."""
        faults = [cell.fault for cell in self.cells]
        return faults[0] if all(faults) else None


@dataclass(frozen=True)
class Capsule:
    """One capsule, in all modalities that some data set has."""

    number: int
    modalities: tuple[CapsuleModality, ...]


@dataclass(frozen=True)
class ModalitySummary:
    """All capsules of one modality of one data set."""

    modality: str
    clips: int
    sampled_clips: int
    tested_concepts: int
    entropy: float
    max_entropy: float
    flat: float
    """Share of the capsules whose activation hardly varies."""
    dead: float
    """Share of those that are flat or never among the strongest."""
    named_capsules: int
    """Capsules that at least one concept goes with."""


@dataclass(frozen=True)
class DatasetSummary:
    """One data set: what it holds, and which of the model's modalities it lacks."""

    name: str
    uri: str
    fingerprint: str
    num_clips: int
    absent: tuple[str, ...]
    modalities: tuple[ModalitySummary, ...]


@dataclass(frozen=True)
class PairAgreement:
    """Whether the capsules of a modality stand for the same concepts on two data sets."""

    modality: str
    first: int
    second: int
    shared_words: int
    mean_same: float | None
    mean_other: float | None
    recognised: float | None
    same: tuple[float | None, ...]
    """Of each capsule."""


@dataclass(frozen=True)
class ActivationReport:
    """The whole page."""

    checkpoint: str
    preset: str
    step: int
    num_capsules: int
    options: ReportOptions
    datasets: tuple[DatasetSummary, ...]
    capsules: tuple[Capsule, ...]
    agreement: tuple[PairAgreement, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)
