"""What each capsule responds to: its strongest clips and the concepts of their captions.

Imported by pipelines.
"""
