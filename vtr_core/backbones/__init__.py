"""Recipes: named, fingerprinted descriptions of what sees or hears a video, and the networks that do it.

Imports video, errors and fingerprint; extraction runs them. A network that a package keeps is imported here alone.
"""
