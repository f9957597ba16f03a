"""Drives cc-forge as the daemon does, against stand-ins of forges. usage: forge.py BINARY SCENARIO"""
import array
import base64
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from forge_standin import Authority, Standin, Wrong, openssl

PLACE = os.environ["BASE"]
BINARY = sys.argv[1]
LONG = 60  # for whatever must come
EINVAL, EPOLICY, ENOTFOUND, ELIMIT, EPROTO, ESTATE, ETIMEOUT = 1, 2, 5, 6, 8, 9, 10


def until(condition, what):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def write(name, text, mode=0o600):
    path = f"{PLACE}/{name}"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as out:
        out.write(text)
    os.chmod(path, mode)
    return path


class World:
    """An authority, the App's key, the files of secrets."""

    def __init__(self):
        self.authority = Authority(PLACE, "right")
        self.app_key = f"{PLACE}/app.key"
        openssl("genrsa", "-out", self.app_key, "2048")
        os.chmod(self.app_key, 0o600)
        self.data = f"{PLACE}/data"
        os.makedirs(self.data, exist_ok=True)
        self.personal = "ghp_personalToken0123456789abcdefghij"
        write("maker", Standin.MAKER + "\n")
        write("password", Standin.PASSWORD + "\n")
        write("personal", self.personal + "\n")
        with open(self.app_key) as key:
            middle = key.read().split("\n")[5]
        self.secrets = [Standin.MAKER, Standin.PASSWORD, self.personal, middle]

    def standin(self, **more):
        return Standin(PLACE, more.pop("authority", self.authority), app_key=self.app_key, **more)

    def hub(self, standin, **more):
        return {"kind": "github", "host": standin.host, "appId": Standin.APP, "keyFile": self.app_key,
                "caFile": self.authority.cert, **more}

    def lab(self, standin, **more):
        return {"kind": "gitlab", "host": standin.host, "tokenFile": f"{PLACE}/maker", "caFile": self.authority.cert, **more}

    def tea(self, standin, **more):
        return {"kind": "gitea", "host": standin.host, "user": Standin.USER, "passwordFile": f"{PLACE}/password",
                "caFile": self.authority.cert, **more}

    def journal(self):
        place = self.data + "/forge"
        return sorted(os.listdir(place)) if os.path.isdir(place) else []


