"""Conditions on the columns of an index's items, such as `category=cooking`, that hits have to meet."""

import math
import operator
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from vtr_core.data.records.schema import kept_column
from vtr_core.errors import InputError
from vtr_core.retrieval.index.items import Item, Items

_ROWS = 65_536
"""Items that are looked at together: copies of a column are no larger."""
_SYNTAX = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<relation>!=|<=|>=|=|<|>|~)(?P<value>.*)", re.DOTALL)
_ORDERS: Mapping[str, Callable[[np.ndarray, float], np.ndarray]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)


@dataclass(frozen=True)
class Condition:
    """A column, how its values are compared, and with what."""

    name: str
    relation: str
    """`=` and `!=` compare texts, or numbers where both sides are numbers; `~` is true where the value is part of the
    text, in whatever case; `<`, `<=`, `>` and `>=` compare numbers, and are false where there is none.
    """
    value: str


def parse_conditions(texts: Sequence[str]) -> tuple[Condition, ...]:
    """The conditions that are written so; InputError for a text that is none."""
    conditions = []
    for text in texts:
        parts = _SYNTAX.fullmatch(text.strip())
        if parts is None:
            raise InputError(f"the filter {text!r} is no condition; write name=value, or one of != ~ < <= > >= for =")
        condition = Condition(parts["name"], parts["relation"], parts["value"].strip())
        if condition.relation in _ORDERS and _number(condition.value) is None:
            raise InputError(f"the filter {text!r} compares numbers, and {condition.value!r} is none")
        conditions.append(condition)
    return tuple(conditions)


def meeting(
    items: Sequence[Item], conditions: Sequence[Condition], within_s: float = math.inf
) -> Int64[np.ndarray, " found"] | None:
    """The positions, ascending, of the items that meet all conditions; None for no condition.

    Columns are those that ingest kept, and item_id, video_id, start, end, caption. InputError for another column, and
    where it takes longer than `within_s` seconds.
    """
    if not conditions:
        return None
    table, last = (items if isinstance(items, Items) else Items.of(items)).table, time.monotonic() + within_s
    columns = [_column(table, condition) for condition in conditions]
    meets_all = np.ones(len(table), np.bool_)
    for first in range(0, len(table), _ROWS):
        meets = meets_all[first : first + _ROWS]
        for column, condition in zip(columns, conditions, strict=True):
            if time.monotonic() > last:
                raise InputError(f"the filters take longer than {within_s:g} seconds; give fewer")
            meets &= _mask(column.slice(first, _ROWS), condition)
            if not meets.any():
                break
    return np.flatnonzero(meets_all).astype(np.int64)


def _column(table: pa.Table, condition: Condition) -> pa.ChunkedArray:
    for name in (condition.name, kept_column(condition.name)):
        if name in table.column_names:
            return table.column(name)
    known = ", ".join(name.removeprefix(kept_column("")) for name in table.column_names)
    raise InputError(
        f"the index has no column {condition.name!r} to filter by; "
        f"it has {known} (--keep-columns of vtr ingest and vtr extract keeps more)"
    )


def _mask(column: pa.ChunkedArray, condition: Condition) -> np.ndarray:
    number = _number(condition.value)
    if condition.relation in _ORDERS:
        assert number is not None, "checked when it was parsed"
        return _ORDERS[condition.relation](_numbers(column), number)
    texts = pc.fill_null(column.cast(pa.string()), "")
    if condition.relation == "~":
        return _array(pc.match_substring(texts, condition.value, ignore_case=True))
    same = _array(pc.equal(texts, condition.value))
    if number is not None:
        same |= _numbers(column) == number
    return same if condition.relation == "=" else ~same


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """The numbers of a column; NaN where a value is none."""
    if pa.types.is_floating(column.type):
        return np.asarray(pc.fill_null(column, np.nan).to_numpy(), np.float64)
    distinct = pc.dictionary_encode(column.combine_chunks())
    values = [_number(text or "") for text in distinct.dictionary.to_pylist()]
    known = np.array([np.nan if value is None else value for value in values] + [np.nan], np.float64)
    places = pc.fill_null(distinct.indices, len(values)).to_numpy(zero_copy_only=False)
    return np.asarray(known[places])


def _array(mask: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(mask.to_numpy(), np.bool_)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
