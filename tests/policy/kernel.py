#!/usr/bin/env python3
"""Random policies, random operations: what cc_decide says, what `ccbox explain` says and what the kernel let happen are the
same answer. Speaks TAP.
usage: kernel.py CCBOX DECIDE OPS SEED ROUNDS [off=WHAT]
SEED: a number, or "random". off: CCBOX is the twin and leaves that protection out; then the answers must differ."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

OPERATIONS = 60
EXPLAINED = 12  # a process each
WORDS = ["a", "b", "src", ".git", "hooks", "config", "x.pem", ".env", "HEAD", "refs", "objects", "modules", ".vscode", ".claude",
         "y.key", "worktrees", ".ENV", "info", "lib", ".husky", "node_modules", "AGENTS.md", "db", "t.sql", "commondir", ".npmrc",
         "settings.json", ".gitmodules", "gitdir", "z.P12", "attributes", ".mcp.json", "plain.txt", "deep", "pre-commit"]
GLOBS = ["**/*.sql", "db/**", "**/a/b", "*.key", "**/src/**", "*/*/b", "**/x.pem", ".env", "**/node_modules/**", "**/lib", "**/?"]
# operation: what stands there before, the verb, the kind of object
KINDS = {
    "read": ("file", "read"), "create": (None, "create"), "write": ("file", "write"), "mkdir": (None, "mkdir"),
    "fifo": (None, "mknod"), "bind": (None, "bind"), "symlink": (None, "symlink"), "unlink": ("file", "unlink"),
    "rmdir": ("dir", "rmdir"), "mode": ("file", "mode"), "link": (None, "link-to"), "rename": (None, "rename-to"),
}
OBJECT = {"create": "file", "write": "file", "mkdir": "dir", "fifo": "fifo", "bind": "socket", "symlink": "symlink", "mode": "file"}


class Rig:
    def __init__(self, ccbox, decide, ops, seed):
        self.ccbox, self.decide_program = ccbox, decide
        self.random = random.Random(seed)
        self.base = tempfile.mkdtemp(prefix="ccbox-policy.")
        self.tree = os.path.join(self.base, "t")
        self.env = {"HOME": os.path.join(self.base, "home"), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                    "XDG_STATE_HOME": os.path.join(self.base, "state"), "GIT_CONFIG_NOSYSTEM": "1"}
        os.mkdir(self.env["HOME"])
        self.policy_file = os.path.join(self.base, "policy.jsonc")
        # what runs inside must lie where the sandbox shows it
        shown = os.path.join(self.base, "bin")
        os.mkdir(shown)
        self.ops = shutil.copy(ops, os.path.join(shown, "ops"))
        self.options = ["--policy", self.policy_file, "--bind", self.tree, "--bind", shown + ":ro"]

    def path(self, top):
        parts = [self.random.choice(WORDS) for _ in range(self.random.randint(1, 4))]
        return os.path.join(self.tree, top, *parts)

    def policy(self):
        pick = self.random
        files = {}
        if pick.random() < 0.6:
            files["denyWrite"] = [pick.choice(GLOBS) for _ in range(pick.randint(1, 3))] + [self.path(str(pick.randrange(OPERATIONS)))]
        if pick.random() < 0.4:
            files["denyRead"] = [pick.choice(GLOBS[:7]), self.path(str(pick.randrange(OPERATIONS)))]
        if pick.random() < 0.6:
            files["allowNames"] = [pick.choice(GLOBS) for _ in range(pick.randint(1, 2))]
        if pick.random() < 0.6:
            files["allowPaths"] = [self.path(str(pick.randrange(OPERATIONS))) for _ in range(4)]
        if pick.random() < 0.3:
            files["presets"] = pick.sample(["packages", "tooling"], pick.randint(1, 2))
        return {"filesystem": files}

    def put(self, path, kind):
        """Makes path and what it lies in; None where something else stands in the way."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if kind == "dir":
            os.mkdir(path)
        elif kind:
            with open(path, "x", encoding="ascii") as file:
                file.write("x\n")

    def operation(self, number):
        name = self.random.choice(list(KINDS))
        path, source = self.path(str(number)), ""
        kind = KINDS[name][0]
        moved = OBJECT.get(name, kind or "unknown")
        if name == "unlink" or name == "rmdir":
            moved = "unknown"
        if name in ("link", "rename"):
            moved = self.random.choice(["file", "dir"]) if name == "rename" else "file"
            source = path + ".lock" if self.random.random() < 0.2 else self.path(f"{number}/from")
        try:
            self.put(path, kind)
            if source:
                self.put(source, moved)
        except (FileExistsError, NotADirectoryError):
            return None
        if os.path.realpath(path) != path:
            return None
        return name, path, source, moved

    def lines(self, argv, lines, **more):
        done = subprocess.run(argv, input="".join(lines), stdout=subprocess.PIPE, text=True, env=self.env, cwd=self.tree,
                              check=False, timeout=120, **more)
        return done.stdout.splitlines()

    def decide(self, asks):
        return [line.split(" ", 1) for line in
                self.lines([self.decide_program, *self.options], ["\t".join(ask) + "\n" for ask in asks])]

    def explain(self, verb, path):
        done = subprocess.run([self.ccbox, "explain", verb, path, *self.options, "--json"], stdout=subprocess.PIPE, text=True,
                              env=self.env, cwd=self.tree, check=False)
        said = json.loads(done.stdout)
        return said["verdict"], said["rule"], done.returncode

    def keep(self):
        """The tree as it is, for another try."""
        shutil.rmtree(self.tree + ".kept", ignore_errors=True)
        shutil.copytree(self.tree, self.tree + ".kept", symlinks=True)

    def again(self):
        shutil.rmtree(self.tree)
        shutil.copytree(self.tree + ".kept", self.tree, symlinks=True)

    def close(self):
        shutil.rmtree(self.base, ignore_errors=True)


