"""Instructional videos: HowTo100M with its narration, YouCook2, and the steps of CrossTask and Mining YouTube."""
