"""The captioner, with contrastive losses whose margin is the captions' granularity (Gu and Yao 2023).

Imported through `system.py`.
"""
