"""What systems of one joint space share: the task of training and validating them.

Imported by the systems' `system.py`.
"""
