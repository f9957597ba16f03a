#!/bin/sh
# A server of its own on directories of its own, and the browser test of the console against it. Speaks TAP.
# usage: console.sh BUILD SOURCE       SHOTS=DIR keeps pictures
set -u
build=$1
source=$2
skip() { echo "1..1"; echo "ok 1 - the console in a browser # skip $1"; exit 0; }
chromium=$(command -v chromium) || skip "chromium is not installed"
command -v node >/dev/null || skip "node is not installed"
clients=$("$source/tools/clients.sh" playwright 2>&1) || skip "$clients"
# on a disk: the rules hold on what agents work on
base=$(mktemp -d /var/tmp/ccbox-console.XXXXXX)
server=
trap '[ -z "$server" ] || kill "$server"; wait; rm -rf "$base"' EXIT
mkdir -p "$base/home" "$base/proj" "$base/data"
export HOME="$base/home" XDG_DATA_HOME="$base/data" SOCK="$base/data/ccbox-server/run/server.sock"
unset XDG_RUNTIME_DIR CC_SERVER_DATA_DIR
# what stands in for an agent, and a repository for it
mkdir -p "$base/bin" "$base/home/.config/ccbox" "$base/repo"
cp "$source/tests/clients/fake_agent.py" "$base/bin/claude"
chmod 755 "$base/bin/claude"
PATH=$base/bin:$PATH
echo "{\"filesystem\":{\"allowRead\":[\"$base/bin\"]}}" >"$base/home/.config/ccbox/policy.jsonc"
unset XDG_CONFIG_HOME XDG_STATE_HOME
export REPO="$base/repo"
git -C "$REPO" init -q && git -C "$REPO" -c user.name=t -c user.email=t@e.test commit -q --allow-empty -m one
cd "$base/proj" || exit 1
export SANDBOX_DIR="$base/proj"
SHELL=/bin/bash "$build/cc_server" --port 0 >"$base/out" 2>"$base/err" &
server=$!
for _ in $(seq 400); do
	grep -q 'listening on /' "$base/out" && break
	kill -0 "$server" 2>/dev/null || { echo "Bail out! $(cat "$base/err")"; exit 1; }
	sleep 0.05
done
node "$source/tests/browser/console.mjs" "$clients/playwright/node_modules/playwright-core" "$chromium"
