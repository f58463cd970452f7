"""The environment in which Ray's processes do not notice what else runs on the machine."""

UNDISTURBED = {
    "RAY_worker_niceness": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_worker_register_timeout_seconds": "3600",
}
"""Of the niceness of 15 that is Ray's own, busy programs leave its workers nothing; its memory monitor ends workers
where other programs take the memory; and a worker whose start takes over a minute is given up, five times in all."""