class Forge:
    def __init__(self, world, forges, env=None, **more):
        self.world, self.said, self.id = world, [], 0
        self.errors = tempfile.TemporaryFile(dir=PLACE)
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.child = subprocess.Popen([BINARY, str(theirs.fileno()), "1024"], pass_fds=[theirs.fileno()],
                                      stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors, cwd="/",
                                      env=env or {"PATH": "/usr/bin:/bin"})
        theirs.close()
        memory = os.memfd_create("start")
        os.write(memory, json.dumps({"dataDir": world.data, "forges": forges, **more}).encode())
        os.lseek(memory, 0, os.SEEK_SET)
        self.send({"m": "start"}, [memory])
        os.close(memory)

    def send(self, message, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.sock.sendmsg([json.dumps(message).encode()], rights)

    def ask(self, kind, fds=(), **more):
        self.id += 1
        self.send({"m": kind, "id": self.id, **more}, fds)
        return self.id

    def hear(self, id=None):
        """The next message, or the one with that id; those that came before it wait."""
        end = time.monotonic() + LONG
        while True:
            for i, m in enumerate(self.said):
                if id is None or m.get("id") == id:
                    return self.said.pop(i)
            assert select.select([self.sock], [], [], max(0, end - time.monotonic()))[0], "no answer"
            text = self.sock.recv(1 << 17)
            assert text, "cc-forge is gone"
            message = json.loads(text)
            if message["m"] != "minted":
                self.clean(text.decode())
            self.said.append(message)

    def clean(self, text):
        for secret in self.world.secrets:
            assert secret not in text, "a secret is told"

    def ready(self):
        m = self.hear()
        assert m["m"] == "ready", m
        return m

    def mint(self, run, *repos):
        m = self.hear(self.ask("mint", run=run, repos=list(repos)))
        if m["m"] == "minted":
            assert m["env"] or m["git"]
        return m

    def revoke(self, run):
        m = self.hear(self.ask("revoke", run=run))
        assert m["m"] == "revoked", m
        return m["failed"]

    def advertise(self, run, repo, **more):
        ours, theirs = os.pipe()
        id = self.ask("advertise", [theirs], run=run, repo=repo, **more)
        os.close(theirs)
        return id, ours

    def receive(self, run, repo, body, **more):
        ours, theirs = os.pipe()
        id = self.ask("receive", [body, theirs], run=run, repo=repo, **more)
        os.close(theirs)
        return id, ours

    def whole(self, id, stream):
        with os.fdopen(stream, "rb") as file:
            body = file.read()
        return self.hear(id), body

    def close(self):
        self.sock.close()
        code = self.child.wait(LONG)
        self.errors.seek(0)
        text = self.errors.read().decode()
        self.clean(text)
        return code

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait(LONG)
        self.sock.close()


def failed(m, code, *words):
    assert m["m"] == "failed", m
    assert m["code"] == code, m
    for word in words:
        assert word in m["text"], m
    return m


def secret_of(m):
    return m["env"][0].split("=", 1)[1]


def one_hub(w):
    """A stand-in with a GitHub App, and a helper that is ready for it."""
    s = w.standin()
    f = Forge(w, [w.hub(s)])
    f.ready()
    return s, f


def taken_back(w, s, f):
    """The run is over: its tokens are dead, the journal has none of them, and the helper ends well."""
    assert f.revoke("run") == 0
    assert not s.alive()
    assert w.journal() == []
    assert f.close() == 0


def mint_github(w):
    s = w.standin()
    s.host = f"localhost:{s.port}"  # this once a name is looked up
    f = Forge(w, [w.hub(s)])
    assert f.ready() == {"m": "ready", "hosts": [s.host], "left": 0}
    m = f.mint("run-1", f"{s.host}/owner/one", f"{s.host}/owner/two", f"{s.host}/Owner/one")
    assert m["m"] == "minted", m
    token, = s.made()
    assert token["repos"] == ["one", "two"], token
    assert token["permissions"] == {"contents": "read", "metadata": "read"}, token
    assert m["env"] == [f"GH_ENTERPRISE_TOKEN={token['secret']}", f"GITHUB_ENTERPRISE_TOKEN={token['secret']}",
                        f"GH_HOST={s.host}"], m
    basic = base64.b64encode(f"x-access-token:{token['secret']}".encode()).decode()
    assert m["git"] == [[f"http.https://{s.host}/.extraHeader", f"Authorization: Basic {basic}"]], m
    assert m["advisory"] is False
    assert m["notes"] == []
    assert abs(m["expiresAt"] - token["expires"]) < 2
    assert len(w.journal()) == 1
    assert os.stat(w.data + "/forge").st_mode & 0o7777 == 0o700
    assert os.stat(w.data + "/forge/" + w.journal()[0]).st_mode & 0o7777 == 0o600
    assert f.revoke("run-1") == 0
    assert not s.alive()
    assert w.journal() == []
    assert f.revoke("run-1") == 0
    assert f.close() == 0
    assert s.count("DELETE", "token") == 1


def owners(w):
    """A token of an App reaches one owner's repositories: each has its own, and git knows which is whose."""
    s, f = one_hub(w)
    m = f.mint("run", f"{s.host}/first/one", f"{s.host}/second/two")
    assert [g[0] for g in m["git"]] == [f"http.https://{s.host}/first/.extraHeader", f"http.https://{s.host}/second/.extraHeader"], m
    assert m["git"][0][1] != m["git"][1][1]
    assert len(m["notes"]) == 1
    assert len(s.alive()) == 2
    assert f.revoke("run") == 0
    assert not s.alive()
    assert f.close() == 0


def mint_gitlab(w):
    s = w.standin()
    f = Forge(w, [w.lab(s)])
    f.ready()
    m = f.mint("run", f"{s.host}/group/sub/one", f"{s.host}/group/two")
    first, second = s.made()
    assert first["repos"] == ["group/sub/one"], first
    assert first["asked"]["scopes"] == ["read_repository"]
    assert first["asked"]["access_level"] == 20
    day = time.strptime(first["asked"]["expires_at"], "%Y-%m-%d")
    ahead = __import__("calendar").timegm(day) - time.time()
    assert 11 * 3600 < ahead <= 36 * 3600, ahead
    assert m["env"] == [f"GITLAB_TOKEN={first['secret']}", f"GITLAB_HOST=https://{s.host}"], m
    assert [g[0] for g in m["git"]] == [f"http.https://{s.host}/group/{name}.extraHeader"
                                       for name in ("sub/one", "sub/one.git", "two", "two.git")], m
    assert m["advisory"] is False
    # the journal needs no secret to take these back
    for name in w.journal():
        with open(f"{w.data}/forge/{name}") as entry:
            text = entry.read()
        assert first["secret"] not in text
        assert second["secret"] not in text
    taken_back(w, s, f)


def mint_gitea(w):
    s = w.standin()
    f = Forge(w, [w.tea(s)])
    f.ready()
    m = f.mint("run", f"{s.host}/owner/one", f"{s.host}/other/two")
    token, = s.made()
    assert token["asked"]["scopes"] == ["read:repository"]
    assert m["env"] == [f"GITEA_TOKEN={token['secret']}"], m
    assert m["advisory"] is False
    assert "everything that its user can" in m["notes"][0]
    assert "expiresAt" not in m
    failed(f.mint("run", f"{s.host}/group/sub/one"), EINVAL)
    assert f.revoke("run") == 0
    assert not s.alive()
    assert f.close() == 0


def personal(w):
    s, t = w.standin(), w.standin()
    f = Forge(w, [{"kind": "token", "host": s.host, "tokenFile": f"{PLACE}/personal", "forge": "github", "caFile": w.authority.cert},
                  {"kind": "gitea", "host": t.host, "tokenFile": f"{PLACE}/personal", "caFile": w.authority.cert}])
    f.ready()
    m = f.mint("run", f"{s.host}/owner/one")
    assert m["advisory"] is True
    assert "advisory" in m["notes"][0]
    assert secret_of(m) == w.personal
    m = f.mint("run", f"{t.host}/owner/one")
    assert m["advisory"] is True
    assert m["env"] == [f"GITEA_TOKEN={w.personal}"], m
    assert w.journal() == []
    assert f.revoke("run") == 0
    assert s.calls + t.calls == []
    assert f.close() == 0


def git_reads(w):
    """git inside has nothing but the settings: it fetches with them, and does not push."""
    for forge in (w.hub, w.lab, w.tea):
        s = w.standin()
        bare = s.add_repo("owner/one")
        work = tempfile.mkdtemp(dir=PLACE)
        for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"], ["push", "-q", bare, "HEAD:refs/heads/main"]):
            subprocess.run(["git", "-C", work, *args], check=True)
        f = Forge(w, [forge(s)])
        f.ready()
        m = f.mint("run", f"{s.host}/owner/one")
        settings = m["git"]
        env = dict(os.environ, GIT_CONFIG_COUNT=str(len(settings)), GIT_TERMINAL_PROMPT="0",
                   GIT_SSL_CAINFO=w.authority.cert, no_proxy="127.0.0.1")
        for i, (key, value) in enumerate(settings):
            env.update({f"GIT_CONFIG_KEY_{i}": key, f"GIT_CONFIG_VALUE_{i}": value})
        url = f"https://{s.host}/owner/one.git"
        out = subprocess.run(["git", "ls-remote", url], env=env, check=True, stdout=subprocess.PIPE, text=True).stdout
        assert "refs/heads/main" in out
        push = subprocess.run(["git", "-C", work, "push", url, "HEAD:refs/heads/more"], env=env, capture_output=True)
        assert push.returncode != 0
        assert f.revoke("run") == 0
        again = subprocess.run(["git", "ls-remote", url], env=env, capture_output=True)
        assert again.returncode != 0
        assert f.close() == 0


def crash(w):
    s, t = w.standin(), w.standin()
    f = Forge(w, [w.hub(s), w.lab(t)])
    f.ready()
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    assert f.mint("run", f"{t.host}/owner/one")["m"] == "minted"
    f.kill()
    assert len(s.alive() + t.alive()) == 2
    assert len(w.journal()) == 2
    f = Forge(w, [w.hub(s), w.lab(t)])
    assert f.ready()["left"] == 0
    assert not s.alive() + t.alive()
    assert w.journal() == []
    assert f.close() == 0


def crash_unreachable(w):
    """What a crash left stays known while its forge refuses, or is not configured."""
    s, t = w.standin(), w.standin()
    f = Forge(w, [w.hub(s), w.lab(t)])
    f.ready()
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    assert f.mint("run", f"{t.host}/owner/one")["m"] == "minted"
    f.kill()
    s.wrongs.append(Wrong("DELETE", "token", count=1000, status=403, body=b"{}"))
    f = Forge(w, [w.hub(s)])
    assert f.ready()["left"] == 2
    assert f.close() == 0
    assert len(w.journal()) == 2
    s.wrongs.clear()
    f = Forge(w, [w.hub(s), w.lab(t)])
    assert f.ready()["left"] == 0
    assert not s.alive() + t.alive()
    assert f.close() == 0


def refusal(w):
    s, f = one_hub(w)
    told = "ghs_" + "a1B2" * 9
    w.secrets.append(told)
    body = json.dumps({"message": f"Resource not accessible by integration {told}\n\x1b[31m"}).encode()
    s.wrongs.append(Wrong("POST", "access_tokens", status=403, body=body))
    failed(f.mint("run", f"{s.host}/owner/one"), EPOLICY, "owner/one", "403", "Resource not accessible by integration [...]")
    assert s.count("POST", "access_tokens") == 1
    s.wrongs.append(Wrong("GET", "installation", status=404, body=b'{"message":"Not Found"}'))
    failed(f.mint("run", f"{s.host}/owner/one"), ENOTFOUND, "404")
    s.wrongs.append(Wrong("GET", "installation", status=401, body=b"<html>" + told.encode() + b"</html>"))
    failed(f.mint("run", f"{s.host}/owner/one"), EPOLICY, "401")
    assert s.made() == []
    assert w.journal() == []
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    assert f.close() == 0
    assert not s.alive()


def all_or_none(w):
    s = w.standin()
    f = Forge(w, [w.lab(s)])
    f.ready()
    s.wrongs.append(Wrong("POST", "two/access_tokens", status=403, body=b"{}"))
    failed(f.mint("run", f"{s.host}/owner/one", f"{s.host}/owner/two"), EPOLICY, "owner/two")
    assert len(s.made()) == 1
    assert not s.alive()
    assert w.journal() == []
    assert f.close() == 0


def too_much(w):
    """Tokens that together do not fit into one answer are not handed out in part."""
    s = w.standin()
    f = Forge(w, [w.lab(s)])
    f.ready()
    s.wrongs.append(Wrong("POST", "access_tokens", count=16, change=lambda said: {**said, "token": "x" * 2000}))
    failed(f.mint("run", *[f"{s.host}/owner/r{i}" for i in range(16)]), ELIMIT)
    assert len(s.made()) == 16
    assert not s.alive()
    assert w.journal() == []
    # as many of the usual length do
    assert len(f.mint("run", *[f"{s.host}/owner/r{i}" for i in range(16)])["git"]) == 32
    assert f.close() == 0
    assert not s.alive()


def wider(w):
    """A token that can do more than was asked for is not handed on, and taken back."""
    s, t, u = w.standin(), w.standin(), w.standin()
    f = Forge(w, [w.hub(s), w.lab(t), w.tea(u)])
    f.ready()

    def with_(**more):
        return lambda said: {**said, **more}

    for standin, changes in (
        (s, [with_(permissions={"contents": "write", "metadata": "read"}),
             with_(permissions={"contents": "read", "metadata": "read", "workflows": "read"}),
             with_(permissions=None), with_(permissions={"metadata": "read"}), with_(repository_selection="all"),
             with_(repositories=[{"name": "one"}, {"name": "two"}]), with_(expires_at="2001-01-01T00:00:00Z"),
             with_(expires_at="soon"), with_(expires_at=5)]),
        (t, [with_(scopes=["api"]), with_(scopes=["read_repository", "write_repository"]), with_(access_level=40),
             with_(scopes=[]), with_(scopes=None), with_(scopes=[{}])]),
        (u, [with_(scopes=["all"]), with_(scopes=None)]),
    ):
        for change in changes:
            standin.wrongs.append(Wrong("POST", "tokens", change=change))
            m = f.mint("run", f"{standin.host}/owner/one")
            assert m["m"] == "failed", m
            assert not standin.alive(), m
        assert len(standin.made()) == len(changes)
    assert w.journal() == []
    assert f.close() == 0


def renewal(w):
    s = w.standin()
    s.add_repo("owner/one")
    f = Forge(w, [w.hub(s)])
    f.ready()
    repo = f"{s.host}/owner/one"
    for lifetime, calls, made in ((3600, 3, 1), (200, 2, 3)):
        s.lifetime = lifetime
        if lifetime == 200:
            for token in s.made():
                token["alive"] = False  # the forge ended it early: another is made for this call, and for the next, which is nearly over
        for _ in range(calls):
            m, body = f.whole(*f.advertise("run", repo))
            assert m["m"] == "done", m
            assert m["status"] == 200, m
            assert body.startswith(b"001f# service=git-receive-pack")
        assert len(s.made(write=True)) == made, len(s.made())
    for token in s.made():
        assert token["permissions"] == {"contents": "write", "metadata": "read"}
        assert token["repos"] == ["one"]
    taken_back(w, s, f)


def revoke_fails(w):
    s, f = one_hub(w)
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    s.wrongs.append(Wrong("DELETE", "token", count=1000, status=500, body=b"{}"))
    assert f.revoke("run") == 1
    assert s.count("DELETE", "token") == 4
    assert len(w.journal()) == 1
    # the run may have a new token, and the end tries once more
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    s.wrongs.clear()
    assert f.close() == 0
    assert not s.alive()
    assert w.journal() == []


def end_bounded(w):
    """A forge that does not answer at the end holds nothing up: the journal keeps what is left."""
    s = w.standin()
    f = Forge(w, [w.hub(s)], timeoutMs=5000)
    f.ready()
    hold = threading.Event()
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    s.wrongs.append(Wrong("DELETE", "token", count=1000, status=500, body=b"{}", hold=hold))
    assert f.close() == 0
    assert len(w.journal()) == 1
    hold.set()
    s.wrongs.clear()
    f = Forge(w, [w.hub(s)])
    assert f.ready()["left"] == 0
    assert not s.alive()
    assert f.close() == 0


def retries(w):
    s, f = one_hub(w)
    s.wrongs.append(Wrong("GET", "installation", count=2, status=503, body=b"<html>busy</html>"))
    s.wrongs.append(Wrong("POST", "access_tokens", status=429, body=b"{}", headers=[("Retry-After", "1")]))
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    assert s.count("GET", "installation$") == 3
    assert s.count("POST", "access_tokens") == 2
    # longer than that is not waited
    s.wrongs.append(Wrong("POST", "access_tokens", status=429, body=b"{}", headers=[("Retry-After", "3600")]))
    failed(f.mint("run", f"{s.host}/owner/one"), ELIMIT, "429")
    assert s.count("POST", "access_tokens") == 3
    s.wrongs.append(Wrong("GET", "installation", count=1000, status=502, body=b""))
    failed(f.mint("run", f"{s.host}/owner/one"), EPROTO, "502")
    s.wrongs.clear()
    assert f.close() == 0
    assert not s.alive()


def nobody_there(w):
    s = w.standin()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))  # bound, and nobody listens
        f = Forge(w, [w.tea(s, host=f"127.0.0.1:{other.getsockname()[1]}")])
        f.ready()
        failed(f.mint("run", f"127.0.0.1:{other.getsockname()[1]}/owner/one"), EPROTO, "cannot be asked")
        assert w.journal() == []
        assert f.close() == 0


