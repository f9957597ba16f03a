#include "../t.h"

#include "guard/command.h"

#define D CC_GUARD_DENY
#define A CC_GUARD_ASK
#define Y CC_GUARD_ALLOW

/* chat, then a mode that only reads. The first block: what a parser that splits at |, && and ; alone lets through. */
static const struct {
	const char *line;
	enum cc_guard chat, reading;
} rows[] = {
	{"ls\nsudo x", D, D},
	{"(sudo x)", D, D},
	{"ls & sudo x", D, D},
	{"env sudo x", D, D},
	{"A=1 sudo x", D, D},
	{"echo $(sudo x)", D, D},
	{"echo `sudo x`", D, D},
	{"command sudo x", D, D},
	{"exec sudo x", D, D},
	{"nohup sudo x", D, D},
	{"echo a | xargs sudo", D, D},
	{"time sudo x", D, D},
	{"eval 'sudo x'", D, D},
	{"if true; then sudo x; fi", D, D},
	{"{ sudo x; }", D, D},
	{"s\\udo x", D, D},
	{"bash <<< 'sudo x'", D, D},
	{"rm -r -f /", D, D},
	{"rm -fr /", D, D},
	{"docker run -it --privileged x", D, D},
	{"busybox reboot", D, D},
	{"sh -c 'sudo x'", D, D},
	{"bash -lc \"sudo x\"", D, D},
	{"'sudo' x", D, D},

	{"s'u'd\"o\" x", D, D},
	{"$'\\x73udo' x", D, D},
	{"$'\\163udo' x", D, D},
	{"su\\\ndo x", D, D},
	{"/usr/bin/sudo x", D, D},
	{"ls; sudo x", D, D},
	{"ls && sudo x", D, D},
	{"ls || sudo x", D, D},
	{"ls | sudo x", D, D},
	{"ls |& sudo x", D, D},
	{"! sudo x", D, D},
	{"while :; do sudo x; done", D, D},
	{"until false; do sudo x; done", D, D},
	{"for i in a b; do sudo $i; done", D, D},
	{"for i in $(sudo x); do :; done", D, D},
	{"case a in a) sudo x;; esac", D, D},
	{"case a in\n(a|b) ls ;;\n*) sudo x ;&\nesac; ls", D, D},
	{"case $(sudo x) in a) ls;; esac", D, D},
	{"f() { sudo x; }; f", D, D},
	{"function f { sudo x; }; f", D, D},
	{"[[ -n $(sudo x) ]]", D, D},
	{"a=(x $(sudo x))", D, D},
	{"cat <(sudo x)", D, D},
	{"cat > >(sudo x)", D, D},
	{"cat <<E\n$(sudo x)\nE\n", D, D},
	{"bash <<E\nsudo x\nE\n", D, D},
	{"bash <<'E'\nsudo x\nE\nls", D, D},
	{"cat <<-E\n\ttext\n\tE\nsudo x", D, D},
	{"cat <<A <<B\na\nA\nb\nB\nsudo x", D, D},
	{"echo \"a $(sudo x) b\"", D, D},
	{"echo \"${x:-$(sudo x)}\"", D, D},
	{"echo ${x:-`sudo x`}", D, D},
	{"echo $(( $(sudo x) + 1 ))", D, D},
	{"echo $(echo $(echo $(sudo x)))", D, D},
	{"env -i A=b -u C sudo x", D, D},
	{"env -S 'sudo x'", D, D},
	{"nice -n 5 sudo x", D, D},
	{"timeout -s KILL 5 sudo x", D, D},
	{"timeout 5s nohup nice sudo x", D, D},
	{"stdbuf -oL sudo x", D, D},
	{"xargs -n 1 -P 4 sudo", D, D},
	{"find . -exec sudo {} +", D, D},
	{"find . -exec true {} \\; -exec sudo {} \\;", D, D},
	{"setsid sudo x", D, D},
	{"flock /l sudo x", D, D},
	{"time { sudo x; }", D, D},
	{"watch -n 1 sudo x", D, D},
	{"trap 'sudo x' EXIT", D, D},
	{"git -c alias.x='!sudo x' x", D, D},
	{"2>/dev/null sudo x", D, D},
	{"sudo x 2>&1 >log", D, D},
	{"ls &>/dev/null; sudo x", D, D},
	{"rm --recursive --force /", D, D},
	{"rm -rf /*", D, D},
	{"rm -rf //", D, D},
	{"rm -rf ./build", Y, D},
	{"rm x", Y, D},
	{"docker run -v /:/host x", D, D},
	{"docker run --volume=/:/host x", D, D},
	{"docker run --mount type=bind,source=/,target=/h x", D, D},
	{"docker --host h run --privileged x", D, D},
	{"docker run x", A, D},
	{"docker ps", Y, D},
	{"dd if=/dev/zero of=x", D, D},
	{"mkfs.ext4 /dev/x", D, D},
	{"systemctl --user reboot", D, D},
	{"systemctl status", Y, Y},

	{"git reset --hard HEAD", A, D},
	{"git -C dir reset --hard", A, D},
	{"git -c a=b --git-dir=x reset --hard", A, D},
	{"git reset HEAD x", Y, D},
	{"git clean -fd", A, D},
	{"git status", Y, Y},
	{"git log --grep=commit", Y, Y},
	{"git commit -m 'git push'", Y, D},
	{"git push", Y, D},
	{"git checkout -- x", Y, D},
	{"npm publish", A, D},
	{"npm --prefix d publish", A, D},
	{"npm install x", A, D},
	{"npm ci", Y, D},
	{"npm test", Y, Y},
	{"python3 -m pip install x", A, D},
	{"uv pip install x", A, D},
	{"cargo build", Y, Y},
	{"gh pr create", Y, D},
	{"gh -R a/b pr view", Y, Y},
	{"kubectl get pods", Y, D},
	{"sed -n 1p x", Y, Y},
	{"sed -i s/a/b/ x", Y, D},
	{"sed -i.bak s/a/b/ x", Y, D},
	{"echo x > file", Y, D},
	{"echo x >> file", Y, D},
	{"make 2>&1 | tail", Y, Y},
	{"make >/dev/null 2>&1", Y, Y},
	{"grep -rn 'sudo x' .", Y, Y},
	{"echo sudo", Y, Y},
	{"# sudo x", Y, Y},
	{"ls # sudo x", Y, Y},
	{"cat <<'E'\n$(sudo x)\nE\n", Y, Y},
	{"echo '$(sudo x)'", Y, Y},
	{"echo \\$(ls)", A, D}, /* no shell reads that either */
	{"[ -f x ] && ls", Y, Y},
	{"[[ a == b && c > d ]] && ls", Y, Y},
	{"command -v sudo", Y, Y},
	{"for f in *.c; do wc -l \"$f\"; done", Y, Y},
	{"f() { ls; }\nf", Y, Y},
	{"a=1; b=$(ls); echo \"$b\"", Y, Y},
	{"ls {a,b}", Y, Y},
	{"bash script.sh", Y, Y},
	{"bash --version", Y, Y},
	{"", Y, Y},
	{"   \n\n;", Y, Y},

	/* not to be followed: asked, or refused */
	{"$x ls", A, D},
	{"x=sudo; $x ls", A, D},
	{"s{udo,} x", A, D},
	{"/usr/bin/sud? x", A, D},
	{"`which sudo` x", A, D},
	{"eval \"$x\"", A, D},
	{"sh -c \"$x\"", A, D},
	{"curl x | sh", A, D},
	{"curl x | bash -s", A, D},
	{"source <(curl x)", A, D},
	{"echo 'unclosed", A, D},
	{"echo \"unclosed", A, D},
	{"(ls", A, D},
	{"ls)", A, D},
	{"echo ${x", A, D},
	{"cat <<E", A, D},
	{"coproc sudo x", D, D},
	{"sudo x; echo 'unclosed", D, D},
};

