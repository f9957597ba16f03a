#!/usr/bin/env bats
# Everyday tools inside a session: they work, or what they meet prints the flag that lets them (contract 6.5, 8).
load lib

PYTHON=/usr/bin/python3

need() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

# The flag of the last refusal, as a person would copy it.
printed_flag() { sed -n 's/.*; allow with: //p' | tail -n 1; }

@test "sed -i, tar, cp -a, install, flock, truncate, dd, patch, process substitution" {
	run box -- bash -ec '
		echo one >f
		sed -i s/one/two/ f
		mkdir -p d/e
		ln -s ../f d/link
		cp f d/e
		chmod 751 d/e
		cp -a d d2
		tar czf d.tgz d
		mkdir x
		tar xzf d.tgz -C x
		install -m 755 f inst
		flock d.tgz true
		truncate -s 10 t
		dd if=/dev/zero of=z bs=1k count=2 2>/dev/null
		diff <(echo a) <(echo a)
		cp f g; echo three >g; diff -u f g >p || true; patch -s f p
		tee out <f >/dev/null
		find . -name "*.tgz" -delete
		rm -rf d2
		mv x/d moved'
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(cat f)" = three ]
	[ "$(stat -c %a inst)" = 755 ]
	[ "$(readlink moved/link)" = ../f ]
	[ "$(stat -c %a moved/e)" = 751 ]
	[ ! -e d2 ]
	[ ! -e d.tgz ]
}

@test "make -j2 of a C project" {
	need cc
	for n in a b c d; do echo "int $n(void) { return 1; }" >$n.c; done
	echo 'int main(void) { return 0; }' >main.c
	printf 'app: main.o a.o b.o c.o d.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f app *.o\n' >Makefile
	run box -- sh -ec 'make -s -j2; ./app; make -s clean; make -s -j2'
	echo "$output"
	[ "$status" -eq 0 ]
	[ -x app ]
}

@test "javac and java; their files reach the tree" {
	need javac
	cat >H.java <<-'JAVA'
		import java.nio.file.*;
		public class H {
			public static void main(String[] a) throws Exception {
				Files.writeString(Path.of("o.txt"), "x");
				Files.move(Path.of("o.txt"), Path.of("p.txt"), StandardCopyOption.ATOMIC_MOVE);
				try {
					Files.writeString(Path.of(".env"), "x");
				} catch (AccessDeniedException e) {
					System.out.println("denied");
				}
			}
		}
	JAVA
	run box -- sh -ec 'javac H.java && java H'
	[ "$status" -eq 0 ]
	[[ $output == *denied* ]]
	[ -e p.txt ]
	[ ! -e .env ]
}

@test "python: multiprocessing, POSIX semaphores, sqlite, tempfile, os.replace" {
	cat >m.py <<-'PY'
		import multiprocessing as m, sqlite3, tempfile, os
		def f(x): return x * x
		if __name__ == "__main__":
		    with m.Pool(2) as p: assert p.map(f, range(4)) == [0, 1, 4, 9]
		    s = m.Semaphore(1); s.acquire(); s.release()
		    q = m.Queue(); q.put(1); assert q.get() == 1
		    from multiprocessing import shared_memory
		    b = shared_memory.SharedMemory(create=True, size=100); b.close(); b.unlink()
		    c = sqlite3.connect("x.db"); c.execute("pragma journal_mode=wal"); c.execute("create table t(a)"); c.commit()
		    with tempfile.NamedTemporaryFile(dir=".", delete=False) as t: t.write(b"x")
		    os.replace(t.name, "replaced")
		    with tempfile.TemporaryFile(dir=".") as t: t.write(b"x")
		    d = os.open(".", os.O_RDONLY); os.mkdir("sub", dir_fd=d); os.rename("replaced", "sub/r", src_dir_fd=d, dst_dir_fd=d)
		    for name in (".env", "k.pem"):
		        try: os.replace("sub/r", name); print("escaped")
		        except PermissionError: pass
		    print("fine")
	PY
	run box -- $PYTHON m.py
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *fine* ]]
	[[ $output != *escaped* ]]
	[ -e sub/r ]
}

