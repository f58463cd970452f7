#!/usr/bin/env bash
# `make lock`: every pin anew, the same for Python 3.11 to 3.13 and any platform. Pins that still fit stay; with
# UPGRADE=1 the newest are taken.
#   constraints.txt                 the versions, of all extras
#   requirements/core.txt           what the package needs but torch, with hashes
#   requirements/torch.txt          torch as the index has it, and the CUDA libraries that only it needs
#   requirements/<extra>.txt        what an extra adds to these two
#   requirements/mamba-sources.txt  what `make mamba-wheels` compiles
set -euo pipefail
cd "$(dirname "$0")/.."
export UV_CUSTOM_COMPILE_COMMAND="make lock"

compiled() { # file, then arguments of uv
    uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --no-annotate \
        --output-file "$@" >/dev/null
}
hashed() {
    compiled "requirements/$1.txt" --generate-hashes --constraint constraints.txt "${@:2}"
}
but() { # the packages that are named
    printf -- '--no-emit-package=%s\n' "$@"
}
names() { # of the packages in a file whose lines hold the text
    sed -nE "s/^([a-z0-9.-]+)==.*$2.*/\1/p" "requirements/$1.txt"
}

echo "constraints.txt"
compiled constraints.txt ${UPGRADE:+--upgrade} --all-extras pyproject.toml

echo "requirements/"
echo torch | hashed torch -
mapfile -t cuda < <(names torch "sys_platform == 'linux'")
hashed core $(but torch "${cuda[@]}") pyproject.toml
mapfile -t needed < <(names core "")
echo torch | hashed torch $(but "${needed[@]}") -
mapfile -t -O "${#needed[@]}" needed < <(names torch "")
kernels=(mamba-ssm causal-conv1d)
mapfile -t extras < <(python -c 'import tomllib, pathlib
project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
print(*project["optional-dependencies"], sep="\n")')
for extra in "${extras[@]}"; do
    hashed "$extra" --extra "$extra" $(but "${needed[@]}" "${kernels[@]}") pyproject.toml
done
printf '%s\n' "${kernels[@]}" | hashed mamba-sources --no-deps -

for version in 3.11 3.12 3.13; do
    for platform in x86_64-unknown-linux-gnu aarch64-apple-darwin; do
        echo "is there a wheel of every pin for Python $version on $platform?"
        others=("${extras[@]/#/--extra=}")
        MACOSX_DEPLOYMENT_TARGET=14.0 uv pip compile --quiet --python-version "$version" \
            --python-platform "$platform" --only-binary :all: --constraint constraints.txt \
            "${others[@]/--extra=mamba/--extra=dev}" pyproject.toml >/dev/null
    done
done
