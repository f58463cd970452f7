"""The multimodal capsule network and its baselines (Duarte et al.).

Imported through `system.py`.
"""