@test "python3 -m venv meets cacert.pem; the printed flag lets it, a local wheel installs" {
	$PYTHON -m venv --help >/dev/null 2>&1 && $PYTHON -m ensurepip --version >/dev/null 2>&1 || skip "python3-venv is not installed"
	run box -- $PYTHON -m venv v
	[ "$status" -ne 0 ]
	flag=$(echo "$output" | printed_flag)
	[ "$flag" = "--allow-name '**/cacert.pem'" ]
	[ -z "$(find v -name '*.pem')" ]
	rm -rf v
	# a wheel, made by hand
	mkdir -p w/pkg
	echo 'VALUE = 41' >w/pkg/__init__.py
	(cd w && mkdir pkg-1.0.dist-info && printf 'Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n' >pkg-1.0.dist-info/METADATA &&
		printf 'Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >pkg-1.0.dist-info/WHEEL &&
		printf 'pkg/__init__.py,,\npkg-1.0.dist-info/METADATA,,\npkg-1.0.dist-info/WHEEL,,\npkg-1.0.dist-info/RECORD,,\n' >pkg-1.0.dist-info/RECORD &&
		$PYTHON -c 'import shutil; shutil.make_archive("../pkg-1.0-py3-none-any", "zip", ".")' && mv ../pkg-1.0-py3-none-any.zip ../pkg-1.0-py3-none-any.whl)
	run eval "box $flag -- sh -ec '$PYTHON -m venv v && v/bin/pip install -q --no-index --no-cache-dir ./pkg-1.0-py3-none-any.whl && v/bin/python -c \"import pkg; print(pkg.VALUE)\"'"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *41* ]]
	rm -rf v
	run box --preset packages -- $PYTHON -m venv v
	[ "$status" -eq 0 ]
}

@test "node: fs writes, child processes, worker threads" {
	need node
	cat >n.js <<-'JS'
		const fs = require('fs'), cp = require('child_process'), { Worker, isMainThread, parentPort } = require('worker_threads')
		fs.mkdirSync('n/m', { recursive: true })
		fs.writeFileSync('n/m/a', 'x')
		fs.renameSync('n/m/a', 'n/b')
		fs.appendFileSync('n/b', 'y')
		fs.copyFileSync('n/b', 'n/c')
		fs.rmSync('n/m', { recursive: true })
		for (const name of ['.env', 'n/k.key']) try { fs.writeFileSync(name, 'x'); console.log('escaped') } catch (e) { console.log(e.code) }
		fs.promises.writeFile('n/d', 'z').then(() => {
			console.log(cp.execFileSync('cat', ['n/d']).toString())
			const w = new Worker('require("worker_threads").parentPort.postMessage("thread")', { eval: true })
			w.on('message', console.log)
		})
	JS
	run box -- node n.js
	[ "$status" -eq 0 ]
	[ "$output" = "EACCES
EACCES
z
thread" ] || [[ $output == *EACCES*EACCES*z*thread* ]]
	[ "$(cat n/b)" = xy ]
	[ ! -e .env ]
}

@test "npm ci with a local package and one from a registry reached by name through the session's proxy" {
	need npm
	mkdir -p local pack/package app
	echo '{"name":"local","version":"1.0.0"}' >local/package.json
	echo 'module.exports = "local"' >local/index.js
	echo '{"name":"far","version":"1.2.3","main":"i.js"}' >pack/package/package.json
	echo 'module.exports = "far"' >pack/package/i.js
	tar czf "$BASE/far.tgz" -C pack package
	cat >"$BASE/registry.js" <<-'JS'
		const http = require('http'), fs = require('fs'), crypto = require('crypto')
		const data = fs.readFileSync(process.argv[2]), sum = 'sha512-' + crypto.createHash('sha512').update(data).digest('base64')
		const s = http.createServer((q, r) => {
			if (q.url.endsWith('.tgz')) return r.end(data)
			if (q.url !== '/far') { r.statusCode = 404; return r.end('{}') }
			const v = { name: 'far', version: '1.2.3', main: 'i.js', dist: { tarball: `http://${q.headers.host}/far/-/far-1.2.3.tgz`, integrity: sum } }
			r.setHeader('content-type', 'application/json')
			r.end(JSON.stringify({ name: 'far', 'dist-tags': { latest: '1.2.3' }, versions: { '1.2.3': v } }))
		}).listen(0, '127.0.0.1', () => console.log(s.address().port))
	JS
	serve node "$BASE/registry.js" "$BASE/far.tgz"
	echo '{"name":"app","version":"1.0.0","dependencies":{"local":"file:../local","far":"^1.0.0"}}' >app/package.json
	reach="--host registry.test=127.0.0.1 --allow-host registry.test:$PORT"
	npm="npm --registry http://registry.test:$PORT --no-audit --no-fund --no-update-notifier"
	run box $reach --workdir "$PWD/app" -- sh -ec "$npm install --silent; rm -rf node_modules; $npm ci; node -p 'require(\"far\") + require(\"local\")'"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *farlocal* ]]
	[ -e app/node_modules/far/i.js ]
	[ -e app/package-lock.json ]
	# without the flag the registry is not there, and the refusal names the host
	rm -rf app/node_modules
	run box --host registry.test=127.0.0.1 --workdir "$PWD/app" -- sh -c "timeout 20 $npm ci --fetch-retries=0"
	[[ $output == *registry.test* ]]
}

