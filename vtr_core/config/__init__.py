"""Configurations: frozen, validated, importable without torch or ray."""
