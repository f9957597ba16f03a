#!/bin/bash
# git-host.sh TREE - on the host, after the session: what a person or a prompt does in the tree. The marker file is what
# any of the prepared commands would have made.
cd "$1" || exit 1
marker=${1%/*}/marker
export HOME=${1%/*}/outside GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=true GIT_AUTHOR_NAME=h GIT_AUTHOR_EMAIL=h@b GIT_COMMITTER_NAME=h GIT_COMMITTER_EMAIL=h@b
for dir in . work docs docs2 docs3 docs4 docs5 docs6 nest sub copy; do
	(cd "$dir" 2>/dev/null || exit
	git status; git diff; git log -n1; git branch; git stash list; git add -A; git checkout -q -b "h-$RANDOM") >/dev/null 2>&1
	if [ -e "$marker" ]; then echo "not ok 4: git on the host in $dir ran the agent's command"; rm -f "$marker"; else echo "ok 4: git on the host in $dir"; fi
done
exit 0
