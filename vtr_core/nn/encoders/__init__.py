"""Encoders of frames, words and sentences.

Imports config.
"""
