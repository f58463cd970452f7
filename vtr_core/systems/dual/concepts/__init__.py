"""The concept space of a dual encoder: its losses, and the concepts of videos as a table."""
