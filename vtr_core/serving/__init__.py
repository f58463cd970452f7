"""What answers over HTTP: apps on Starlette, served by uvicorn.

Imports retrieval; nothing else imports Starlette and uvicorn.
"""
