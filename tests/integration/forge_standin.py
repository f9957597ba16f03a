"""A stand-in for the forges: the parts of the APIs of GitHub, GitLab and Gitea that make tokens and take them back, and
git's smart HTTP below them, over TLS with a certificate of the test's own. It keeps what it was asked and which tokens
live, checks what an App signs, and does wrong what a test tells it to."""
import base64
import http.server
import json
import os
import re
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse


def openssl(*args, **more):
    return subprocess.run(["openssl", *args], check=True, capture_output=True, **more).stdout


class Authority:
    """A certificate authority, and what it signs."""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.key, self.cert = f"{place}/{name}.key", f"{place}/{name}.pem"
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.key)
        openssl("req", "-x509", "-new", "-key", self.key, "-subj", f"/CN=CA {name}", "-days", "2", "-out", self.cert)

    def sign(self, host):
        stem = f"{self.place}/{self.name}-{host}"
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", stem + ".key")
        openssl("req", "-new", "-key", stem + ".key", "-subj", f"/CN={host}", "-out", stem + ".csr")
        with open(stem + ".ext", "w") as out:
            out.write(f"subjectAltName=DNS:{host}" + (",IP:127.0.0.1" if host == "localhost" else "") + "\n")
        openssl("x509", "-req", "-in", stem + ".csr", "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days",
                "2", "-extfile", stem + ".ext", "-out", stem + ".crt")
        return stem + ".crt", stem + ".key"


class Wrong:
    """What happens to some of the calls instead of the right thing."""

    def __init__(self, method, path, count=1, status=None, body=b"", headers=(), hold=None, late=None, change=None):
        self.method, self.path, self.count = method, re.compile(path), count
        self.status, self.body, self.headers, self.change = status, body, headers, change
        self.hold, self.late = hold, late  # before, or after it is done, the answer waits for an event


