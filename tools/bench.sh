#!/bin/sh
# Ratios, interleaved; exits 1 on a missed bar. usage: bench.sh [ROW...]
cd "$(dirname "$0")/.." || exit 1
ninja -C build bench-warm bench-calls >/dev/null || exit 1
exec python3 bench/bench.py build "$@"
