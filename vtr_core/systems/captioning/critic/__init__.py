"""Self-critical training: the captions that a captioner draws, and what they are worth."""
