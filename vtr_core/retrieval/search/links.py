"""Where a hit can be watched: an address made of a template, or the one that ingest kept with the item."""

import re
from urllib.parse import quote

from vtr_core.errors import InputError
from vtr_core.retrieval.search.hit import Hit

_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEPT = ("url", "link")
_SCHEMES = ("http://", "https://")


def link_of(hit: Hit, template: str | None) -> str | None:
    """The link of a hit; None where none is known.

    template: an address with names in braces, {item_id}, {video_id}, {start}, {end} in whole seconds (0 where unknown),
    or a kept column, whose values are quoted; None takes the kept column `url` or `link` where it is an address of
    http(s). InputError for a name that the hit does not have.
    """
    if template is None:
        kept = (hit.metadata.get(name, "") for name in _KEPT)
        return next((link for link in kept if link.startswith(_SCHEMES)), None)
    values = {
        **hit.metadata,
        "item_id": hit.item_id,
        "video_id": hit.video_id,
        "start": str(int(hit.start or 0)),
        "end": str(int(hit.end or 0)),
    }

    def value(name: re.Match[str]) -> str:
        if name[1] not in values:
            raise InputError(f"--link {template}: there is no {{{name[1]}}}; names are {', '.join(sorted(values))}")
        return quote(values[name[1]], safe="")

    return _NAME.sub(value, template)
