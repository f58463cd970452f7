"""Collections whose features are BigFiles: those of the published dual encoders, TGIF, and TRECVID's.

Imported by the list of all sources.
"""
