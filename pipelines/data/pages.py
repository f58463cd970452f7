"""Rows and statistics of a data set as HTML pages of one file, with thumbnails and pictures."""

import base64
import io
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.data.contents import Row, cell_text
from pipelines.data.statistics import Counted, as_lines
from pipelines.report.bar_figure import blank_figure, name_axes
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.page_templates import page_environment

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{{ title }}</title>
<style>
body { font: 14px system-ui, sans-serif; margin: 1.5rem; }
table { border-collapse: collapse; }
td, th { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-top: 1px solid #ddd; }
td { white-space: pre-line; }
img { max-width: 100%; }
</style>
</head>
<body>
<h1><bdi>{{ title }}</bdi></h1>
<p>{{ told }}</p>
{% if names %}
<table>
<tr>{% for name in names %}<th>{{ name }}</th>{% endfor %}</tr>
{% for cells, picture in rows %}
<tr>{% for cell in cells %}<td><bdi>{{ cell }}</bdi></td>{% endfor %}<td>{% if picture %}<img src="{{ picture }}" alt="">{% endif %}</td></tr>
{% endfor %}
</table>
{% endif %}
{% if figure %}
<img src="{{ figure }}" alt="{{ alt }}">
{% endif %}
{% if lines %}
<pre>{{ lines }}</pre>
{% endif %}
</body>
</html>
"""  # noqa: E501
_MOST_BINS = 30
_COLOUR = "#4c72b0"


def rows_page(manifest: Manifest, rows: Sequence[Row]) -> str:
    """The rows as a table, each with the thumbnail of its clip or video where the data set has one."""
    ids = [str(row.get("clip_id", row.get("video_id", ""))) for row in rows]
    pictures = Thumbnails(manifest).find(ids)
    cells = [[cell_text(value) for value in row.values()] for row in rows]
    shown = [pictures[one].href if one in pictures else "" for one in ids]
    told = f"{len(rows)} of {manifest.rows:,} rows, {manifest.schema.label()}"
    names = [*(rows[0] if rows else ()), *(["picture"] if pictures else [])]
    return _rendered(title=manifest.uri, told=told, names=names, rows=list(zip(cells, shown, strict=True)))


def statistics_page(counted: Counted) -> str:
    """The statistics with their figure, whose numbers are below it as text."""
    picture = io.BytesIO()
    statistics_figure(counted).savefig(picture, format="png", dpi=100)
    figure = f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}"
    found = counted.found
    told = f"{found['rows']:,} rows, {found['videos']:,} videos, {found['kind']}"
    alt = "histograms of lengths, missing features, frequent words"
    return _rendered(title=found["data"], told=told, figure=figure, alt=alt, lines="\n".join(as_lines(found)[1:]))


def _rendered(**values: object) -> str:
    blank = {"names": [], "rows": [], "figure": "", "alt": "", "lines": ""}
    return page_environment("vtr_core.retrieval").from_string(_PAGE).render({**blank, **values})


def statistics_figure(counted: Counted) -> Figure:
    """Histograms of rows per video, words per caption and seconds; rows that lack each feature; frequent words."""
    panels = [(name, values) for name, values in counted.lengths.items() if len(values)]
    lacking = {name: 100 * (1 - share) for name, share in counted.found["present"].items()}
    words = counted.found["frequent_words"]
    bars = [("rows without it, %", lacking), ("most frequent words", words)]
    drawn = [(title, values) for title, values in bars if values]
    figure = blank_figure(9, 2.6 * -(-(len(panels) + len(drawn)) // 2))
    places = iter(figure.subplots(-(-(len(panels) + len(drawn)) // 2), 2, squeeze=False).ravel())
    for name, values in panels:
        _histogram(next(places), name, values)
    for title, numbers in drawn:
        _bars(next(places), title, numbers)
    if lacking:
        figure.axes[len(panels)].set_xlim(0, 100)
    for place in places:
        place.set_axis_off()
    return figure


def _histogram(axes: Axes, name: str, values: Sequence[float]) -> None:
    axes.hist(values, bins=min(_MOST_BINS, len(set(values))), color=_COLOUR)
    name_axes(axes, "", "", name)


def _bars(axes: Axes, title: str, numbers: dict[str, float]) -> None:
    names = list(numbers)
    axes.barh(range(len(names)), list(numbers.values()), color=_COLOUR)
    axes.set_yticks(range(len(names)), names, fontsize=7, parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    name_axes(axes, "", "", title)
