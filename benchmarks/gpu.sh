#!/bin/bash
# All that is measured on a GPU, in under 10 minutes and without a network:
#
#     CELLFORMER_DATA=folder OUT=results/gpu bash benchmarks/gpu.sh
#
# Run it from the root of the repository. cellformer need not be installed. Its dependencies are
# taken from where they are; wheels of what is missing can be brought in the folder WHEELS (here
# .wheels), made on a machine with a network by, for example,
#
#     python3 -m pip download --no-deps -d .wheels jsonargparse==4.53.0
#
# CELLFORMER_DATA is a folder with zinc/zinc12k_graphs.npz; without it, or without Lightning, the
# parts that need them fail and the others run. A part that fails or runs too long does not stop
# the next one. LIMIT is the number of seconds for everything, 570 unless given.
#
# DEVICE=cpu SMALL=1 tries out everything on a CPU with tiny sizes, the kernels in Triton's
# interpreter.
#
# OUT then holds log.txt (all that was printed), correctness.json, operators.json, epochs.json,
# profile.txt, and of the training curve.csv, run.tar.gz (configuration, model, summary) and
# best.safetensors.
set -u
OUT=${OUT:-results/gpu}
DEVICE=${DEVICE:-cuda}
SMALL=${SMALL:-0}
LIMIT=${LIMIT:-570}
WHEELS=${WHEELS:-.wheels}
PYTHON=${PYTHON:-python3}
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

export PYTHONPATH=$PWD/src:$PWD${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
export CELLFORMER_CACHE=${CELLFORMER_CACHE:-$scratch/cache} NUMBA_CACHE_DIR=$scratch/numba
export CUBLAS_WORKSPACE_CONFIG=:4096:8 # or matrix products are not deterministic
[ "$DEVICE" = cpu ] && export TRITON_INTERPRET=1
if compgen -G "$WHEELS/*.whl" >/dev/null; then
    "$PYTHON" -m pip install -q --no-index --no-deps --target "$scratch/site" "$WHEELS"/*.whl &&
        export PYTHONPATH=$PYTHONPATH:$scratch/site
fi

# part NAME SECONDS ARGUMENTS...: runs benchmarks.gpu_NAME for at most so many seconds.
part() {
    local name=$1 most=$2 left=$((LIMIT - SECONDS))
    shift 2
    [ "$most" -gt "$left" ] && most=$left
    if [ "$most" -lt 10 ]; then
        echo "== $name: no time left"
        return
    fi
    echo "== $name (second $SECONDS, at most $most)"
    timeout -k 5 "$most" "$PYTHON" -m "benchmarks.gpu_$name" --device "$DEVICE" \
        --small "$SMALL" --seconds "$most" --out "$OUT" --scratch "$scratch" "$@"
    echo "== $name ended with status $?"
}

{
    command -v nvidia-smi >/dev/null && nvidia-smi
    part correctness 90
    part operators 120
    part epochs 150
    part training 600 # what is left
} 2>&1 | tee "$OUT/log.txt"