def slow(w):
    s = w.standin()
    f = Forge(w, [w.hub(s)], timeoutMs=5000)
    f.ready()
    hold = threading.Event()
    s.wrongs.append(Wrong("POST", "access_tokens", hold=hold))
    failed(f.mint("run", f"{s.host}/owner/one"), ETIMEOUT, "does not answer")
    assert s.count("POST", "access_tokens") == 1
    hold.set()
    assert f.close() == 0


def lost_answer(w):
    """Gitea's tokens never end: one whose answer was lost is found by its name."""
    s = w.standin()
    f = Forge(w, [w.tea(s)], timeoutMs=5000)
    f.ready()
    late = threading.Event()
    s.wrongs.append(Wrong("POST", "tokens", late=late))
    failed(f.mint("run", f"{s.host}/owner/one"), ETIMEOUT)
    late.set()
    assert len(s.made()) == 1
    assert not s.alive()
    # a helper that is killed while it waits
    late = threading.Event()
    s.wrongs.append(Wrong("POST", "tokens", late=late))
    f.ask("mint", run="run", repos=[f"{s.host}/owner/one"])
    until(lambda: len(s.alive()) == 1, "it is made")
    f.kill()
    late.set()
    s.wrongs.append(Wrong("POST", "tokens", count=3, change=lambda said: {**said, "sha1": ""}))
    f = Forge(w, [w.tea(s)])
    assert f.ready()["left"] == 0
    assert not s.alive()
    # there is one, but it cannot be read
    failed(f.mint("run", f"{s.host}/owner/one"), EPROTO)
    assert not s.alive()
    assert w.journal() == []
    assert f.close() == 0


