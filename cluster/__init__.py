"""Start and configuration of Ray clusters.

Imports errors and redaction of vtr_core; used by `vtr submit` and from the shell.
"""
