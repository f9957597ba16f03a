#!/bin/sh
# Ratios, interleaved; exits 1 on a missed bar. usage: bench.sh [copy | egress | keys | push | runs | server | ROW...]
cd "$(dirname "$0")/.." || exit 1
if [ "${1:-}" = egress ]; then
	shift
	ninja -C build bench-egress bench-floor cc-proxy ccbox >/dev/null || exit 1
	exec python3 bench/egress.py build "$@"
fi
if [ "${1:-}" = server ]; then
	shift
	ninja -C build bench-server cc_server cc-session cc-run cc-proxy >/dev/null || exit 1
	exec python3 bench/server.py build "$@"
fi
if [ "${1:-}" = copy ]; then
	shift
	ninja -C build bench-copy >/dev/null || exit 1
	exec python3 bench/copy.py build "$@"
fi
if [ "${1:-}" = push ]; then
	shift
	ninja -C build cc-push tests/integration/push-rules >/dev/null || exit 1
	exec python3 bench/push.py build "$@"
fi
if [ "${1:-}" = runs ]; then
	shift
	ninja -C build ccbox cc_server cc-session cc-run cc-proxy >/dev/null || exit 1
	exec python3 bench/runs.py build "$@"
fi
if [ "${1:-}" = keys ]; then
	shift
	ninja -C build bench-keys cc_server cc-keeper cc-init >/dev/null || exit 1
	exec python3 bench/keys.py build "$@"
fi
ninja -C build bench-warm bench-calls bench-entry >/dev/null || exit 1
exec python3 bench/bench.py build "$@"
