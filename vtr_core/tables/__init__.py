"""The papers' tables: their figures, and ours beside them."""
