"""The page on capsules: one HTML file that needs nothing else."""

import jinja2

from vtr_core.systems.capsules.activations.report import ActivationReport

TEMPLATE = "activations.html"


def render_page(report: ActivationReport) -> str:
    """The report as HTML. Every text of a data set is escaped: names, ids and captions may hold anything."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("vtr_core.systems.capsules", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(clock=clock, chance=chance, decimals=decimals, digits=digits)
    return environment.get_template(TEMPLATE).render(report=report)


def clock(seconds: float) -> str:
    """Minutes and seconds, m:ss, with hours only where there are some."""
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def chance(p: float) -> str:
    """A p-value with two digits; what float64 cannot hold as a bound."""
    if p == 0:
        return "< 1e-300"
    return f"{p:.2g}" if p >= 0.001 else f"{p:.0e}"


def decimals(value: float | None, places: int) -> str:
    """A number with that many decimals, or a dash for none."""
    return "–" if value is None else f"{value:.{places}f}"


def digits(value: float, count: int) -> str:
    """A number with that many significant digits."""
    return f"{value:.{count}g}"
