"""What a trained model holds: pure functions over what was read out of it."""
