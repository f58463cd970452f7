"""Figures of sentences against references: BLEU, ROUGE, and what runs in Java.

Imports n-grams of text.
"""
