"""What one does with a system: its own commands, paper tables and analyses, by system."""