def asks_of(operation):
    """Every question that the call comes to."""
    name, path, source, moved = operation
    verb = KINDS[name][1]
    if name == "rename":
        return [("rename-from", moved, source, ""), ("rename-to", moved, path, source)]
    if name == "link":
        return [("link-from", moved, source, ""), ("link-to", moved, path, source)]
    return [(verb, moved, path, "")]


def agree(verdicts, result):
    """Content and surroundings may decide either way; so may an error that has nothing to do with the rules."""
    if "deny" in verdicts:
        return result in ("EACCES", "EROFS")
    return result == "done" or ("judged" in verdicts and result == "EACCES") or result == "ENAMETOOLONG"


def one_round(rig, counts, learn):
    os.mkdir(rig.tree)
    subprocess.run(["git", "init", "-q", rig.tree], env=rig.env, check=True)
    operations = [made for made in (rig.operation(number) for number in range(OPERATIONS)) if made]
    policy = json.dumps(rig.policy())
    with open(rig.policy_file, "w", encoding="ascii") as file:
        file.write(policy)
    rig.keep()
    results = rig.lines([rig.ccbox, "run", "--quiet", *rig.options, "--", rig.ops],
                        ["\t".join(operation[:3]) + "\n" for operation in operations], stderr=subprocess.DEVNULL)
    asks = [asks_of(operation) for operation in operations]
    flat = rig.decide([ask for group in asks for ask in group])
    wrong = []
    if len(results) != len(operations) or len(flat) != sum(map(len, asks)):
        return [f"{len(results)} results and {len(flat)} answers for {len(operations)} operations; policy {policy}"]
    for operation, group, result in zip(operations, asks, results):
        verdicts = [flat.pop(0) for _ in group]
        counts[result] = counts.get(result, 0) + 1
        # the first, empty configuration is given as a descriptor that cannot write (libgit2 fills it by rename)
        first = operation[0] == "create" and ["deny", "git:config"] in verdicts and operation[1].endswith("/config")
        if not (first and result == "done") and not agree([verdict for verdict, _ in verdicts], result):
            wrong.append(f"{operation}: {verdicts}, and it was {result}; policy {policy}")
    chosen = rig.random.sample(operations, min(EXPLAINED, len(operations)))
    plain = rig.decide([(KINDS[name][1], "unknown", path, "") for name, path, _, _ in chosen])
    for (name, path, _, _), (verdict, rule) in zip(chosen, plain):
        said, its_rule, code = rig.explain(KINDS[name][1], path)
        counts["explained"] = counts.get("explained", 0) + 1
        if (said, its_rule or "") != (verdict, rule) or code != (0 if verdict == "allow" else 1):
            wrong.append(f"explain {KINDS[name][1]} {path}: {said} {its_rule} {code}, decide: {verdict} {rule}")
    wrong += learned(rig, operations, counts) if learn else []
    shutil.rmtree(rig.tree)
    return wrong