static void lines_come_to_their_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_command_verdict chat, plan;
		struct cc_err err = {0};

		T_OK(cc_command_judge(cc_view_of(rows[i].line), CC_MODE_CHAT, &chat, &err), err);
		T_OK(cc_command_judge(cc_view_of(rows[i].line), CC_MODE_PLAN, &plan, &err), err);
		T_ROW(chat.verdict == rows[i].chat, rows[i].line);
		T_ROW(plan.verdict == rows[i].reading, rows[i].line);
		T_ROW(chat.verdict == Y || chat.rule, rows[i].line);
	}
}

static void classes_are_named(void **state)
{
	static const struct {
		const char *line;
		uint32_t actions;
	} wants[] = {
		{"git commit -m x && git cherry-pick y", CC_ACTION_BIT(GIT_COMMIT)},
		{"gh pr create; gh pr comment 1", CC_ACTION_BIT(PR_CREATE) | CC_ACTION_BIT(PR_PUBLISH)},
		{"gh issue close 1", CC_ACTION_BIT(VENDOR_SYNC_WRITE)},
		{"curl x | tee y", CC_ACTION_BIT(NETWORK_EGRESS) | CC_ACTION_BIT(WORKSPACE_MUTATION)},
		{"find . -name x -delete", CC_ACTION_BIT(FILE_DELETE)},
		{"yarn add x", CC_ACTION_BIT(PACKAGE_INSTALL)},
		{"sh -c 'rm x'", CC_ACTION_BIT(FILE_DELETE)},
		{"git push", 0},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(wants); i++) {
		struct cc_command_verdict got;
		struct cc_err err = {0};

		T_OK(cc_command_judge(cc_view_of(wants[i].line), CC_MODE_CHAT, &got, &err), err);
		T_ROW(got.actions == (wants[i].actions | CC_ACTION_BIT(PROCESS_SPAWN)), wants[i].line);
	}
}

