"""Recipes, named and fingerprinted descriptions of feature extraction, and their networks.

Imports video, errors and fingerprint; extraction runs them. Packages of networks are imported only here.
"""
