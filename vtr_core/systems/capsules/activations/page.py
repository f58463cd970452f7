"""The capsule activation report as one self-contained HTML file."""

from collections.abc import Mapping, Sequence

import jinja2

from vtr_core.data.records.thumbnail import Thumbnail
from vtr_core.systems.capsules.activations.report import ActivationReport
from vtr_core.time_span import clock

TEMPLATE = "activations.html"


def render_page(report: ActivationReport, thumbnails: Sequence[Mapping[str, Thumbnail]] = ()) -> str:
    """The report as HTML. All text from data sets is escaped: names, ids and captions are arbitrary strings.

    thumbnails: available thumbnails per data set, by clip id.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("vtr_core.systems.capsules", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
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
