#!/usr/bin/env bats
# What `make install` puts into a prefix works from there. INSTALLED is the prefix (tests/as-user.sh).
load lib

@test "an installed ccbox finds its helpers" {
	run "$INSTALLED/bin/ccbox" doctor
	echo "$output"
	[ "$status" -eq 0 ]
	run "$INSTALLED/bin/ccbox" run -- true
	echo "$output"
	[ "$status" -eq 0 ]
	run "$INSTALLED/bin/ccbox" run -- sh -c 'echo x >f; echo x >.env'
	[ "$status" -ne 0 ]
	[ -e f ]
	[ ! -e .env ]
}

@test "without one of its helpers nothing starts, and it is named" {
	cp -r "$INSTALLED" "$BASE/prefix"
	rm "$BASE/prefix/libexec/ccbox/cc-init"
	run "$BASE/prefix/bin/ccbox" run -- touch started
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *cc-init* ]]
	[ ! -e started ]
}

@test "everything has its place, and nothing of the tests is installed" {
	cd "$INSTALLED"
	# the library's directory has the machine's name in it where the distribution wants that, or its width where meson
	# cannot ask the distribution (no dpkg-dev)
	run sh -c 'find . -type f | sed "s|^./lib/[a-z0-9_]*-linux-gnu/|./lib/|; s|^./lib64/|./lib/|" | LC_ALL=C sort'
	echo "$output"
	[ "$output" = "./bin/cc_server
./bin/ccbox
./include/ccbox.h
./lib/libccbox.so.1.0.0
./lib/pkgconfig/ccbox.pc
./lib/systemd/user/ccbox-server.service
./lib/systemd/user/ccbox-server.socket
./libexec/ccbox/cc-connect
./libexec/ccbox/cc-forge
./libexec/ccbox/cc-init
./libexec/ccbox/cc-keeper
./libexec/ccbox/cc-proxy
./libexec/ccbox/cc-push
./libexec/ccbox/cc-run
./libexec/ccbox/cc-session
./share/bash-completion/completions/ccbox
./share/ccbox/apparmor/ccbox
./share/ccbox/launchd/ccbox.server.plist
./share/doc/ccbox/LICENSE
./share/doc/ccbox/README.md
./share/doc/ccbox/openapi.json
./share/fish/vendor_completions.d/ccbox.fish
./share/man/man1/ccbox.1
./share/man/man8/cc_server.8
./share/zsh/site-functions/_ccbox" ]
	[ -z "$(find . -type f -perm /022)" ]
	[ -z "$(find . -perm /6000)" ]
}

@test "the completions are those of the installed program, and bash takes them" {
	cmp "$INSTALLED/share/bash-completion/completions/ccbox" <("$INSTALLED/bin/ccbox" completions bash)
	cmp "$INSTALLED/share/zsh/site-functions/_ccbox" <("$INSTALLED/bin/ccbox" completions zsh)
	cmp "$INSTALLED/share/fish/vendor_completions.d/ccbox.fish" <("$INSTALLED/bin/ccbox" completions fish)
	run bash -c '. "$0"; COMP_WORDS=(ccbox do); COMP_CWORD=1; _ccbox; echo "${COMPREPLY[@]}"' "$INSTALLED/share/bash-completion/completions/ccbox"
	[ "$output" = doctor ]
}

@test "the installed library is found by pkg-config and works; the units are well formed" {
	command -v pkg-config >/dev/null || skip "no pkg-config"
	pc=$(dirname "$(find "$INSTALLED" -name ccbox.pc)")
	export PKG_CONFIG_PATH=$pc PKG_CONFIG_SYSROOT_DIR=
	[ "$(pkg-config --modversion ccbox)" = "$("$INSTALLED/bin/ccbox" --version | cut -d' ' -f2)" ]
	# shellcheck disable=SC2046
	cc -o "$BASE/example" "$BATS_TEST_DIRNAME/../client/example.c" -I"$INSTALLED/include" -L"$(dirname "$pc")" $(pkg-config --libs-only-l ccbox)
	run env LD_LIBRARY_PATH="$(dirname "$pc")" CC_SERVER_SOCKET="$BASE/none" "$BASE/example" "$PWD"
	[[ $output == *unreachable* ]]
	grep -q "^ExecStart=.*/bin/cc_server$" "$INSTALLED/lib/systemd/user/ccbox-server.service"
	python3 -c 'import plistlib,sys; d = plistlib.load(open(sys.argv[1], "rb")); assert d["ProgramArguments"][0].endswith("/cc_server")' "$INSTALLED/share/ccbox/launchd/ccbox.server.plist"
	if command -v systemd-analyze >/dev/null; then
		sed "s|^ExecStart=.*|ExecStart=$INSTALLED/bin/cc_server|" "$INSTALLED/lib/systemd/user/ccbox-server.service" >"$BASE/ccbox-server.service"
		cp "$INSTALLED/lib/systemd/user/ccbox-server.socket" "$BASE/"
		run systemd-analyze verify --user --man=no "$BASE/ccbox-server.service" "$BASE/ccbox-server.socket"
		echo "$output"
		[[ $output != *ccbox-server* ]]
	fi
}

@test "an installed cc_server finds its owner program, and launches" {
	XDG_DATA_HOME=$BASE/data "$INSTALLED/bin/cc_server" --port 0 >"$BASE/out" 2>&1 3>&- &
	SERVER=$!
	for _ in $(seq 200); do grep -q "listening on /" "$BASE/out" && break; sleep 0.05; done
	export CC_SERVER_SOCKET=$BASE/data/ccbox-server/run/server.sock
	id=$("$INSTALLED/bin/ccbox" launch)
	[ "$("$INSTALLED/bin/ccbox" exec "$id" -- echo ok </dev/null)" = ok ]
	# and the tools of /v1/mcp, which are a ccbox beside it
	run curl -sS -m 60 --unix-socket "$CC_SERVER_SOCKET" -X POST "http://ccbox/v1/mcp?directory=$PWD" \
		-d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}'
	echo "$output"
	[[ $output == *'"serverInfo"'* ]]
}

@test "a systemd user manager starts it by its sockets, stops it whole, and starts it again" {
	[ "$(id -u)" = 0 ] || skip "namespaces for a manager are root's to make"
	[ -x /lib/systemd/systemd ] && command -v ip >/dev/null || skip "no systemd here"
	chmod 755 "$BASE"
	run timeout 100 unshare -mn --propagation private bash "$BATS_TEST_DIRNAME/systemd.sh" "$INSTALLED" "$BASE" 1000
	echo "$output"
	[ "$status" -eq 0 ]
	for seen in waits activated local holds grouped emptied kept again another restarted removed; do
		grep -qx "$seen" <<<"$output"
	done
}
