"""Commands, tables and analyses of the system `capsules`, built on vtr_core."""
