"""The parts that configurations are made of: frozen, validated, importable without torch or ray.

Imports errors alone; what a system adds lies in its folder, the whole in run.
"""
