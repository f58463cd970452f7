"""The multimodal capsule network and its baselines (Duarte et al.).

Imported by run; its explanations and tables by pipelines.
"""
