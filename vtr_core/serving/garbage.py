"""Collections of garbage that do not stop a server."""

import gc


def spare_loaded() -> None:
    """Collect garbage once, and leave all objects that there are now out of later collections.

    A full collection visits every object of torch, Arrow and this package, while no request is answered: 150 ms every
    few seconds of load (`benchmarks.serving`), for objects that live as long as the process.
    """
    gc.collect()
    gc.freeze()