def side_by_side(w):
    """One forge that does not answer holds up none of the others' runs."""
    s, t = w.standin(), w.standin()
    f = Forge(w, [w.hub(s), w.hub(t)], timeoutMs=60000)
    f.ready()
    hold = threading.Event()
    s.wrongs.append(Wrong("GET", "installation", count=8, hold=hold))
    waiting = [f.ask("mint", run=f"run-{i}", repos=[f"{s.host}/owner/one"]) for i in range(8)]
    until(lambda: s.count("GET", "installation") == 8, "all eight are under way")
    assert f.mint("other", f"{t.host}/owner/one")["m"] == "minted"
    assert f.revoke("other") == 0
    hold.set()
    for id in waiting:
        assert f.hear(id)["m"] == "minted"
    assert len(s.alive()) == 8
    assert f.close() == 0
    assert not s.alive()


def malformed(w):
    s, f = one_hub(w)
    good = {"token": "ghs_" + "x" * 36, "permissions": {"contents": "read", "metadata": "read"},
            "repository_selection": "selected", "expires_at": "2099-01-01T00:00:00Z"}
    w.secrets.append(good["token"])
    for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 5000, b'{"token":5}', b'{"token":""}', b'{"token":null}',
                 json.dumps({**good, "token": "a\nb"}).encode(), json.dumps({**good, "token": "a b"}).encode(),
                 json.dumps({**good, "token": "x" * 9000}).encode(), b'{"token":"' + good["token"].encode() + b'"',
                 json.dumps({**good, "more": "y" * 300000}).encode()):
        s.wrongs.append(Wrong("POST", "access_tokens", status=201, body=body))
        m = f.mint("run", f"{s.host}/owner/one")
        assert m["m"] == "failed", (body[:60], m)
        assert m["code"] in (EPROTO, ELIMIT), m
    for body in (b"{}", b'{"id":"1"}', b'{"id":-1}', b'{"id":1.5}', b"5", b"x"):
        s.wrongs.append(Wrong("GET", "installation", status=200, body=body))
        failed(f.mint("run", f"{s.host}/owner/one"), EPROTO)
    assert w.journal() == []
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    assert f.close() == 0


