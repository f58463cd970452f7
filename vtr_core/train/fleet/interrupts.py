"""Ctrl-C and SIGTERM during a run: the first saves and ends it, the second ends it at once."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from vtr_core.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def graceful(request_stop: Callable[[], None]) -> Iterator[None]:
    """Call `request_stop` at the first signal within the context, and raise Interrupted once the body has ended for it.

    A second signal raises Interrupted wherever the code is. Outside of the main thread, which alone gets signals,
    nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(number)
        if len(received) > 1:
            raise Interrupted(number)
        print("stopping after this step, with a checkpoint; a second signal stops at once", file=sys.stderr)  # noqa: T201
        request_stop()

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise Interrupted(received[0])