def learned(rig, operations, counts):
    """Run with --learn until nothing new is learned: then what is still refused is said to be closed, and nothing else is."""
    policy, wrong = {}, []
    options = [word for word in rig.options if word not in ("--policy", rig.policy_file)]
    files = [rig.policy_file]
    for turn in range(6):
        rig.again()
        argv = [rig.ccbox, "run", "--quiet", "--learn", *options]
        for file in files:
            argv += ["--policy", file]
        done = subprocess.run([*argv, "--", rig.ops], input="".join("\t".join(made[:3]) + "\n" for made in operations), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=rig.env, cwd=rig.tree, check=False, timeout=120)
        text = done.stderr[done.stderr.rfind("ccbox: learned"):]
        policy = [line for line in text.splitlines()[1:] if not line.startswith("//")]
        closed = [line for line in text.splitlines() if line.startswith("//   ")]
        refused = done.stdout.splitlines().count("EACCES") + done.stdout.splitlines().count("EROFS")
        if not policy or json.loads("\n".join(policy)) == {}:
            break
        files.append(os.path.join(rig.base, f"learned{turn}.jsonc"))
        with open(files[-1], "w", encoding="utf-8") as file:
            file.write(text.split("\n", 1)[1])
        counts["learned"] = counts.get("learned", 0) + 1
    else:
        wrong.append(f"after six turns there is still something to learn: {policy}")
    if bool(closed) != bool(refused):
        wrong.append(f"{refused} refusals are left and {len(closed)} are said to be closed")
    for line in done.stderr.splitlines():
        if "allow with:" in line:
            wrong.append(f"a flag that was given is named again: {line}")
    return wrong


def main():
    ccbox, decide, ops, seed, rounds = sys.argv[1:6]
    ccbox, decide, ops = map(os.path.abspath, (ccbox, decide, ops))
    off = next((word[4:] for word in sys.argv[6:] if word.startswith("off=")), "")
    seed = random.SystemRandom().randrange(10**9) if seed == "random" else int(seed)
    print(f"# seed {seed}, {rounds} policies", flush=True)
    rig, counts, wrong = Rig(ccbox, decide, ops, seed), {}, []
    if off:
        rig.env["CCBOX_TWIN_OFF"] = off
    try:
        for number in range(int(rounds)):
            wrong += one_round(rig, counts, number % 3 == 0)
    finally:
        rig.close()
    if off:
        print(f"{'ok' if wrong else 'not ok'} 1 - without {off} the kernel lets happen what the rules refuse ({len(wrong)} times)")
        print("1..1")
        return
    for line in wrong[:20]:
        print("#", line)
    print("# " + ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    print(f"{'not ok' if wrong else 'ok'} 1 - the rules, explain and the kernel give one answer ({len(wrong)} times they do not)")
    much = all(counts.get(what, 0) > int(rounds) for what in ("done", "EACCES", "explained")) and counts.get("learned", 0) > 0
    print(f"{'ok' if much else 'not ok'} 2 - each answer was met often enough")
    print("1..2")


main()
