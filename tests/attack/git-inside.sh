#!/bin/bash
# git-inside.sh - attacks 4 and 5, spec/names 57-60, contract 6.7: what an agent prepares so that the person's own git
# runs it, and the git work that must go on. git-host.sh then does on the host what a person does.
cd "$TREE" || exit 1
marker=${TREE%/*}/marker
export GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat GIT_EDITOR=true GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
n() { local number=$1 label=$2; shift 2; if "$@" >/tmp/out 2>&1; then echo "not ok $number: $label (it went through)"; else echo "ok $number: $label"; fi; }
y() { local number=$1 label=$2; shift 2; if "$@" >/tmp/out 2>&1; then echo "ok $number: $label"; else echo "not ok $number: $label ($(tail -n1 /tmp/out))"; fi; }
put() { printf '%s\n' "$2" >"$1"; }
evil="[core]
	repositoryformatversion = 0
	fsmonitor = touch $marker; false
	hooksPath = $TREE/hooks
	worktree = $TREE"
run() { bash -c "$1"; }

# Everyday work.
y 6.7 init git init -q work
cd work || exit 1
put f one
y 6.7 add git add f
y 6.7 commit git commit -qm one
y 6.7 'config user.name' git config user.name someone
y 6.7 'remote add' git remote add origin https://example.com/x.git
y 6.7 branch git branch side
y 6.7 'branch --track' git branch --track follower side
y 6.7 switch git switch -q side
put g two; y 6.7 'add, commit' run 'git add g && git commit -qm two'
y 6.7 checkout git checkout -q master
y 6.7 merge git merge -q side
put f three; y 6.7 stash run 'git stash && git stash pop'
y 6.7 'commit -a' git commit -qam three
y 6.7 rebase git rebase -q side
y 6.7 tag git tag -a -m t v1
y 6.7 'amend' git commit -q --amend --no-edit
y 6.7 gc git gc -q
cd ..
y 6.7 clone git clone -q work copy
y 6.7 fetch git -C copy fetch -q
y 6.7 'checkout -b of a remote branch' git -C copy checkout -q side
y 6.7 'rm -r of a work tree file' rm work/g

# Configuration that names commands.
for pair in 'core.fsmonitor touch' 'core.hooksPath hooks' 'core.sshCommand touch' 'core.editor touch' 'core.pager touch' \
	'alias.st !touch' 'filter.x.clean touch' 'diff.external touch' 'include.path ../evil' 'credential.helper !touch' \
	'core.worktree ..' 'gpg.program touch' 'remote.origin.uploadpack touch' 'remote.origin.url ext::touch'; do
	n 4 "git config $pair" git -C work config ${pair%% *} "${pair#* } $marker"
done
n 4 'config written directly' put work/.git/config "$evil"
n 4 'appended' run "echo '[alias]' >> work/.git/config"
n 4 'through a symlink' run "ln -s .git/config work/c && echo '[alias]' >> work/c"
n 4 'by another file renamed onto it' run "printf '%s' '$evil' > cfg && mv -f cfg work/.git/config"
n 4 'by its lock renamed' run "printf '%s' '$evil' > work/.git/config.lock && mv -f work/.git/config.lock work/.git/config"
rm -f work/.git/config.lock
n 4 'config.worktree' put work/.git/config.worktree "$evil"

# A repository out of its parts. (HEAD and config of one that was there before the session: tests/integration/git.bats.)
n 4 '.git moved away' mv work/.git work/g
mkdir docs && cd docs || exit 1
n 4 'a bare repository in docs' run "echo 'ref: refs/heads/m' > HEAD && mkdir objects refs && printf '%s' '$evil' > config"
cd .. && mkdir docs2 && cd docs2 || exit 1
n 4 'in another order' run "printf '%s' '$evil' > config && mkdir refs && echo 'ref: refs/heads/m' > HEAD && mkdir objects"
cd .. && mkdir docs3 && cd docs3 || exit 1
n 4 'its last part by rename' run "printf '%s' '$evil' > config && mkdir refs o && echo 'ref: refs/heads/m' > HEAD && mv o objects"
cd .. && mkdir docs4 && cd docs4 || exit 1
n 4 'HEAD and commondir' run "echo 'ref: refs/heads/m' > HEAD && echo ../evil > commondir"
cd .. && mkdir docs5 && cd docs5 || exit 1
n 4 'its last part by a hard link' run "printf '%s' '$evil' > cfg && mkdir refs objects && echo 'ref: refs/heads/m' > HEAD && ln cfg config"
cd .. && mkdir docs6 && cd docs6 || exit 1
n 4 'by a symlink' run "printf '%s' '$evil' > cfg && mkdir refs objects && echo 'ref: refs/heads/m' > HEAD && ln -s cfg config"
cd ..
n 4 'a directory renamed to .git' run "mkdir nest nest/d && mv nest/d nest/.git"
n 4 'a todo list too long to be judged' run "mkdir work/.git/rebase-merge && head -c 2M /dev/zero > long && mv long work/.git/rebase-merge/git-rebase-todo"
echo 'expect "spelled":"work/.git/rebase-merge/git-rebase-todo","rule":"git:operation"'
rm -rf long work/.git/rebase-merge
n 4 'init --bare' git init -q --bare bare
n 4 'a gitfile' put sub/.git 'gitdir: ../docs3'
n 4 'a gitfile by rename' run "echo 'gitdir: ../docs3' > sub/.git.lock && mv sub/.git.lock sub/.git"
n 4 'commondir' put work/.git/commondir ../../docs3
n 4 'worktree add' git -C work worktree add ../wt
n 4 'submodule add' git -C work -c protocol.file.allow=always submodule add ../copy copy
n D 'alternates' put work/.git/objects/info/alternates /tmp
n D 'info/attributes' run "mkdir -p work/.git/info && echo '* filter=x' > work/.git/info/attributes"
n D 'a replaced object' run "mkdir -p work/.git/refs/replace && echo x > work/.git/refs/replace/0123456789012345678901234567890123456789"
n 57 'a hook' run "printf '#!/bin/sh\ntouch $marker\n' > work/.git/hooks/post-checkout"
n D '.husky' mkdir .husky
n D '.lfsconfig' put .lfsconfig x

# Links and directories that turn the host's git into a writer (attacks 5).
n 5 'logs/HEAD as a symlink' run "rm -f work/.git/logs/HEAD && ln -s ${TREE%/*}/outside/victim work/.git/logs/HEAD"
n 5 'index as a symlink' run "rm -f work/.git/index && ln -s ${TREE%/*}/outside/made work/.git/index"
n 5 'a symlink renamed in' run "ln -s ${TREE%/*}/outside/victim l && mv l work/.git/COMMIT_EDITMSG"
n 5 'a directory renamed in' run "mkdir dd && ln -s ${TREE%/*}/outside/victim dd/HEAD && mv dd work/.git/logs2"
n 5 'logs as a symlink' run "mv work/.git/logs work/.git/l2 && ln -s ${TREE%/*}/outside work/.git/logs"
exit 0
