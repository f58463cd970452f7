"""Short films and MSR-VTT-800: pretrained vectors as they are, baselines, the adapter and the papers' systems.

Imports benchmarks.comparison and the commands.
"""
