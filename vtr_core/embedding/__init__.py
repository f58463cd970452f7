"""Embedded data sets: rows of vectors, their scores and rankings, in one process or shared by training's workers.

What systems build on; whatever needs a trained model's system lies in `systems` and `retrieval`.
"""
