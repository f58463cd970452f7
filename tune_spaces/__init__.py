"""Search spaces, one module per system, and how they are searched."""
