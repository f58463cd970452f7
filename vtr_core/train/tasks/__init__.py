"""One task per kind of system."""
