"""Training: one loop for all systems."""
