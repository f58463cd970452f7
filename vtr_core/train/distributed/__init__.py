"""What workers exchange: gathered batches and shares of gradients.

Imports torch and batches alone.
"""
