"""The clip that HowTo100M's loader makes of a caption, one neighbour at a time."""

Row = tuple[float, float, str]


def published_clip(rows: list[Row], own: int, min_time: float) -> Row:
    """(start, end, text) of the caption `own`, which takes the neighbour that lengthens it least, while too short."""
    taken = [own]

    def length(chosen: list[int]) -> float:
        return rows[max(chosen)][1] - rows[min(chosen)][0]

    while length(taken) < min_time:
        beside = [i for i in (min(taken) - 1, max(taken) + 1) if 0 <= i < len(rows)]
        if not beside:
            break
        taken.append(min(beside, key=lambda i: length([*taken, i])))
    return rows[min(taken)][0], rows[max(taken)][1], " ".join(rows[i][2] for i in taken)
