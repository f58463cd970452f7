# The steps are the Makefile's: one virtual environment with the pinned packages, then the commands.
#   docker build --tag vtr .
#   docker run --rm vtr vtr demo
ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}

ENV PATH=/opt/vtr/.venv/bin:$PATH \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1

RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/vtr
COPY pyproject.toml constraints.txt Makefile README.md ./
COPY vtr_core ./vtr_core
COPY pipelines ./pipelines
COPY cluster ./cluster
RUN make install

RUN useradd --create-home --uid 1000 vtr
USER vtr
WORKDIR /home/vtr
CMD ["vtr", "--help"]
