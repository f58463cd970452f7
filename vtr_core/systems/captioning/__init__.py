"""The captioner, whose contrasts have the captions' granularity as margin (Gu and Yao 2023).

Imported through `system.py`.
"""
