# Every target does its own set-up: the virtual environment .venv with the pinned packages of constraints.txt.
VENV ?= .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := $(VENV)/bin
# The optional parts that are installed beside the package: dev to work on it, postgres for the images.
EXTRAS ?= dev
# The loaders that the feeding benchmark compares with want other versions: an environment of their own.
PEERS ?= .venv-peers
# Compiled selective scans, for machines with CUDA: where their wheels lie, and for which GPUs (80 A100, 90 H100).
WHEELS ?= wheels
CUDA_ARCH ?= 90

.PHONY: install demo test test-all test-gpu drills bench-feeding check format clean mamba-wheels install-mamba

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	touch $@

mamba-wheels: install
	$(BIN)/python -m cluster.mamba_wheels --architecture $(CUDA_ARCH) --out $(WHEELS)

install-mamba: install
	$(BIN)/pip install --quiet --constraint constraints.txt einops transformers
	$(BIN)/pip install --quiet --no-index --no-deps --find-links $(WHEELS) mamba-ssm causal-conv1d

demo: install
	$(BIN)/vtr demo

test: install
	$(BIN)/pytest

# Also the tests marked long, an hour or two: more whole runs, the drills, clusters of several nodes.
test-all: install
	$(BIN)/pytest -m ''

# What only a CUDA device can show; each test is skipped where it needs what is not there.
test-gpu: install
	$(BIN)/pytest tests/gpu -m gpu

drills: install
	DRILL_TABLE=benchmarks/results $(BIN)/pytest tests/drills tests/cluster -m integration

$(PEERS)/installed: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --requirement benchmarks/peers/requirements.txt
	touch $@

bench-feeding: install $(PEERS)/installed
	$(BIN)/python -m benchmarks.feeding --peers-python $(PEERS)/bin/python
	$(BIN)/python -m benchmarks.scale_model

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(PEERS) $(WHEELS) build *.egg-info .pytest_cache .mypy_cache .ruff_cache
