"""What stages print and log: pages, tables, figures, links, MLflow runs.

Imported by stages and by the commands of systems.
"""
