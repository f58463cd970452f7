"""Video files: probing, frames chosen by time, audio, thumbnails, limits of time and memory, small videos rendered.

Imports config, storage and errors; backbones and extraction build on it. Nothing else imports av.
"""
