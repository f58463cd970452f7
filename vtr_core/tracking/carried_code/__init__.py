"""The code that a registered model carries, so that it loads where this package is not installed."""
