# The front door. `make run` and `make check` do everything on a fresh Debian; meson does the work.
CMD ?=
PREFIX ?= /usr/local

.PHONY: run build check check-long bench bench-egress bench-server bench-keys bench-copy install clean format

# The command as it was written, quotes and dollars too. One that is plain words is run itself, so that a known agent is
# recognised; anything with shell syntax is run by a shell.
export CCBOX_CMD := $(value CMD)

run: build
	@case $$CCBOX_CMD in \
	'') exec build/ccbox shell ;; \
	*[\|\&\;\<\>\(\)\$$\`\*\?]*) exec build/ccbox run -- sh -c "$$CCBOX_CMD" ;; \
	*) eval "set -- $$CCBOX_CMD" && exec build/ccbox run -- "$$@" ;; \
	esac

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

bench-egress: build
	@tools/bench.sh egress

bench-server: build
	@tools/bench.sh server

bench-keys: build
	@tools/bench.sh keys

bench-copy: build
	@tools/bench.sh copy

install: build
	@meson setup --reconfigure build --prefix="$(PREFIX)" >/dev/null && ninja -C build >/dev/null
	@meson install -C build --no-rebuild --quiet --destdir "$(abspath $(DESTDIR))"

format:
	@find src tests include -name '*.[ch]' | xargs clang-format-14 -i

clean:
	rm -rf build build-asan build-fuzz
