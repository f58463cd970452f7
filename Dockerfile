# Two images, both made by the Makefile's steps: one virtual environment with the packages whose hashes are in
# requirements/, then the commands. torch without CUDA comes by version from PyTorch's own index, which the hashes are
# not of.
#   docker build --tag vtr:cpu .                            without CUDA: heads, nodes for reading, laptops
#   docker build --tag vtr:cuda --target cuda .             with CUDA and the compiled selective scans, for one kind of
#                                                           GPU: --build-arg CUDA_ARCH=80 for A100, 90 (H100) by default
#   docker run --rm --shm-size 2g vtr:cpu vtr demo
# A tag can be given to another image. With --build-arg RELEASE=1 both bases have to be named by digest, which
#   docker buildx imagetools inspect python:3.11-slim-bookworm --format '{{.Manifest.Digest}}'
# prints: --build-arg PYTHON_IMAGE=python:3.11-slim-bookworm@sha256:…, and for --target cuda CUDA_IMAGE likewise.
# Neither image has been built yet: docs/operations/not-started.md.
ARG RELEASE=
ARG PYTHON_IMAGE=python:3.11-slim-bookworm
# Of the CUDA major version that the torch of constraints.txt is built with.
ARG CUDA_IMAGE=nvidia/cuda:13.0.2-devel-ubuntu24.04

FROM ${CUDA_IMAGE} AS cuda-toolkit

# What both images begin with. rsync is for `ray up`, wget for KubeRay's probes; both may start login shells, which
# would forget the PATH. Debian's archive has one version of a package at a time, so none is pinned. Ray keeps its idle
# processes for a minute (KEEP_IDLE in vtr_core/ray_private.py says why).
FROM ${PYTHON_IMAGE} AS system
ARG RELEASE
ARG PYTHON_IMAGE
RUN test -z "$RELEASE" || expr "$PYTHON_IMAGE" : '.*@sha256:[0-9a-f]\{64\}$' > /dev/null \
    || { echo "RELEASE needs PYTHON_IMAGE=…@sha256:…, not $PYTHON_IMAGE" >&2; exit 1; }
ENV PATH=/opt/vtr/.venv/bin:$PATH \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1 \
    RAY_idle_worker_killing_time_threshold_ms=60000
# hadolint ignore=DL3008,SC2016
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make rsync wget \
    && rm -rf /var/lib/apt/lists/* \
    && echo 'export PATH=/opt/vtr/.venv/bin:$PATH' > /etc/profile.d/vtr.sh \
    && useradd --create-home --uid 1000 --shell /bin/bash vtr
WORKDIR /opt/vtr
COPY pyproject.toml constraints.txt Makefile README.md CONTRIBUTING.md SECURITY.md LICENSE NOTICE CITATION.cff ./
COPY requirements ./requirements
# The installation links these folders; the code comes last, so that changing it installs and compiles nothing anew.
RUN mkdir vtr_core pipelines cluster tune_spaces

FROM system AS cuda-packages
RUN make install LOCKED=1 EXTRAS=postgres,login,numba

# Compiles for minutes; no GPU is needed.
FROM cuda-packages AS mamba-wheels
ARG RELEASE
ARG CUDA_IMAGE
RUN test -z "$RELEASE" || expr "$CUDA_IMAGE" : '.*@sha256:[0-9a-f]\{64\}$' > /dev/null \
    || { echo "RELEASE needs CUDA_IMAGE=…@sha256:…, not $CUDA_IMAGE" >&2; exit 1; }
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
COPY --from=cuda-toolkit /usr/local/cuda-13.0 /usr/local/cuda
ENV CUDA_HOME=/usr/local/cuda
COPY vtr_core/__init__.py vtr_core/errors.py ./vtr_core/
COPY cluster/__init__.py cluster/mamba_wheels.py ./cluster/
ARG CUDA_ARCH=90
RUN make mamba-wheels LOCKED=1 EXTRAS=postgres,login,numba CUDA_ARCH=${CUDA_ARCH}

FROM cuda-packages AS cuda
COPY --from=mamba-wheels /opt/vtr/wheels ./wheels
RUN make install-mamba LOCKED=1 EXTRAS=postgres,login,numba
COPY vtr_core ./vtr_core
COPY pipelines ./pipelines
COPY cluster ./cluster
COPY tune_spaces ./tune_spaces
# What NVIDIA's container runtime is to give a container; torch brings the rest of CUDA.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 1000
WORKDIR /home/vtr
CMD ["vtr", "--help"]

FROM system AS cpu-packages
# The same version of torch without CUDA, a tenth of the size.
RUN make install LOCKED=1 TORCH=cpu EXTRAS=postgres,login,numba

FROM cpu-packages AS cpu
COPY vtr_core ./vtr_core
COPY pipelines ./pipelines
COPY cluster ./cluster
COPY tune_spaces ./tune_spaces
USER 1000
WORKDIR /home/vtr
CMD ["vtr", "--help"]
