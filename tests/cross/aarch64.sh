#!/bin/sh
# Another architecture without owning one: everything is built for aarch64, the programs that enter a sandbox static, with
# musl; the unit and golden tests of the rooms run under qemu-user. What needs a kernel's seccomp or Landlock cannot run
# there (qemu-user has neither): the filter for aarch64 is interpreted, natively, by unit-plan-calls. Speaks TAP.
# usage: aarch64.sh SOURCE BUILD      BUILD: kept, so that a second run is quick
set -u
source=$(realpath "$1") build=$2
skip() { printf '1..0 # SKIP %s\n' "$1"; exit 0; }
for tool in aarch64-linux-gnu-gcc meson ninja pkg-config file; do
	command -v "$tool" >/dev/null || skip "no $tool here"
done
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || skip "no qemu-user here"
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
reason=$(mktemp)
trap 'rm -f "$reason"' EXIT
debs=$("$source/tools/debs.sh" "$release:arm64" libcmocka0 libcmocka-dev musl-dev 2>"$reason") || skip "no packages for arm64: $(tail -n 1 "$reason")"

count=0 failed=0
check() { # LABEL COMMAND...
	label=$1
	shift
	count=$((count + 1))
	if "$@" >"$reason" 2>&1; then
		echo "ok $count - $label"
	else
		echo "not ok $count - $label"
		failed=1
		grep -E 'error|FAILED|not ok|ERROR' "$reason" | head -n 20 | sed 's/^/# /'
	fi
}

mkdir -p "$build"
build=$(realpath "$build")
# musl's own compiler is the cross compiler with its specs, whose paths are those of the unpacked package
sed "s#/usr/\(lib\|include\)/aarch64-linux-musl#$debs/usr/\1/aarch64-linux-musl#g" \
	"$debs/usr/lib/aarch64-linux-musl/musl-gcc.specs" >"$build/musl.specs"
printf '#!/bin/sh\nexec aarch64-linux-gnu-gcc -specs="%s" "$@" -idirafter /usr/aarch64-linux-gnu/include\n' "$build/musl.specs" >"$build/musl-gcc"
chmod 755 "$build/musl-gcc"
cat >"$build/cross.ini" <<END
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
musl-gcc = '$build/musl-gcc'
exe_wrapper = ['$qemu', '-L', '/usr/aarch64-linux-gnu', '-E', 'LD_LIBRARY_PATH=$debs/usr/lib/aarch64-linux-gnu']
[properties]
sys_root = '$debs'
pkg_config_libdir = '$debs/usr/lib/aarch64-linux-gnu/pkgconfig'
cross_musl = true
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
[ -f "$build/b/build.ninja" ] || check "configured for aarch64" meson setup --cross-file "$build/cross.ini" "$build/b" "$source"
whole() { ninja -C "$build/b" >"$build/log" 2>&1 && ! grep 'warning:' "$build/log" || { cat "$build/log"; return 1; }; }
check "everything is built for aarch64, without a warning" whole
# musl's specs make a static program a PIE of its own kind: no interpreter is what counts
is_static() { file "$1" | grep 'ARM aarch64' | grep -v interpreter; }
check "cc-init is a static program of that architecture" is_static "$build/b/cc-init"
check "cc-connect too" is_static "$build/b/cc-connect"
version() { "$qemu" -L /usr/aarch64-linux-gnu "$build/b/ccbox" --version; }
check "ccbox starts" version

# each program's own lines, with its name before them
meson test -C "$build/b" --no-rebuild --suite unit --suite golden --suite fuzz --timeout-multiplier 5 >"$reason" 2>&1
python3 - "$build/b/meson-logs/testlog.json" "$count" "$failed" <<'END'
import json, re, sys
count, failed = int(sys.argv[2]), sys.argv[3] != '0'
programs = 0
for raw in open(sys.argv[1], encoding='utf-8', errors='replace'):
    entry = json.loads(raw)
    programs += 1
    name = entry['name'].split(' / ')[-1].split(':')[-1]
    rows = re.findall(r'^(not ok|ok)\b\s*\d*\s*-?\s*(.*)$', entry.get('stdout') or '', re.M)
    if entry['result'] not in ('OK', 'SKIP') and all(r[0] == 'ok' for r in rows):
        rows.append(('not ok', 'ends well'))
    if entry['result'] == 'SKIP':  # said with its reason, never counted as if it had run
        rows = rows or [('ok', 'all of it # SKIP ' + (re.findall(r'# SKIP (.*)', entry.get('stdout') or '') or ['?'])[0])]
    for result, label in rows or [('ok', 'ends well')]:
        count += 1
        failed = failed or result != 'ok'
        print(f'{result} {count} - {name}: {label}')
count += 1
failed = failed or programs < 20
print(f"{'ok' if programs >= 20 else 'not ok'} {count} - {programs} programs of tests were run")
print(f'1..{count}')
sys.exit(1 if failed else 0)
END
