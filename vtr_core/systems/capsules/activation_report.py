"""The capsule activation report: its content as plain values, and as one self-contained HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.errors import ConfigError
from vtr_core.page_templates import page_environment
from vtr_core.time_span import clock

MAX_CAPTIONS = 3


@dataclass(frozen=True)
class ReportOptions:
    """Options of the report: amounts shown, and thresholds for concepts."""

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
    """A word positively (lift above 1) or negatively (below 1) associated with a capsule."""

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
    """At most MAX_CAPTIONS distinct captions."""
    num_captions: int
    youtube: str | None
    """Link to the video at the clip's start, where the id can be a YouTube id."""


@dataclass(frozen=True)
class Cell:
    """A capsule in one modality of one data set."""

    dataset: int
    """Index in the report's `datasets`."""
    mean: float
    deviation: float
    led: float
    """Share of clips for which the capsule is among the strongest."""
    flat: bool
    """Whether the activation hardly varies between clips."""
    concepts: tuple[Concept, ...]
    against: tuple[Concept, ...]
    clips: tuple[ShownClip, ...]

    @property
    def fault(self) -> str | None:
        """The reason why the capsule is dead on this data set, as text; None if it is alive."""
        if self.flat:
            return "flat"
        return "never leads" if self.led == 0 else None


@dataclass(frozen=True)
class CapsuleModality:
    """A capsule in one modality, by data set; data sets without the modality are omitted."""

    modality: str
    cells: tuple[Cell, ...]

    @property
    def strongest(self) -> Concept | None:
        """The concept of highest mutual information over the data sets."""
        found = [cell.concepts[0] for cell in self.cells if cell.concepts]
        return max(found, key=lambda concept: concept.bits, default=None)

    @property
    def fault(self) -> str | None:
        """The reason why the capsule is dead on all data sets, taken from the first; None if it is alive on one."""
        faults = [cell.fault for cell in self.cells]
        return faults[0] if all(faults) else None


@dataclass(frozen=True)
class Capsule:
    """One capsule, in all modalities that at least one data set has."""

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
    """Share of capsules whose activation hardly varies between clips."""
    dead: float
    """Share of capsules that are flat or never among the strongest."""
    named_capsules: int
    """Number of capsules with at least one associated concept."""


@dataclass(frozen=True)
class DatasetSummary:
    """Summary of a data set, with the model's modalities that it lacks."""

    name: str
    uri: str
    fingerprint: str
    num_clips: int
    absent: tuple[str, ...]
    modalities: tuple[ModalitySummary, ...]


@dataclass(frozen=True)
class PairAgreement:
    """Agreement of a modality's capsules between two data sets on their concepts."""

    modality: str
    first: int
    second: int
    shared_words: int
    mean_same: float | None
    mean_other: float | None
    recognised: float | None
    same: tuple[float | None, ...]
    """Per capsule."""


@dataclass(frozen=True)
class ActivationReport:
    """The whole report."""

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


TEMPLATE = "activations.html"


def render_page(report: ActivationReport, thumbnails: Sequence[Mapping[str, Thumbnail]] = ()) -> str:
    """The report as HTML. All text from data sets is escaped: names, ids and captions are arbitrary strings.

    thumbnails: available thumbnails per data set, by clip id.
    """
    environment = page_environment("vtr_core.systems.capsules")
    environment.filters.update(clock=clock, chance=chance, decimals=decimals, digits=digits)
    found = [((place, one), known[one]) for place, known in enumerate(thumbnails) for one in known]
    pictures = {key: {"number": number, "href": one.href} for number, (key, one) in enumerate(found)}
    return environment.get_template(TEMPLATE).render(report=report, pictures=pictures)


def chance(p: float) -> str:
    """A p-value with two digits; an upper bound where it underflows float64."""
    if p == 0:
        return "< 1e-300"
    return f"{p:.2g}" if p >= 0.001 else f"{p:.0e}"


def decimals(value: float | None, places: int) -> str:
    """A number with that many decimals, or a dash for none."""
    return "–" if value is None else f"{value:.{places}f}"


def digits(value: float, count: int) -> str:
    """A number with that many significant digits."""
    return f"{value:.{count}g}"
