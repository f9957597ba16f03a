# The front door. `make run` and `make check` do everything on a fresh Debian; meson does the work.
CMD ?=
PREFIX ?= /usr/local

.PHONY: run build check check-long bench install clean format

run: build
	@if [ -n "$(CMD)" ]; then exec build/ccbox run -- sh -c '$(subst ','\'',$(CMD))'; else exec build/ccbox shell; fi

build:
	@tools/deps.sh run
	@tools/build.sh

check:
	@tools/deps.sh check
	@tools/check.sh

check-long:
	@tools/deps.sh long
	@tools/check-long.sh

bench: build
	@tools/bench.sh

install: build
	@meson setup --reconfigure build --prefix="$(PREFIX)" >/dev/null && ninja -C build >/dev/null
	@meson install -C build --no-rebuild --quiet --destdir "$(abspath $(DESTDIR))"

format:
	@find src tests include -name '*.[ch]' | xargs clang-format-14 -i

clean:
	rm -rf build build-asan build-fuzz
