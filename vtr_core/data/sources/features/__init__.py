"""Feature arrays in files and folders: .npy, frames, pooling, a second set beside the first."""
