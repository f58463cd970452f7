"""A run's presets by name, its model and its task, and what it takes from the training data."""
