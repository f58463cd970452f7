"""Using trained models: embedding data sets, ranking, reports."""
