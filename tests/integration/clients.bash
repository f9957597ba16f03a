# Shared by clients.bats and long_clients.bats: a TLS server on the host with a CA of its own, and the two ways of a client:
# with the proxy variables, and by itself. Each reaches up.test and not evil.test.
# shellcheck shell=bash
PYTHON=/usr/bin/python3

need() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

setup_more() {
	mkdir -p "$BASE/www" "$BASE/tls"
	echo "hello from up.test" >"$BASE/www/hello"
	(
		cd "$BASE/tls" || exit 1
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout ca.key -out ca.crt -subj /CN=test-ca \
			-addext basicConstraints=critical,CA:TRUE -addext keyUsage=keyCertSign,digitalSignature
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.csr -subj /CN=up.test
		printf 'subjectAltName=DNS:up.test,DNS:evil.test\nextendedKeyUsage=serverAuth\n' >ext
		openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out server.crt
	) >"$BASE/tls/log" 2>&1 || { cat "$BASE/tls/log" >&2; return 1; }
	cp "$BASE/tls/ca.crt" "$BASE/proj/ca.crt"
	serve "$PYTHON" "$BATS_TEST_DIRNAME/tls_server.py" "$BASE/www" "$BASE/tls/server.crt" "$BASE/tls/server.key"
}

# inside HOST SCRIPT : runs it in a session where $HOST, $PORT and $URL say where to go
inside() {
	run box --transparent on --timeout 120 --allow-host up.test --host up.test=127.0.0.1 --env "HOST=$1" --env "PORT=$PORT" \
		--env "URL=https://$1:$PORT" --env "CA=$BASE/proj/ca.crt" --env "SSL_CERT_FILE=$BASE/proj/ca.crt" \
		--env "REQUESTS_CA_BUNDLE=$BASE/proj/ca.crt" --env "CURL_CA_BUNDLE=$BASE/proj/ca.crt" -- bash -c "$2"
}

BARE='unset HTTP_PROXY http_proxy HTTPS_PROXY https_proxy ALL_PROXY all_proxy GRPC_PROXY FTP_PROXY JAVA_TOOL_OPTIONS NODE_USE_ENV_PROXY;'

# reaches MARK SCRIPT : through the proxies and without them, the allowed host only
reaches() {
	local way wrong=0
	for way in '' "$BARE"; do
		rm -rf out
		inside up.test "$way $2"
		if [ "$status" -ne 0 ] || [[ $output != *"$1"* ]]; then
			echo "allowed, ${way:+without }proxy variables: status $status: $output" >&2
			wrong=1
		fi
		rm -rf out
		inside evil.test "$way $2"
		if [ "$status" -eq 0 ] || [[ $output == *"$1"* ]] || ! saw_host evil.test; then
			echo "denied, ${way:+without }proxy variables: status $status: $output" >&2
			wrong=1
		fi
	done
	return "$wrong"
}

# a refusal of that host is in the books
saw_host() { violations | grep -q "\"action\":\"network-outbound\",\"target\":\"$1"; }