class Standin:
    APP = "4711"
    MAKER = "glpat-maker-of-tokens-0123456789"  # a token that may make GitLab's
    USER, PASSWORD = "robot", "pass-word-of-robot-0123456789"

    def __init__(self, place, authority, host="localhost", app_key=None):
        self.place = tempfile.mkdtemp(dir=place)
        self.lock = threading.Lock()
        self.calls, self.tokens, self.wrongs = [], {}, []
        self.skew, self.lifetime, self.serial = 0, 3600, 0
        self.repos = {}
        self.app_pub = self.place + "/app.pub"
        if app_key:
            openssl("rsa", "-in", app_key, "-pubout", "-out", self.app_pub)
        standin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def date_time_string(self, timestamp=None):
                return super().date_time_string(time.time() + standin.skew)

            def do_GET(self):
                standin.answer(self)

            do_POST = do_DELETE = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request, client_address):
                pass  # a client that hangs up is what some tests are about

        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.sign(host))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        # by number: by name, ::1 would come first, where a port of that number may be somebody else's
        self.host = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    # What a test looks at.
    def now(self):
        return time.time() + self.skew

    def alive(self, write=None):
        with self.lock:
            return [t for t in self.tokens.values() if t["alive"] and write in (None, t["write"])]

    def made(self, write=None):
        with self.lock:
            return [t for t in self.tokens.values() if write in (None, t["write"])]

    def count(self, method, path):
        with self.lock:
            return sum(1 for c in self.calls if c[0] == method and re.search(path, c[1]))

    def add_repo(self, name):
        path = f"{self.place}/{name.replace('/', '_')}.git"
        subprocess.run(["git", "init", "-q", "--bare", path], check=True)
        subprocess.run(["git", "-C", path, "config", "http.receivepack", "true"], check=True)
        self.repos[name] = path
        return path

    # Calls.
    def answer(self, request):
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length) if length else b""
        url = urllib.parse.urlsplit(request.path)
        wrong = None
        with self.lock:
            self.calls.append((request.command, request.path, dict(request.headers), len(body)))
            for w in self.wrongs:
                if w.count > 0 and w.method == request.command and w.path.search(request.path):
                    w.count -= 1
                    wrong = w
                    break
        if wrong and wrong.hold:
            wrong.hold.wait(120)
        if wrong and wrong.status:
            return self.send(request, wrong.status, wrong.body, headers=wrong.headers)
        status, said, *kind = self.route(request, url, body)
        if wrong and wrong.late:
            wrong.late.wait(120)
        if wrong and wrong.change:
            said = wrong.change(said)
        self.send(request, status, said, *kind)
        return None

    def send(self, request, status, body, kind="application/json", headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if status == 204:
            body = b""
        try:
            request.send_response(status)
            request.send_header("Content-Type", kind)
            request.send_header("Content-Length", str(len(body)))
            for name, value in headers:
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(body)
        except OSError:
            request.close_connection = True

    def route(self, request, url, body):
        for pattern, method, handle in (
            (r"^/api/v3/repos/([^/]+)/([^/]+)/installation$", "GET", self.hub_find),
            (r"^/api/v3/app/installations/(\d+)/access_tokens$", "POST", self.hub_make),
            (r"^/api/v3/installation/token$", "DELETE", self.hub_end),
            (r"^/api/v4/projects/([^/]+)/access_tokens$", "POST", self.lab_make),
            (r"^/api/v4/projects/([^/]+)/access_tokens/(\d+)$", "DELETE", self.lab_end),
            (r"^/api/v1/users/([^/]+)/tokens$", "POST", self.tea_make),
            (r"^/api/v1/users/([^/]+)/tokens/([^/]+)$", "DELETE", self.tea_end),
            (r"^/(.+)\.git/info/refs$", "GET", self.git_refs),
            (r"^/(.+)\.git/git-(receive|upload)-pack$", "POST", self.git_pack),
        ):
            found = re.match(pattern, url.path)
            if found and method == request.command:
                return handle(request, url, body, *found.groups())
        return 404, {"message": "Not Found"}

    def new_token(self, prefix, **more):
        with self.lock:
            self.serial += 1
            secret = prefix + base64.urlsafe_b64encode(os.urandom(24)).decode()
            token = dict(secret=secret, number=self.serial, alive=True, expires=self.now() + self.lifetime, **more)
            self.tokens[secret] = token
        return token

    # GitHub.
    def signed(self, request):
        """The App's word: its signature, who, and when."""
        scheme, _, word = request.headers.get("Authorization", "").partition(" ")
        parts = word.split(".")
        if scheme != "Bearer" or len(parts) != 3:
            return False
        head, claims, signature = (base64.urlsafe_b64decode(p + "=" * (-len(p) % 4)) for p in parts)
        with tempfile.NamedTemporaryFile(dir=self.place) as file:
            file.write(signature)
            file.flush()
            good = subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.app_pub, "-signature", file.name],
                                  input=f"{parts[0]}.{parts[1]}".encode(), capture_output=True).returncode == 0
        claims, now = json.loads(claims), self.now()
        return (good and json.loads(head) == {"alg": "RS256", "typ": "JWT"} and claims["iss"] == self.APP
                and claims["iat"] <= now + 5 and now < claims["exp"] <= now + 600
                and 0 < claims["exp"] - claims["iat"] <= 540)

    def hub_find(self, request, url, body, owner, name):
        if not self.signed(request):
            return 401, {"message": "A JSON web token could not be decoded"}
        return 200, {"id": 1000 + len(owner), "account": {"login": owner}}

    def hub_make(self, request, url, body, number):
        if not self.signed(request):
            return 401, {"message": "A JSON web token could not be decoded"}
        asked = json.loads(body)
        token = self.new_token("ghs_", repos=asked["repositories"], write=asked["permissions"]["contents"] == "write",
                               permissions=asked["permissions"])
        return 201, {"token": token["secret"], "permissions": asked["permissions"], "repository_selection": "selected",
                     "repositories": [{"name": n} for n in asked["repositories"]],
                     "expires_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(token["expires"]))}

    def hub_end(self, request, url, body):
        _, _, secret = request.headers.get("Authorization", "").partition(" ")
        return self.end(lambda t: t["secret"] == secret, 401)

    def end(self, which, missing):
        with self.lock:
            for token in self.tokens.values():
                if token["alive"] and which(token):
                    token["alive"] = False
                    return 204, b""
        return missing, {"message": "no such token"}

    # GitLab.
    def lab_make(self, request, url, body, project):
        if request.headers.get("PRIVATE-TOKEN") != self.MAKER:
            return 401, {"message": "401 Unauthorized"}
        asked = json.loads(body)
        token = self.new_token("glpat-", repos=[urllib.parse.unquote(project)], asked=asked,
                               write="write_repository" in asked["scopes"])
        return 201, {"id": token["number"], "token": token["secret"], "scopes": asked["scopes"],
                     "access_level": asked["access_level"], "expires_at": asked["expires_at"]}

    def lab_end(self, request, url, body, project, number):
        if request.headers.get("PRIVATE-TOKEN") != self.MAKER:
            return 401, {"message": "401 Unauthorized"}
        return self.end(lambda t: t["number"] == int(number) and t["repos"] == [urllib.parse.unquote(project)], 404)

    # Gitea.
    def basic(self, request):
        scheme, _, pair = request.headers.get("Authorization", "").partition(" ")
        return base64.b64decode(pair).decode() if scheme == "Basic" else ""

    def tea_make(self, request, url, body, user):
        if self.basic(request) != f"{self.USER}:{self.PASSWORD}" or user != self.USER:
            return 401, {"message": "auth required"}
        asked = json.loads(body)
        if any(t["asked"]["name"] == asked["name"] for t in self.made()):
            return 400, {"message": "access token name has been used already"}
        token = self.new_token("", repos=None, asked=asked, write="write:repository" in asked["scopes"])
        return 201, {"id": token["number"], "name": asked["name"], "sha1": token["secret"], "scopes": asked["scopes"]}

    def tea_end(self, request, url, body, user, name):
        if self.basic(request) != f"{self.USER}:{self.PASSWORD}" or user != self.USER:
            return 401, {"message": "auth required"}
        return self.end(lambda t: str(t["number"]) == name or t["asked"]["name"] == name, 404)

    # git.
    def may(self, request, repo, write):
        secret = self.basic(request).partition(":")[2]
        with self.lock:
            token = self.tokens.get(secret)
            if not token or not token["alive"] or token["expires"] < self.now():
                return 401
        names = token["repos"]
        if names is not None and repo not in names and repo.split("/")[-1] not in names:
            return 404
        return 403 if write and not token["write"] else 200

    def git_refs(self, request, url, body, repo):
        service = urllib.parse.parse_qs(url.query).get("service", [""])[0]
        if service not in ("git-receive-pack", "git-upload-pack"):
            return 403, b"no", "text/plain"
        status = self.may(request, repo, service == "git-receive-pack")
        if status != 200:
            return status, b"no", "text/plain"
        if repo not in self.repos:
            return 404, b"no", "text/plain"
        out = self.git(service, request, "--advertise-refs", self.repos[repo])
        line = f"# service={service}\n".encode()
        return 200, b"%04x%b0000" % (len(line) + 4, line) + out, f"application/x-{service}-advertisement"

    def git_pack(self, request, url, body, repo, what):
        status = self.may(request, repo, what == "receive")
        if status != 200:
            return status, b"no", "text/plain"
        out = self.git(f"git-{what}-pack", request, self.repos[repo], input=body)
        return 200, out, f"application/x-git-{what}-pack-result"

    def git(self, service, request, *args, input=b""):
        env = dict(os.environ, GIT_PROTOCOL=request.headers.get("Git-Protocol", ""), GIT_CONFIG_COUNT="1",
                   GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*")
        return subprocess.run(["git", service[4:], "--stateless-rpc", *args], input=input, env=env,
                              stdout=subprocess.PIPE, check=True).stdout