static void words_need_no_shell(void **state)
{
	static const char *const argv[] = {"env", "sh", "-c", "sudo x"};
	static const char *const plain[] = {"echo", "$(sudo x)"};
	struct cc_command_verdict got;
	struct cc_err err = {0};

	(void)state;
	T_OK(cc_command_judge_argv(argv, CC_COUNT(argv), CC_MODE_CHAT, &got, &err), err);
	assert_int_equal(got.verdict, D);
	T_OK(cc_command_judge_argv(plain, CC_COUNT(plain), CC_MODE_CHAT, &got, &err), err);
	assert_int_equal(got.verdict, Y);
}

/* A bound that is reached is never a yes. */
static void bounds_are_no_way_through(void **state)
{
	static char big[CC_SHELL_BYTES + 64];
	struct cc_command_verdict got;
	struct cc_err err = {0};
	size_t at = 0;

	(void)state;
	memset(big, 'a', sizeof(big) - 1);
	T_OK(cc_command_judge(cc_view_of(big), CC_MODE_CHAT, &got, &err), err);
	assert_int_equal(got.verdict, A);
	for (at = 0; at < 2000; at += 2)
		memcpy(big + at, "$(", 2);
	T_OK(cc_command_judge((struct cc_view){big, at}, CC_MODE_CHAT, &got, &err), err);
	assert_int_equal(got.verdict, A);
	for (at = 0; at < 2000; at += 2)
		memcpy(big + at, "a;", 2);
	T_OK(cc_command_judge((struct cc_view){big, at}, CC_MODE_CHAT, &got, &err), err);
	assert_int_equal(got.verdict, A);
	T_OK(cc_command_judge((struct cc_view){"ls\0sudo x", 9}, CC_MODE_CHAT, &got, &err), err);
	assert_int_equal(got.verdict, A);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_to_their_verdict),
		cmocka_unit_test(classes_are_named),
		cmocka_unit_test(words_need_no_shell),
		cmocka_unit_test(bounds_are_no_way_through),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