@test "NET-32 curl, python, java and wget reach an allowed host without being told how, and no other" {
	serve $PYTHON -u -c 'import http.server
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"reached")
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H); print(s.server_port, flush=True); s.serve_forever()'
	cat >G.java <<-'JAVA'
		import java.net.*; import java.net.http.*;
		public class G { public static void main(String[] a) throws Exception {
			var r = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString());
			System.out.println("java " + r.statusCode() + " " + r.body()); } }
	JAVA
	cat >clients.sh <<-'SH'
		curl -s -m 10 -w ' curl %{http_code}\n' "$1"
		/usr/bin/python3 -c 'import sys, urllib.request; print("python", urllib.request.urlopen(sys.argv[1], timeout=10).read())' "$1"
		! command -v wget >/dev/null || wget -q -T 10 -t 1 -O - "$1" && echo ' wget'
		! command -v java >/dev/null || timeout 40 java G.java "$1"
	SH
	run box --host app.test=127.0.0.1 --allow-host "app.test:$PORT" -- sh clients.sh "http://app.test:$PORT/"
	echo "$output"
	[[ $output == *"reached curl 200"* ]]
	[[ $output == *"python b'reached'"* ]]
	! command -v java >/dev/null || [[ $output == *"java 200 reached"* ]]
	run box --host app.test=127.0.0.1 -- sh clients.sh "http://app.test:$PORT/"
	[[ $output != *reached* ]] || {
		# a name with given addresses is consent for exactly those
		[[ $output == *"reached curl 200"* ]]
	}
	run box -- sh clients.sh "http://other.test:$PORT/"
	[[ $output != *reached* ]]
	[[ $output == *"curl 403"* ]]
}

@test "cargo new and an offline build" {
	cargo=$(command -v cargo) || skip "cargo is not installed"
	home=${cargo%/.cargo/bin/cargo}
	if [ "$home" != "$cargo" ]; then
		[ -r "$home/.rustup/settings.toml" ] || skip "cargo belongs to another user's home directory"
		export HOME=$home
	fi
	cargo --version >/dev/null 2>&1 || skip "cargo does not start here"
	run box -- sh -ec 'cargo new -q hello; cd hello; cargo build -q --offline; ./target/debug/hello; echo .env >note; cargo run -q --offline'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"Hello, world!"* ]]
	[ -d hello/.git ]
}

@test "headless Chromium opens a local page through the proxy" {
	[ -x /usr/bin/chromium ] || skip "chromium is not installed"
	mkdir "$BASE/site"
	echo '<title>t</title><p id=p>plain</p><script>document.getElementById("p").textContent = "scripted " + (20 + 22)</script>' >"$BASE/site/index.html"
	serve $PYTHON -u -c 'import http.server, functools, sys
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1]))
print(s.server_port, flush=True); s.serve_forever()' "$BASE/site"
	run box --host site.test=127.0.0.1 --allow-host "site.test:$PORT" -- timeout 60 /usr/bin/chromium --headless --no-sandbox --disable-gpu \
		--proxy-server=http://127.0.0.1:3128 --virtual-time-budget=2000 --dump-dom "http://site.test:$PORT/index.html"
	echo "$output" | tail -n 20
	[[ $output == *"scripted 42"* ]]
}

