#!/bin/sh
# The product only: what `make run` needs. Quiet when all is well.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -f build/build.ninja ]; then
	meson setup build >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
ninja -C build ccbox cc_server cc-session cc-run cc-forge cc-push cc-keeper cc-init cc-proxy cc-connect >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
