#!/bin/sh
# Compresses files and writes an assembler source that carries them. usage: embed.sh OUT.S FILE...
# cc_file_NAME and cc_file_NAME_len, where NAME is the file's name with '_' for what no symbol has.
set -eu
out=$1
shift
{
	echo '	.section .rodata'
	for file; do
		name=$(basename "$file" | tr -c 'a-zA-Z0-9\n' _)
		gzip -9nc "$file" >"$out.$name.gz"
		# the length is a word of its own: the page is no string
		printf '\t.globl cc_file_%s, cc_file_%s_len\n\t.balign 16\ncc_file_%s:\n\t.incbin "%s"\n' \
			"$name" "$name" "$name" "$out.$name.gz"
		printf '\t.balign 8\ncc_file_%s_len:\n\t.quad %d\n' "$name" "$(wc -c <"$out.$name.gz")"
	done
	echo '	.section .note.GNU-stack,"",%progbits'
} >"$out"
