"""The environment in which Ray's processes do not notice what else runs on the machine."""

UNDISTURBED = {"RAY_worker_niceness": "0", "RAY_memory_monitor_refresh_ms": "0"}
"""Of the niceness of 15 that is Ray's own, busy programs leave its workers nothing; its memory monitor ends workers
where other programs take the memory."""
