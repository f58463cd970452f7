"""Commands, tables and analyses of the system `clip4clip`, built on vtr_core."""
