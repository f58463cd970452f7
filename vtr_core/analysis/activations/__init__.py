"""What single capsules respond to: their top clips, the concepts associated with them, and the usage of each.

Imports text.
"""
