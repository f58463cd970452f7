"""Applications of trained models: embedding of data sets, ranking, search, explanations.

Imports run, systems and data; independent of training and commands.
"""
