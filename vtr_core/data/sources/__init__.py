"""Adapters for raw data, one folder or file per family; shared parts are in files and features."""
