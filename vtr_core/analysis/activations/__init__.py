"""What single capsules respond to: their strongest clips, the words that go with them, and how much each is used.

Imports text.
"""
