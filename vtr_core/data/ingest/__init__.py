"""Ingest of sources into shards by resumable tasks, with counts of dropped rows and a final manifest."""
