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
	run sh -c 'find . -type f | sort'
	echo "$output"
	[ "$output" = "./bin/cc_server
./bin/ccbox
./libexec/ccbox/cc-connect
./libexec/ccbox/cc-init
./libexec/ccbox/cc-keeper
./libexec/ccbox/cc-proxy
./libexec/ccbox/cc-session
./share/bash-completion/completions/ccbox
./share/ccbox/apparmor/ccbox
./share/doc/ccbox/LICENSE
./share/doc/ccbox/README.md
./share/fish/vendor_completions.d/ccbox.fish
./share/man/man1/ccbox.1
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
