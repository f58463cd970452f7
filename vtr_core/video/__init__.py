"""Video files: probing, frame sampling by time, audio, thumbnails, limits of time and memory, encoding of small videos.

Imports config, storage and errors; backbones and extraction build on it. Nothing else imports av.
"""
