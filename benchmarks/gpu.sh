#!/usr/bin/env bash
# Every page of benchmarks/results/ that a GPU fills, one after another, on a machine with CUDA:
#
#     benchmarks/gpu.sh [folder]
#
# Run it in the repository's root after `make install EXTRAS=dev,numba`; the folder (default: gpu-results) takes the
# pages. A benchmark that fails is named at the end and does not stop the others; then the exit status is 1.
set -uo pipefail

out=${1:-gpu-results}
python=${PYTHON:-.venv/bin/python}
failed=()
mkdir -p "$out"

if ! "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    echo "benchmarks/gpu.sh: torch finds no CUDA device here; run it where nvidia-smi shows one" >&2
    exit 2
fi

page() {
    local name=$1
    shift
    echo "== $name"
    "$@" 2>&1 | tee "$out/$name.log" || failed+=("$name")
}

page test-gpu "$python" -m pytest tests/gpu -m gpu
page routing "$python" -m benchmarks.routing --out "$out"
page checkpoint_stop "$python" -m benchmarks.checkpoint_stop --rows 512 --out "$out"
page muse "$python" -m benchmarks.muse --out "$out"
page scan "$python" -m benchmarks.scan --out "$out"
page scale_model "$python" -m benchmarks.scale_model --out "$out"

if ((${#failed[@]})); then
    echo "failed: ${failed[*]}; see their .log in $out" >&2
    exit 1
fi
