"""Using trained models: embedding data sets, ranking, search, explanations.

Imports run, systems and data; knows nothing of training and of commands.
"""
