"""Feature arrays in files and folders: .npy, .npz, frames, pooling, a second set beside the first.

Imports files; adapters read through it.
"""
