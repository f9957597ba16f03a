#!/usr/bin/env bats
# cc-forge: tokens of forges for runs, asked for, journalled, taken back (contract 4.4), against stand-ins of their APIs over TLS.
# Each test is a scenario of forge.py, which drives the helper over its socket as the daemon does.
load lib

scenario() { BASE=$BASE python3 "$BATS_TEST_DIRNAME/forge.py" "$(dirname "$CCBOX")/cc-forge" "$1"; }

@test "GitHub App: a signed word, a token for the run's repositories with read permissions, in the journal while it lives, then taken back" {
	scenario mint_github
}

@test "GitHub App: repositories of two owners have a token each, and git knows which is whose" {
	scenario owners
}

@test "GitLab: a project token for each repository, read_repository, groups in groups; taken back by number" {
	scenario mint_gitlab
}

@test "Gitea: a read-only token of the configured user, which says how far it reaches" {
	scenario mint_gitea
}

@test "a personal token, only as configured: the push rule is called advisory, nothing is journalled" {
	scenario personal
}

@test "real git reads with the settings and does not push; after the revoke it does neither" {
	scenario git_reads
}

@test "SIGKILL: the next start takes everything back" {
	scenario crash
}

@test "SIGKILL: what a forge does not take back, or that is not configured any more, stays known" {
	scenario crash_unreachable
}

@test "a refusal is told with its status and what the forge says, without what could be a token; it is not asked again" {
	scenario refusal
}

@test "a mint that fails half-way leaves no token" {
	scenario all_or_none
}

@test "tokens that do not fit into one answer are not handed out in part" {
	scenario too_much
}

@test "a token that can do more than was asked for, or less, or never ends, is not handed on" {
	scenario wider
}

@test "the token of a push is kept for the run, made anew when it is nearly over or the forge has ended it" {
	scenario renewal
}

@test "a revoke that fails is told, stays in the journal, is tried again at the end" {
	scenario revoke_fails
}

@test "a forge that hangs at the end holds nothing up: the next start takes it back" {
	scenario end_bounded
}

@test "5xx and 429 are asked again with a back-off, Retry-After is heeded up to a bound" {
	scenario retries
}

@test "a forge that cannot be reached is an error with a text" {
	scenario nobody_there
}

@test "a slow answer is timed out, and not asked again" {
	scenario slow
}

@test "an answer that is lost leaves no token where it never ends" {
	scenario lost_answer
}

@test "eight calls that hang hold up nobody else" {
	scenario side_by_side
}

@test "answers that are empty, cut, huge, deep, of another type, or with a token that is none" {
	scenario malformed
}

@test "no redirect is followed, neither of the API nor of git" {
	scenario redirect
}

@test "another authority, another name and the system's list without ours are refused before anything is sent" {
	scenario certificates
}

@test "the environment is not heeded: no proxy, no file of keys, no other configuration" {
	scenario environment
}

@test "a forge whose clock differs by two hours: corrected once by its Date, both ways" {
	scenario skew
}

@test "no secret in argv, environ, messages, standard error; no core, no capability, not dumpable" {
	scenario secrecy
}

@test "advertise and receive with a token the run never sees: a real pack of 8 MB, with bounded memory" {
	scenario push
}

@test "a push with a personal token; a refused one is told as it is" {
	scenario personal_push
}

@test "a revoke breaks off what is under way: a call, a mint, a stream nobody reads" {
	scenario broken_off
}

@test "end of file: everything of every run is taken back" {
	scenario at_the_end
}

@test "what is no repository, run or message is refused, and nothing is called" {
	scenario names
}

@test "a configuration that is not right is refused with a reason, and files that others can read" {
	scenario configuration
}

@test "two helpers do not share a journal: the second waits" {
	scenario one_at_a_time
}
