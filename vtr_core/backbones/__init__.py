"""Recipes: named, fingerprinted descriptions of what sees or hears a video, and the networks that do it.

Imports video, data's faults and errors; extraction runs them. Nothing else imports transformers, open_clip for videos,
or the packages that carry weights.
"""
