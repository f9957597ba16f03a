#!/usr/bin/env bats
# The slow clients: as clients.bats.
load lib
load clients

@test "cargo" {
	cargo=$(command -v cargo) || skip "cargo is not installed"
	home=${cargo%/.cargo/bin/cargo}
	[ "$home" = "$cargo" ] || export HOME=$home
	cargo --version >/dev/null 2>&1 || skip "cargo does not start here"
	mkdir -p "$BASE/www/index/de/mo" "$BASE/crate/demo-1.0.0/src" "$BASE/www/crates/demo/1.0.0"
	printf '[package]\nname = "demo"\nversion = "1.0.0"\nedition = "2021"\n' >"$BASE/crate/demo-1.0.0/Cargo.toml"
	: >"$BASE/crate/demo-1.0.0/src/lib.rs"
	tar -C "$BASE/crate" -czf "$BASE/www/crates/demo/1.0.0/download" demo-1.0.0
	sum=$(sha256sum "$BASE/www/crates/demo/1.0.0/download" | cut -d' ' -f1)
	echo "{\"dl\": \"https://up.test:$PORT/crates\"}" >"$BASE/www/index/config.json"
	echo "{\"name\":\"demo\",\"vers\":\"1.0.0\",\"deps\":[],\"cksum\":\"$sum\",\"features\":{},\"yanked\":false}" >"$BASE/www/index/de/mo/demo"
	mkdir -p app/src
	: >app/src/lib.rs
	printf '[package]\nname = "app"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\ndemo = { version = "1", registry = "test" }\n' >app/Cargo.toml
	reaches "Downloaded demo v1.0.0" 'rm -f app/Cargo.lock; cd app && CARGO_HOME=$TMPDIR/cargo-$$ CARGO_NET_RETRY=0 CARGO_HTTP_CAINFO=$CA \
		CARGO_REGISTRIES_TEST_INDEX="sparse+$URL/index/" cargo fetch 2>&1'
}

@test "apt" {
	need apt-get
	mkdir -p "$BASE/www/apt"
	printf 'Package: demo\nVersion: 1.0\nArchitecture: all\nMaintainer: t <t@t.test>\nDescription: demo\nFilename: demo.deb\nSize: 1\nSHA256: %064d\n' 0 \
		>"$BASE/www/apt/Packages"
	(
		cd "$BASE/www/apt" || exit 1
		printf 'Date: %s\nSHA256:\n %s %s Packages\n' "$(LC_ALL=C date -uR)" "$(sha256sum Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" >Release
	)
	reaches "demo - demo" 'mkdir -p out/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/trusted.gpg.d} && : >out/state/status &&
		echo "deb [trusted=yes] $URL/apt ./" >out/etc/sources.list &&
		printf "%s\n" "Dir \"$PWD/out/\";" "Dir::Etc \"etc\";" "Dir::State \"state\";" "Dir::State::status \"$PWD/out/state/status\";" "Dir::Cache \"cache\";" \
			"Dir::Bin::methods \"/usr/lib/apt/methods\";" \
			"Acquire::https::CAInfo \"$CA\";" "Acquire::Retries \"0\";" "APT::Sandbox::User \"\";" "Acquire::Languages \"none\";" >out/conf &&
		export APT_CONFIG=$PWD/out/conf && apt-get -q update -o APT::Update::Error-Mode=any && apt-cache search demo'
}

@test "Chromium, headless" {
	need chromium
	echo '<p id=p>hello from up.test</p>' >"$BASE/www/page.html"
	pin=$(openssl x509 -in "$BASE/tls/server.crt" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64)
	reaches "hello from up.test" 'chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --user-data-dir="$TMPDIR/c" \
		--ignore-certificate-errors-spki-list='"$pin"' ${HTTPS_PROXY:+--proxy-server="$HTTPS_PROXY"} --virtual-time-budget=20000 --dump-dom "$URL/page.html" \
		2>/dev/null | grep "id=\"p\""'
}
