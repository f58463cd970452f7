"""CLIP4Clip: CLIP trained on the frames of videos and their captions, with a choice of temporal pooling."""
