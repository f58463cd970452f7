"""HTTP servers: Starlette applications run by uvicorn.

Imports retrieval; nothing else imports Starlette and uvicorn.
"""
