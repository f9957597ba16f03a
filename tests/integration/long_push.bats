#!/usr/bin/env bats
# A large push through the gateway: it arrives, and the gateway's memory does not grow with it.
load lib
load push
bats_require_minimum_version 1.5.0

@test "300 MB: the bytes arrive, at most 8 MiB of memory above idle" {
	gateway "$ALL"
	change b.txt
	git push -q origin main # what the first push needs stays
	idle=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$GATEWAY/status")
	head -c 314572800 /dev/urandom >large.bin
	git add -A
	git commit -q -m large
	git -c core.compression=0 push -q origin main
	[ "$(up main)" = "$(git rev-parse HEAD)" ]
	git -C "$UP" cat-file blob main:large.bin | cmp - large.bin
	most=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$GATEWAY/status")
	echo "idle $idle kB, at most $most kB"
	[ $((most - idle)) -le 8192 ]
	clean
}

@test "300 MB that a rule denies by their size are read to their end and answered" {
	gateway '[{"verdict":"allow","maxBytes":1000000,"name":"small"}]'
	BEFORE=$(git -C "$UP" for-each-ref)
	head -c 314572800 /dev/urandom >large.bin
	git add -A
	git commit -q -m large
	run git -c core.compression=0 push origin main
	[[ $output == *"rule small"* ]]
	refused
}
