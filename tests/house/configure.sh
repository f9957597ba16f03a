#!/bin/sh
# `make run` builds on a machine that has nothing of what only the tests need: meson configures without bats and cmocka.
# Speaks TAP. usage: configure.sh SOURCE
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"
for place in $(echo "$PATH" | tr ':' ' '); do
	cp -sn "$place"/* "$dir/bin/" 2>/dev/null
done
rm -f "$dir/bin/bats" "$dir/bin/cmake" "$dir/bin/pkg-config"
cat >"$dir/bin/pkg-config" <<HIDE
#!/bin/sh
case "\$*" in *cmocka*) exit 1 ;; esac
exec "$(command -v pkg-config)" "\$@"
HIDE
chmod +x "$dir/bin/pkg-config"
echo 1..2
if PATH="$dir/bin" meson setup "$dir/build" "$1" >"$dir/log" 2>&1; then
	echo "ok 1 - it configures without the tests' own tools"
else
	echo "not ok 1 - it configures without the tests' own tools"
	tail -n 20 "$dir/log" | sed 's/^/# /'
fi
# so that the first row means something
if grep -q 'Program bats found: NO' "$dir/log" && grep -q 'cmocka found: NO' "$dir/log"; then
	echo "ok 2 - they were not seen"
else
	echo "not ok 2 - they were not seen"
	grep -E 'bats|cmocka' "$dir/log" | sed 's/^/# /'
fi
