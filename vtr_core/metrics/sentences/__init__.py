"""Caption metrics against references: BLEU, ROUGE, and those that run in Java.

Imports n-grams of text.
"""
