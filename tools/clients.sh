#!/bin/sh
# Installs the real agents that the tests drive, at pinned versions, outside the checkout so that an ordinary user can read
# them too. Prints the directory. Exit 1 with the reason when npm cannot deliver. Test dependencies only, never shipped.
# usage: clients.sh NAME...      names: claude claude-acp codex gemini opencode playwright
# Once, by tools/check.sh, before the tests that use them run side by side.
set -eu
dir=${CCBOX_CLIENTS:-/var/tmp/ccbox-clients-$(id -u)}
for name in "$@"; do
	case $name in
	claude) package=@anthropic-ai/claude-code@2.1.332 program=@anthropic-ai/claude-code-linux-x64/claude ;;
	playwright) package=playwright-core@1.56.1 program=playwright-core/package.json ;;
	codex) package=@openai/codex@0.171.0 program=.bin/codex ;;
	opencode) package=opencode-ai@1.18.33 program=opencode-linux-x64/bin/opencode ;;
	gemini) package=@google/gemini-cli@0.61.0 program=.bin/gemini ;;
	claude-acp) package=@agentclientprotocol/claude-agent-acp@0.49.0 program=.bin/claude-agent-acp ;;
	*) echo "no such client: $name" >&2; exit 2 ;;
	esac
	[ -e "$dir/$name/node_modules/$program" ] && continue
	mkdir -p "$dir/$name"
	chmod 755 "$dir" "$dir/$name"
	# the platform package carries the program; the postinstall script is not needed
	if ! npm install --loglevel=error --no-audit --no-fund --ignore-scripts --prefix "$dir/$name" "$package" >"$dir/$name/log" 2>&1; then
		echo "npm could not install $package: $(grep -m 1 . "$dir/$name/log")" >&2
		exit 1
	fi
	[ -e "$dir/$name/node_modules/$program" ] || { echo "$package came without $program" >&2; exit 1; }
done
echo "$dir"
