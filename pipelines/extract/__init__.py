"""`vtr extract`.

Video files to shards, or to feature files.
"""
