"""Sources' items to shards, task by task: resumed, counted, and a manifest at the end.

Imports sources and shards; pipelines run the tasks.
"""
