"""Names, cells, time stamps and texts as people report them, drawn from a seeded generator."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import av

_PARTS = (
    *(
        "a",
        "é",
        "e\u0301",
        "ß",
        "日本",
        "दिन",
        "مرحبا",
        "😀",
        " ",
        "  ",
        "\xa0",
        "\u200d",
        ".",
        ",",
        ";",
        "-",
        "_",
        "+",
    ),
    *("#", "%", "%41", "%2F", "?", "*", "[HD]", "[!a]", "{a,b}", "&", "=", ":", "~", "$HOME", "'", '"', "(", "!", "@"),
)
NOT_UTF_8 = b"caf\xe9 bad"
"""A name as older systems and archives leave it."""


def name(random: Random) -> str:
    """A name that a file or folder may have on Linux; it begins with a letter or a digit of its own."""
    return f"{random.randrange(10**6)}" + "".join(random.choices(_PARTS, k=random.randint(1, 4)))


Cell = tuple[Any, tuple[str, ...]]
"""A value of a caption's cell, and the captions that it may give; one that gives none is refused, or dropped."""
_ANYWHERE: tuple[Cell, ...] = (
    ("cut the onion", ("cut the onion",)),
    (" cut\tthe onion ", ("cut\tthe onion", "cut the onion")),
    (["cut it", "stir it"], ("cut it", "stir it")),
    (["cut it"], ("cut it",)),
    (["cut it", None], ("cut it",)),
    ([], ()),
    ([["cut it"]], ()),
    ({"text": "cut it"}, ()),
    ([{"text": "cut it"}], ()),
    (7, ()),
    (7.5, ()),
    (True, ()),
    (None, ()),
    (float("nan"), ()),
)
_OF_ARROW: tuple[Cell, ...] = (
    (b"cut it", ()),
    (datetime.date(2020, 1, 2), ()),
    (datetime.datetime(2020, 1, 2, 3), ()),
    (datetime.time(1, 2), ()),
    (datetime.timedelta(seconds=3), ()),
    (Decimal("1.5"), ()),
    ([b"cut it"], ()),
    ([7, 8], ()),
)
CELLS: Mapping[str, tuple[Cell, ...]] = {"jsonl": _ANYWHERE, "parquet": (*_ANYWHERE, *_OF_ARROW)}


def shifted(part: Path, to: Path, begins: Sequence[float]) -> None:
    """The packets of a video once for each of `begins`, in seconds, in one file."""
    with av.open(str(part)) as source, av.open(str(to), "w") as out:
        packets = [p for p in source.demux() if p.dts is not None and p.pts is not None and p.time_base is not None]
        streams = {stream.index: out.add_stream_from_template(stream) for stream in source.streams}
        stamps = [(packet.pts, packet.dts, packet.time_base, packet.stream.index) for packet in packets]
        for begin in begins:
            for packet, (pts, dts, base, index) in zip(packets, stamps, strict=True):
                packet.time_base, packet.stream = base, streams[index]
                packet.pts, packet.dts = (stamp + round(begin / base) for stamp in (pts, dts))
                out.mux(packet)


def starts(random: Random, length: float, indexed: bool) -> list[float]:
    """When the parts of a joined recording begin by their own stamps: in a row, with gaps, anew, or overlapping.

    indexed: in a file whose writer refuses stamps that go back.
    """
    now, begins = random.choice((0.0, 5.0, 90_000.0)), list[float]()
    for _ in range(random.randint(2, 4)):
        begins.append(now)
        later = (now + length, now + length + 3.5)
        now = random.choice(later if indexed else (*later, *later, 0.0, 0.0, now + length / 2, now + 50_000.0))
    return begins


LOCALES = ("ascii", "iso8859-1", "iso8859-15", "cp1252", "koi8-r", "shift_jis", "big5", "gb18030", "utf-8")
_WORDS: Mapping[str, str] = {
    "latin": "café naïve straße Łódź Ångström Zoë",
    "devanagari": "दिन दान दून हिन्दी",
    "arabic": "مَرْحَبًا كتاب",
    "hebrew": "שָׁלוֹם סֵפֶר",
    "greek": "ἄνθρωπος καλημέρα",
    "cyrillic": "йод ёлка",
    "korean": "한국어 사람",
    "vietnamese": "tiếng Việt",
}


def words(random: Random) -> Iterator[str]:
    """Words of one script, which spaces part."""
    chosen = _WORDS[random.choice(sorted(_WORDS))].split()
    yield from random.choices(chosen, k=random.randint(1, 5))
