"""Pretrained encoders of text and frames in one space: `encoder(name)`, one protocol for every source.

Imports backbones, text and video; used by extraction, systems and the commands.
"""