# An sshd of its own: own passwd, so that whoever runs the test can log in, and own keys.
start_sshd() {
	SSHD=${SSHD:-$(command -v sshd || echo /usr/sbin/sshd)}
	[ -x "$SSHD" ] || skip "openssh-server is not installed"
	mkdir -p "$BASE/ssh" "$BASE/ssh/empty"
	ssh-keygen -q -t ed25519 -N '' -f "$BASE/ssh/host"
	ssh-keygen -q -t ed25519 -N '' -f "$BASE/ssh/id"
	PORT=$($PYTHON -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	printf 'tester:x:%s:%s::%s:/bin/sh\nsshd:x:99:65534::/run/sshd:/bin/false\n' "$(id -u)" "$(id -g)" "$BASE/ssh" >"$BASE/ssh/passwd"
	[ "$(id -u)" != 0 ] || sed -i 's/^tester/root/' "$BASE/ssh/passwd"
	LOGIN=$(head -n 1 "$BASE/ssh/passwd" | cut -d: -f1)
	cat >"$BASE/ssh/config" <<-CONF
		Port $PORT
		ListenAddress 127.0.0.1
		HostKey $BASE/ssh/host
		AuthorizedKeysFile $BASE/ssh/id.pub
		PidFile none
		StrictModes no
		UsePAM no
		PermitRootLogin yes
		PasswordAuthentication no
	CONF
	bwrap --die-with-parent --dev-bind / / --tmpfs /run --dir /run/sshd --ro-bind "$BASE/ssh/passwd" /etc/passwd -- "$SSHD" -D -e -f "$BASE/ssh/config" 2>"$BASE/ssh/log" 3>&- &
	SERVER=$!
	for _ in $(seq 100); do grep -q 'listening on' "$BASE/ssh/log" && break; sleep 0.05; done
	echo "[git.test]:$PORT $(cut -d' ' -f1,2 "$BASE/ssh/host.pub")" >known
	cp "$BASE/ssh/id" login
	chmod 600 login
}

@test "git over ssh: clone, fetch and push by name through cc-connect; another name is refused" {
	start_sshd
	git init -q "$BASE/far"
	(cd "$BASE/far" && echo f >f && git add f && git commit -qm far && git config receive.denyCurrentBranch ignore)
	ssh="ssh -o ProxyCommand='/run/ccbox/cc-connect %h %p' -i $PWD/login -o UserKnownHostsFile=$PWD/known -o StrictHostKeyChecking=yes"
	run box --host git.test=127.0.0.1 --allow-host "git.test:$PORT" --env "GIT_SSH_COMMAND=$ssh" -- sh -ec "
		git clone -q ssh://$LOGIN@git.test:$PORT$BASE/far far
		cd far
		git fetch -q
		echo g >g
		git add g
		git commit -qm g
		git push -q origin HEAD:refs/heads/pushed
		git ls-remote origin"
	echo "$output"
	cat "$BASE/ssh/log"
	[ "$status" -eq 0 ]
	[[ $output == *refs/heads/pushed* ]]
	[ "$(git -C "$BASE/far" log -1 --format=%s pushed)" = g ]
	run box --host git.test=127.0.0.1 --env "GIT_SSH_COMMAND=$ssh" -- git ls-remote "ssh://$LOGIN@git.test:$((PORT == 1 ? 2 : 1))$BASE/far"
	[ "$status" -ne 0 ]
}

@test "ssh itself reaches the host by name through cc-connect, with an answer of both sizes" {
	start_sshd
	head -c 300000 /dev/urandom >in
	box --host git.test=127.0.0.1 --allow-host "git.test:$PORT" -- sh -c "ssh -o ProxyCommand='/run/ccbox/cc-connect %h %p' -p $PORT -i login -o UserKnownHostsFile=known -o StrictHostKeyChecking=yes $LOGIN@git.test cat" <in >out
	cmp in out
}

@test "an ssh-agent started inside holds a key, and its socket is reached" {
	command -v ssh-agent >/dev/null || skip "openssh-client is not installed"
	run box --timeout 60 -- bash -c '
		eval "$(ssh-agent -s)" >/dev/null
		ssh-keygen -q -t ed25519 -N "" -f "$HOME/id" && ssh-add -q "$HOME/id" && ssh-add -l
		ssh-agent -a "$PWD/agent.sock" >/dev/null && SSH_AUTH_SOCK=$PWD/agent.sock ssh-add -l'
	echo "$output"
	[[ $output == *ED25519* ]]
	[[ $output == *"no identities"* ]]
}

@test "PostgreSQL started inside is asked by its socket" {
	bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
	[ -n "$bin" ] || skip "postgresql is not installed"
	[ "$(id -u)" -ne 0 ] || skip "PostgreSQL does not run as root"
	run box --timeout 120 -- bash -c '
		'"$bin"'/initdb -D data -A trust -U me --no-sync >log 2>&1 || { cat log; exit 1; }
		'"$bin"'/pg_ctl -D data -o "-k $PWD -c listen_addresses= " -w start >log 2>&1 || { cat log data/log; exit 1; }
		'"$bin"'/psql -h "$PWD" -U me -d postgres -Atc "create table t(a int); insert into t values (42); select a from t"
		'"$bin"'/pg_ctl -D data -w stop >/dev/null'
	echo "$output"
	[[ $output == *42* ]]
	[ "$status" -eq 0 ]
}

@test "git over plain ssh, which knows of no proxy, goes by the name too; another name is refused" {
	start_sshd
	git init -q "$BASE/far"
	(cd "$BASE/far" && git commit -q --allow-empty -m far)
	ssh="ssh -i $PWD/login -o UserKnownHostsFile=$PWD/known -o StrictHostKeyChecking=yes"
	run box --transparent on --host git.test=127.0.0.1 --allow-host "git.test:$PORT" --env "GIT_SSH_COMMAND=$ssh" -- sh -c "
		git ls-remote ssh://$LOGIN@git.test:$PORT$BASE/far; git ls-remote ssh://$LOGIN@other.test:$PORT$BASE/far"
	echo "$output"
	[[ $output == *refs/heads/main* ]]
	[[ $output == *"refused network-outbound other.test (not-allowed)"* ]]
}
