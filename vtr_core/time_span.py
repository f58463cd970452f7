"""Times in a video, for people."""


def clock(seconds: float) -> str:
    """Minutes and seconds, m:ss, with hours only where there are some."""
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def time_span(start: float | None, end: float | None) -> str:
    """From when to when; nothing where that is not known, as where the end is not after the start."""
    if start is None or end is None or end <= start:
        return ""
    return f"{clock(start)}–{clock(end)}"