def redirect(w):
    s, t = w.standin(), w.standin()
    s.add_repo("owner/one")
    f = Forge(w, [w.hub(s)])
    f.ready()
    away = [("Location", f"https://{t.host}/away")]
    for status in (301, 302, 307, 308):
        s.wrongs.append(Wrong("GET", "installation", status=status, headers=away))
        failed(f.mint("run", f"{s.host}/owner/one"), EPROTO, "redirect")
        s.wrongs.append(Wrong("GET", "info/refs", status=status, headers=away, body=b"elsewhere"))
        m, body = f.whole(*f.advertise("run", f"{s.host}/owner/one"))
        assert m["status"] == status, m
        assert body == b""
    assert t.calls == []
    assert f.close() == 0


def certificates(w):
    other = Authority(PLACE, "other")
    s, t, u = w.standin(authority=other), w.standin(host="elsewhere.test"), w.standin()
    # signed by another, for another host, and signed by one that only the test knows
    f = Forge(w, [w.hub(s), w.hub(t), {k: v for k, v in w.hub(u).items() if k != "caFile"}])
    f.ready()
    for standin in (s, t, u):
        failed(f.mint("run", f"{standin.host}/owner/one"), EPOLICY, "not trusted")
        assert standin.calls == []
    assert f.close() == 0


