"""What systems of one joint space share: how they are trained, validated, embedded and served.

Imported by the systems' `implementation.py`.
"""
