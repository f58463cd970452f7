# Every target does its own set-up: the virtual environment .venv with the pinned packages of constraints.txt.
#   EXTRAS=clip,faiss   optional parts beside the package; tests and checks add dev to them
#   TORCH=cpu           torch without CUDA, a tenth of the size, from PyTorch's own index
#   LOCKED=1            what is fetched must have the hashes of requirements/ (with TORCH=cpu: all but torch and torchvision)
#   UV=1                installed by uv, which must be there, instead of pip
VENV ?= .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
BIN := $(VENV)/bin
EXTRAS ?=
TORCH ?=
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
LOCKED ?=
UV ?=
# Tests run in so many processes at once: one a core, as runs wait little.
TEST_PROCESSES ?= 2
# The loaders that the feeding benchmark compares with want other versions: an environment of their own.
PEERS ?= .venv-peers
# Compiled selective scans, for machines with CUDA: where their wheels lie, and for which GPUs (80 A100, 90 H100).
WHEELS ?= wheels
CUDA_ARCH ?= 90

.PHONY: install demo test test-all test-long test-gpu drills bench-feeding check types package docs docs-serve \
	lock format clean mamba-wheels install-mamba

$(if $(filter-out cpu,$(TORCH)),$(error TORCH=$(TORCH) is not known; give TORCH=cpu, or leave it out for CUDA))

comma := ,
with_dev = $(if $(filter dev,$(subst $(comma), ,$(EXTRAS))),$(EXTRAS),dev$(EXTRAS:%=$(comma)%))
INSTALLED := $(VENV)/installed-$(or $(EXTRAS),core)
DEV := $(VENV)/installed-$(with_dev)
DOCS := $(VENV)/installed-$(with_dev),docs

install: $(INSTALLED)

# In the recipe: the extras that the name of the file lists, and where their pins are with hashes.
chosen = $(filter-out core,$(subst $(comma), ,$*))
locks = requirements/core.txt $(if $(TORCH),,requirements/torch.txt) $(chosen:%=requirements/%.txt)
builds = torch$(if $(filter clip,$(chosen)), torchvision)
fetched = $(if $(TORCH),0.6 GB,3.1 GB with CUDA (0.6 GB with TORCH=cpu))$(if $(filter dev,$(chosen)), and 0.2 GB for dev)
PIP := $(if $(UV),uv pip install --python $(BIN)/python,$(BIN)/pip install)
CHECK := $(if $(UV),uv pip check --python $(BIN)/python,$(BIN)/pip check)

$(VENV)/installed-%: pyproject.toml constraints.txt $(wildcard requirements/*.txt)
	@echo "Set-up of $(VENV) by $(if $(UV),uv,pip), with $$($(PYTHON) --version): about $$(cat $(locks) | grep -c '^[a-z0-9]')" \
		"packages, $(fetched), in some minutes; done once"
	$(if $(UV),uv venv --quiet --allow-existing --seed --python $(PYTHON),$(PYTHON) -m venv) $(VENV)
	$(if $(TORCH),$(PIP) --no-deps --index-url $(TORCH_INDEX) --constraint constraints.txt $(builds))
	$(if $(LOCKED),$(PIP) --no-deps --require-hashes $(locks:%=--requirement %))
	$(if $(LOCKED),$(PIP) --no-deps --no-build-isolation --editable .,\
		$(PIP) --constraint constraints.txt --editable '.$(if $(chosen),[$*])')
	$(if $(LOCKED),$(CHECK))
	touch $(VENV)/installed-core $@

mamba-wheels: install
	$(PIP) --no-deps --require-hashes --requirement requirements/mamba.txt
	$(BIN)/python -m cluster.mamba_wheels --architecture $(CUDA_ARCH) --out $(WHEELS)

install-mamba: install
	$(PIP) --no-deps --require-hashes --requirement requirements/mamba.txt
	$(PIP) --no-index --no-deps --find-links $(WHEELS) mamba-ssm causal-conv1d

demo: install
	$(BIN)/vtr demo

# A file's tests stay together, and whole runs in one process, in the order of tests/conftest.py. Tests start some hundred
# processes: compiled once, not by each.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

test: $(DEV)
	$(PYTEST)

# Also the tests marked long: more whole runs, the drills, clusters of several nodes.
test-all: $(DEV)
	$(PYTEST) -m ''

# Those alone; with WITHIN=40 none is begun after 40 minutes, and the summary names what was not.
test-long: $(DEV)
	$(PYTEST) -m long $(if $(WITHIN),--begin-within $(WITHIN))

# What only a CUDA device can show; each test is skipped where it needs what is not there.
test-gpu: $(DEV)
	$(BIN)/pytest tests/gpu -m gpu

drills: $(DEV)
	DRILL_TABLE=benchmarks/results $(BIN)/pytest tests/drills -m integration

$(PEERS)/installed: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --requirement benchmarks/peers/requirements.txt
	touch $@

bench-feeding: $(DEV) $(PEERS)/installed
	$(BIN)/python -m benchmarks.feeding --peers-python $(PEERS)/bin/python
	$(BIN)/python -m benchmarks.scale_model

check: $(DEV) types package docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

# Of the three versions only the one that runs the tests need be here; what others lack or have changed, types show.
types: $(DEV)
	$(MAKE) --no-print-directory --jobs 3 types-3.11 types-3.12 types-3.13

types-%:
	$(BIN)/mypy --python-version $*

# The source distribution, the wheel made from it, and whether an index would take them.
package: $(DEV)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*

# The documents as a site, in build/site; a link or an anchor that leads nowhere is an error.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs
docs: $(DOCS)
	$(MKDOCS) build --quiet

docs-serve: $(DOCS)
	$(MKDOCS) serve

# Every pin anew: requirements/lock.sh. UPGRADE=1 takes the newest versions.
lock: $(DEV)
	PATH="$(abspath $(BIN)):$$PATH" UPGRADE="$(UPGRADE)" requirements/lock.sh

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(PEERS) $(WHEELS) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
