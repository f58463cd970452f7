"""MSR-VTT: its release and its annotations, which others use too.

Imported by pipelines and by captions' statistics.
"""