def environment(w):
    s = w.standin()
    nowhere, keys = "http://127.0.0.1:1", f"{PLACE}/keys"
    f = Forge(w, [w.hub(s)], env={"https_proxy": nowhere, "HTTPS_PROXY": nowhere, "ALL_PROXY": nowhere, "all_proxy": nowhere,
                                  "SSLKEYLOGFILE": keys, "SSL_CERT_FILE": "/dev/null", "OPENSSL_CONF": "/nowhere"})
    f.ready()
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    assert not os.path.exists(keys)
    assert f.close() == 0


def skew(w):
    for ahead in (7200, -7200):
        s = w.standin()
        s.skew = ahead
        f = Forge(w, [w.hub(s)])
        f.ready()
        assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
        assert s.count("GET", "installation$") == 2
        assert f.mint("run", f"{s.host}/owner/two")["m"] == "minted"
        assert s.count("GET", "installation$") == 3
        assert f.revoke("run") == 0
        assert not s.alive()
        assert f.close() == 0


def secrecy(w):
    s = w.standin()
    f = Forge(w, [w.hub(s), w.lab(w.standin()), w.tea(w.standin())])
    f.ready()
    m = f.mint("run", f"{s.host}/owner/one")
    w.secrets.append(secret_of(m))
    place = f"/proc/{f.child.pid}"
    with open(place + "/cmdline") as file:
        f.clean(file.read())
    with open(place + "/limits") as file:
        core = [line.split()[4:6] for line in file if line.startswith("Max core file size")]
    assert core == [["0", "0"]], core
    with open(place + "/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    assert int(status["CapEff"], 16) == 0
    assert int(status["CapPrm"], 16) == 0
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Seccomp"].strip() == "2"
    # not dumpable: what is inside belongs to root, and to nobody else
    assert os.stat(place + "/mem").st_uid == 0
    if os.getuid() == 0:
        with open(place + "/environ") as file:
            f.clean(file.read())
    else:
        for name in ("environ", "mem", "maps"):
            try:
                open(f"{place}/{name}").close()
                raise AssertionError(name + " can be read")
            except PermissionError:
                pass
    # on disk: in the journal and nowhere else
    found = subprocess.run(["grep", "-rlF", secret_of(m), w.data], capture_output=True, text=True).stdout.split()
    assert found == [f"{w.data}/forge/{w.journal()[0]}"], found
    failed(f.mint("run", f"{s.host}/owner/..", ), EINVAL)
    assert f.revoke("run") == 0
    assert subprocess.run(["grep", "-rqF", secret_of(m), w.data]).returncode == 1
    assert f.close() == 0


def pkt(line):
    return b"%04x" % (len(line) + 4) + line


def push_request(work, blob):
    """What git would send to make a branch: one command, a flush, a pack."""
    with open(work + "/file", "wb") as out:
        out.write(blob)
    for args in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", work, *args], check=True)
    head = subprocess.run(["git", "-C", work, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    path = work + ".request"
    with open(path, "wb") as out:
        out.write(pkt(b"0" * 40 + b" " + head.encode() + b" refs/heads/made\0report-status") + b"0000")
        out.flush()
        subprocess.run(["git", "-C", work, "pack-objects", "--revs", "--stdout", "-q"], input=head.encode(), stdout=out, check=True)
    return head, path


def push(w):
    for forge in (w.hub, w.lab, w.tea):
        s = w.standin()
        bare = s.add_repo("owner/one")
        f = Forge(w, [forge(s)])
        f.ready()
        repo = f"{s.host}/owner/one"
        m, body = f.whole(*f.advertise("run", repo, protocol="version=1"))
        assert (m["m"], m["status"], m["contentType"]) == ("done", 200, "application/x-git-receive-pack-advertisement"), m
        assert b"version 1" in body
        head, path = push_request(tempfile.mkdtemp(dir=PLACE), os.urandom(8 << 20))
        request = os.open(path, os.O_RDONLY)
        os.lseek(request, 100, os.SEEK_SET)  # it is read from its beginning all the same
        m, body = f.whole(*f.receive("run", repo, request))
        os.close(request)
        assert (m["m"], m["status"], m["contentType"]) == ("done", 200, "application/x-git-receive-pack-result"), m
        assert b"unpack ok" in body
        assert b"ok refs/heads/made" in body
        made = subprocess.run(["git", "-C", bare, "-c", "safe.directory=*", "rev-parse", "refs/heads/made"], capture_output=True, text=True).stdout.strip()
        assert made == head
        assert len(s.made(write=True)) == 1
        with open(f"/proc/{f.child.pid}/status") as file:
            peak = [int(line.split()[1]) for line in file if line.startswith("VmHWM")]
        with open(f"/proc/{f.child.pid}/status") as file:
            anon = [int(line.split()[1]) for line in file if line.startswith("RssAnon")]
        assert anon[0] < 8 << 10, (anon, peak)
        sent = [c for c in s.calls if c[0] == "POST" and c[1].endswith("git-receive-pack")][0][2]
        assert sent["Content-Type"] == "application/x-git-receive-pack-request"
        assert int(sent["Content-Length"]) == os.path.getsize(path)
        assert "Transfer-Encoding" not in sent
        assert "Content-Encoding" not in sent
        # what is not asked for in this form is not sent
        pipe = os.pipe()
        m, _ = f.whole(*f.receive("run", repo, pipe[0]))
        failed(m, EPROTO, "no file")
        assert f.revoke("run") == 0
        assert not s.alive()
        assert f.close() == 0


def personal_push(w):
    s = w.standin()
    s.add_repo("owner/one")
    s.tokens[w.personal] = dict(secret=w.personal, number=1, alive=True, expires=time.time() + 3600, repos=None, write=True)
    f = Forge(w, [{"kind": "token", "host": s.host, "tokenFile": f"{PLACE}/personal", "caFile": w.authority.cert}])
    f.ready()
    m, body = f.whole(*f.advertise("run", f"{s.host}/owner/one"))
    assert m["status"] == 200, m
    s.tokens[w.personal]["alive"] = False
    m, body = f.whole(*f.advertise("run", f"{s.host}/owner/one"))
    assert m["status"] == 401, m
    assert s.count("GET", "info/refs") == 2
    assert body == b""
    assert f.close() == 0


def broken_off(w):
    """A run's revoke ends what is still under way for it, whatever the forge or the reader does."""
    s = w.standin()
    s.add_repo("owner/one")
    f = Forge(w, [w.hub(s)])
    f.ready()
    hold = threading.Event()
    s.wrongs.append(Wrong("GET", "info/refs", hold=hold))
    id, stream = f.advertise("run", f"{s.host}/owner/one")
    until(lambda: s.count("GET", "info/refs") == 1, "the call is under way")
    s.wrongs.append(Wrong("GET", "other/installation", hold=hold))
    minting = f.ask("mint", run="run", repos=[f"{s.host}/owner/other"])
    until(lambda: s.count("GET", "other/installation") == 1, "the mint is under way")
    assert f.revoke("run") == 0
    failed(f.hear(id), ESTATE, "over")
    failed(f.hear(minting), ESTATE, "over")
    assert os.read(stream, 1) == b""
    os.close(stream)
    assert not s.alive()
    assert w.journal() == []
    hold.set()
    # nobody reads
    head, path = push_request(tempfile.mkdtemp(dir=PLACE), b"x")
    s.wrongs.append(Wrong("GET", "info/refs", status=200, body=b"x" * (4 << 20)))
    id, stream = f.advertise("run", f"{s.host}/owner/one")
    until(lambda: s.count("GET", "info/refs") == 2, "it comes")
    m = f.hear(id)
    assert m["m"] == "done" and m["status"] == 200, m
    assert f.revoke("run") == 0
    got = b"x"
    while got:  # what it holds, then the end, though there was more
        got = os.read(stream, 1 << 20)
    os.close(stream)
    # the reader goes away
    s.wrongs.append(Wrong("GET", "info/refs", status=200, body=b"x" * (4 << 20)))
    id, stream = f.advertise("run", f"{s.host}/owner/one")
    os.close(stream)
    m = f.hear(id)
    assert m["m"] == "done" and m["status"] == 200, m
    assert f.close() == 0
    assert not s.alive()


def at_the_end(w):
    s, t = w.standin(), w.standin()
    f = Forge(w, [w.hub(s), w.lab(t)])
    f.ready()
    for i in range(3):
        assert f.mint(f"run-{i}", f"{s.host}/owner/one")["m"] == "minted"
        assert f.mint(f"run-{i}", f"{t.host}/owner/one")["m"] == "minted"
    assert len(w.journal()) == 6
    assert f.close() == 0
    assert not s.alive() + t.alive()
    assert w.journal() == []


def names(w):
    s, f = one_hub(w)
    for repos in ([], [f"{s.host}/owner/../x"], [f"{s.host}/owner"], [f"{s.host}/o/n?x=y"], [f"{s.host}/o/n\r\nX: y"],
                  [f"{s.host}/.o/n"], [f"{s.host}/-o/n"], [f"{s.host}/a/b/c"], ["other.test/o/n"], [7],
                  [f"{s.host}/o/n", "other.test/o/n"], [f"{s.host}/o/n{i}" for i in range(17)]):
        m = f.hear(f.ask("mint", run="run", repos=repos))
        assert m["m"] == "failed", (repos, m)
    for run in ("", "a/b", "..", "x" * 65, None, 5):
        failed(f.hear(f.ask("mint", run=run, repos=[f"{s.host}/o/n"])), EINVAL)
    for message in ({"m": "mint"}, {"m": "nothing", "run": "run"}, {"m": "advertise", "run": "run", "repo": f"{s.host}/o/n"}):
        failed(f.hear(f.ask(message.pop("m"), **message)), EINVAL if not message else EPROTO)
    m, _ = f.whole(*f.advertise("run", f"{s.host}/o/n", protocol="version=2\r\nX: y"))
    failed(m, EINVAL)
    with open(os.devnull) as null:
        m, _ = f.whole(*f.receive("run", f"{s.host}/o/n", null.fileno(), encoding="br"))
    failed(m, EINVAL)
    f.send({"m": "mint", "id": -5})
    failed(f.hear(), EPROTO)
    assert s.calls == []
    assert f.close() == 0


def configuration(w):
    s = w.standin()
    good = w.hub(s)
    loose = write("loose", Standin.MAKER, 0o644)
    two = write("two", "one two\n")
    small = f"{PLACE}/small.key"
    openssl("genrsa", "-out", small, "1024")
    os.chmod(small, 0o600)
    elliptic = f"{PLACE}/elliptic.key"
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", elliptic)
    os.chmod(elliptic, 0o600)
    for forges, word in (
        ([{**good, "kind": "svn"}], "unknown kind"),
        ([{**good, "extra": "x"}], "unknown key"),
        ([{k: v for k, v in good.items() if k != "keyFile"}], "keys of its kind"),
        ([{**good, "tokenFile": loose}], "keys of its kind"),
        ([{**good, "host": "a/b"}], "no host"),
        ([{**good, "api": "http://h.test/api"}], "no https address"),
        ([{**good, "appId": "a b"}], "no word"),
        ([{**good, "keyFile": "app.key"}], "not an absolute path"),
        ([{**good, "keyFile": f"{PLACE}/none"}], "No such file"),
        ([{**good, "keyFile": two}], "private key"),
        ([{**good, "keyFile": small}], "RSA key"),
        ([{**good, "keyFile": elliptic}], "RSA key"),
        ([good, {**good, "host": s.host.upper()}], "twice"),
        ([w.lab(s, tokenFile=loose)], "others may read"),
        ([w.lab(s, tokenFile=two)], "not one word"),
        ([w.lab(s, tokenFile=PLACE)], "not a file"),
        ([{"kind": "token", "host": s.host, "tokenFile": f"{PLACE}/personal", "forge": "cvs"}], "unknown forge"),
        ("none", "not whole"),
    ):
        f = Forge(w, forges)
        m = f.hear()
        assert m["m"] == "failed", (word, m)
        assert "id" not in m
        assert word in m["text"], (word, m)
        assert f.close() == 125
    os.makedirs(w.data + "/forge", exist_ok=True)
    os.chmod(w.data + "/forge", 0o755)
    f = Forge(w, [good])
    failed(f.hear(), EPOLICY, "not ours alone")
    assert f.close() == 125
    assert s.calls == []


def one_at_a_time(w):
    """Two helpers on one journal would take each other's tokens back: the second waits until the first is gone."""
    s, f = one_hub(w)
    assert f.mint("run", f"{s.host}/owner/one")["m"] == "minted"
    g = Forge(w, [w.hub(s)])
    assert not select.select([g.sock], [], [], 0.3)[0]
    assert len(s.alive()) == 1
    f.kill()
    assert g.ready()["left"] == 0
    assert not s.alive()
    assert g.close() == 0


if __name__ == "__main__":
    globals()[sys.argv[2]](World())
