#!/usr/bin/env bats
# Real clients against a TLS server of the test: each reaches an allowed name and is refused at a denied one, with the proxy
# variables and without them (issue 4). The slow ones are in long_clients.bats.
load lib
load clients

@test "curl" {
	need curl
	reaches "hello from up.test" 'curl -sS --cacert "$CA" "$URL/hello"'
}

@test "wget" {
	need wget
	reaches "hello from up.test" 'wget -q -O- --tries=1 --ca-certificate="$CA" "$URL/hello"'
}

@test "git over https" {
	git init -q --bare "$BASE/www/repo.git"
	git init -q "$BASE/src"
	git -C "$BASE/src" commit -q --allow-empty -m "a commit to fetch"
	git -C "$BASE/src" push -q "$BASE/www/repo.git" main
	git -C "$BASE/www/repo.git" update-server-info
	reaches "a commit to fetch" 'GIT_SSL_CAINFO=$CA git clone -q "$URL/repo.git" out && git -C out log --format=%s'
}

@test "Python: urllib and requests" {
	cat >u.py <<-'PY'
		import os, ssl, urllib.request
		c = ssl.create_default_context(cafile=os.environ["CA"])
		print(urllib.request.urlopen(os.environ["URL"] + "/hello", context=c, timeout=60).read().decode())
	PY
	reaches "hello from up.test" "$PYTHON u.py"
	"$PYTHON" -m venv venv
	echo 'import os, pip._vendor.requests as r; print(r.get(os.environ["URL"] + "/hello", verify=os.environ["CA"], timeout=60).text)' >r.py
	reaches "hello from up.test" "venv/bin/python r.py"
}

@test "Node: fetch and https" {
	need node
	echo 'fetch(process.env.URL + "/hello").then(r => r.text()).then(console.log, e => { console.error(e.cause ?? e); process.exit(1) })' >f.mjs
	echo 'require("https").get(process.env.URL + "/hello", r => r.pipe(process.stdout)).on("error", e => { console.error(e); process.exit(1) })' >h.cjs
	reaches "hello from up.test" 'NODE_EXTRA_CA_CERTS=$CA node f.mjs'
	reaches "hello from up.test" 'NODE_EXTRA_CA_CERTS=$CA node h.cjs'
}

@test "npm" {
	need npm
	mkdir -p "$BASE/www/npm" "$BASE/pkg/package"
	echo '{"name": "demo", "version": "1.0.0"}' >"$BASE/pkg/package/package.json"
	tar -C "$BASE/pkg" -czf "$BASE/www/npm/demo-1.0.0.tgz" package
	sum=$(sha1sum "$BASE/www/npm/demo-1.0.0.tgz" | cut -d' ' -f1)
	echo "{\"name\": \"demo\", \"dist-tags\": {\"latest\": \"1.0.0\"}, \"versions\": {\"1.0.0\": {\"name\": \"demo\", \"version\": \"1.0.0\",
		\"dist\": {\"shasum\": \"$sum\", \"tarball\": \"https://up.test:$PORT/npm/demo-1.0.0.tgz\"}}}}" >"$BASE/www/npm/demo"
	reaches "demo@1.0.0" 'mkdir -p out && cd out && echo "{}" >package.json && npm install --silent --no-audit --no-fund --fetch-retries=0 \
		--cafile "$CA" --registry "$URL/npm/" --cache "$TMPDIR/npm" demo && npm ls demo'
}

@test "pip" {
	"$PYTHON" -c 'import ensurepip' || skip "python has no ensurepip"
	mkdir -p "$BASE/www/simple/demo"
	"$PYTHON" - "$BASE/www/simple/demo" <<-'PY'
		import sys, zipfile
		with zipfile.ZipFile(sys.argv[1] + "/demo-1.0-py3-none-any.whl", "w") as z:
		    z.writestr("demo.py", "")
		    z.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
		    z.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
		    z.writestr("demo-1.0.dist-info/RECORD", "")
		open(sys.argv[1] + "/index.html", "w").write('<!DOCTYPE html><a href="demo-1.0-py3-none-any.whl">demo-1.0-py3-none-any.whl</a>')
	PY
	"$PYTHON" -m venv venv
	reaches "demo-1.0-py3-none-any.whl" 'venv/bin/python -m pip download -q --no-input --disable-pip-version-check --retries 0 --cert "$CA" \
		--index-url "$URL/simple/" -d out demo && ls out'
}

@test "Java: HttpClient" {
	need java
	need keytool
	cat >Get.java <<-'JAVA'
		import java.net.*;
		import java.net.http.*;
		public class Get {
			public static void main(String[] a) throws Exception {
				var c = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).build();
				var r = c.send(HttpRequest.newBuilder(URI.create(System.getenv("URL") + "/hello")).build(), HttpResponse.BodyHandlers.ofString());
				System.out.println(r.body());
				if (r.statusCode() != 200) System.exit(1);
			}
		}
	JAVA
	keytool -importcert -noprompt -alias ca -file ca.crt -keystore trust.p -storetype PKCS12 -storepass changeit 2>/dev/null
	reaches "hello from up.test" 'java -Djavax.net.ssl.trustStore=trust.p -Djavax.net.ssl.trustStorePassword=changeit Get.java'
}

@test "git over ssh goes by the name too" {
	need ssh
	inside evil.test 'git ls-remote "ssh://git@$HOST:22/x"'
	[ "$status" -ne 0 ]
	saw_host evil.test
}
