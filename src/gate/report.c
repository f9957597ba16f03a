#define _GNU_SOURCE
#include "gate/report.h"

#include "kernel/calls.h"
#include "os/clock.h"
#include "os/peer.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	RULES_MAX = 1024,
	FLAGS_MAX = 4096,
	GRANTS_MAX = 1000,
	QUEUE_MAX = 1024,
	BURST = 200,
	PER_SECOND = 50,
	MESSAGE_MAX = 60000,
	LAST_ROUNDS = 2000,
	LAST_MS = 200
};

#define HASH_START 14695981039346656037u

struct seen {
	char *rule;
	unsigned held; /* denials since the last event of this rule */
	char *last;    /* the last message held back, without its count */
	size_t last_len;
};

struct waiting {
	char *text;
	size_t len;
	struct waiting *next;
};

struct cc_report {
	int sock;
	int wake;
	bool open; /* the owner listens: before, only our own probes are refused */
	pthread_mutex_t lock;
	struct seen seen[RULES_MAX];
	size_t seen_count;
	uint64_t flags[FLAGS_MAX]; /* hashes of rule and target */
	size_t flag_count;
	uint64_t grants[GRANTS_MAX]; /* hashes of the flags that were named: each is said once whatever the rate */
	size_t grant_count;
	struct waiting *head, **tail;
	size_t queued;
	unsigned tokens;
	int64_t refilled; /* the second */
};

enum cc_code cc_report_new(int sock, struct cc_report **out_report, struct cc_err *err)
{
	struct cc_report *report = calloc(1, sizeof(*report));

	if (!report)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	report->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (report->wake < 0) {
		free(report);
		return cc_fail(err, CC_ESYS, errno, "eventfd");
	}
	report->sock = sock;
	report->tail = &report->head;
	report->tokens = BURST;
	pthread_mutex_init(&report->lock, NULL);
	*out_report = report;
	return CC_OK;
}

void cc_report_open(struct cc_report *report)
{
	report->open = true;
}

static bool send_now(struct cc_report *report, const char *text, size_t len)
{
	return cc_peer_send(report->sock, text, len, NULL, 0, NULL) == CC_OK;
}

static void wake(struct cc_report *report)
{
	uint64_t one = 1;

	if (write(report->wake, &one, sizeof(one)) < 0)
		return; /* full: the loop is awake already */
}

static void queue(struct cc_report *report, const char *text, size_t len)
{
	struct waiting *item;

	if (report->queued == QUEUE_MAX)
		return;
	item = calloc(1, sizeof(*item) + len);
	if (!item)
		return;
	item->text = (char *)(item + 1);
	memcpy(item->text, text, len);
	item->len = len;
	*report->tail = item;
	report->tail = &item->next;
	report->queued++;
	wake(report);
}

static bool take_token(struct cc_report *report)
{
	int64_t at = cc_clock_ms() / 1000;

	if (at != report->refilled) {
		uint64_t more = (uint64_t)(at - report->refilled) * PER_SECOND + report->tokens;

		report->tokens = more > BURST ? BURST : (unsigned)more;
		report->refilled = at;
	}
	if (!report->tokens)
		return false;
	report->tokens--;
	return true;
}

static struct seen *seen_of(struct cc_report *report, const char *rule, bool *out_first)
{
	struct seen *entry;

	for (size_t i = 0; i < report->seen_count; i++)
		if (strcmp(report->seen[i].rule, rule) == 0)
			return &report->seen[i];
	if (report->seen_count == RULES_MAX)
		return &report->seen[RULES_MAX - 1];
	entry = &report->seen[report->seen_count];
	entry->rule = strdup(rule);
	if (!entry->rule)
		return &report->seen[0]; /* zeroed or an older rule: only its count is shared */
	report->seen_count++;
	*out_first = true;
	return entry;
}

static void process_name(pid_t pid, char *out, size_t cap)
{
	cc_k_proc_text(out, cap, "/proc/%d/comm", (int)pid);
	out[strcspn(out, "\n")] = '\0';
}

/* Everything but the count, which is added when the message leaves. */
static void write_violation(struct cc_buf *out, const char *kind, const struct cc_violation *what)
{
	struct cc_jsonw w;
	char process[64];

	process_name(what->pid, process, sizeof(process));
	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "m", kind);
	if (strcmp(kind, "notice") == 0)
		cc_jsonw_kstr(&w, "kind", "flag");
	cc_jsonw_kstr(&w, "action", what->action ? what->action : cc_verb_action(what->verb));
	cc_jsonw_kstr(&w, "verb", cc_verb_name(what->verb));
	cc_jsonw_key(&w, "target");
	cc_jsonw_view(&w, what->target);
	cc_jsonw_key(&w, "spelled");
	cc_jsonw_view(&w, what->spelled);
	cc_jsonw_kstr(&w, "rule", what->rule);
	cc_jsonw_key(&w, "grant");
	cc_jsonw_view(&w, what->grant);
	cc_jsonw_kint(&w, "pid", what->pid);
	cc_jsonw_key(&w, "process");
	cc_jsonw_view(&w, cc_view_of(process));
	cc_jsonw_kstr(&w, "raw", what->raw ? what->raw : "");
	cc_jsonw_end(&w);
}

/* The object was closed by the writer: its last byte is the brace. */
static void add_count(struct cc_buf *message, unsigned count)
{
	message->len--;
	cc_buf_addf(message, ",\"count\":%u}", count);
}

static void hold(struct seen *entry, const struct cc_buf *message)
{
	char *copy = malloc(message->len);

	entry->held++;
	if (!copy)
		return;
	memcpy(copy, message->data, message->len);
	free(entry->last);
	entry->last = copy;
	entry->last_len = message->len;
}

static uint64_t hash(uint64_t seed, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		seed = (seed ^ (unsigned char)bytes[i]) * 1099511628211u;
	return seed;
}

/* Is key new, and was there room to keep it? */
static bool keep(uint64_t *keys, size_t *count, size_t max, uint64_t key)
{
	for (size_t i = 0; i < *count; i++)
		if (keys[i] == key)
			return false;
	if (*count == max)
		return false;
	keys[(*count)++] = key;
	return true;
}

static bool new_grant(struct cc_report *report, struct cc_view grant)
{
	return grant.len &&
	       keep(report->grants, &report->grant_count, GRANTS_MAX, hash(HASH_START, grant.ptr, grant.len));
}

void cc_report_violation(struct cc_report *report, const struct cc_violation *what)
{
	struct cc_buf message;
	struct seen *entry;
	bool first = false;

	if (!report->open)
		return;
	cc_buf_init(&message, MESSAGE_MAX);
	write_violation(&message, "violation", what);
	if (message.failed) {
		cc_buf_done(&message);
		return;
	}
	pthread_mutex_lock(&report->lock);
	entry = seen_of(report, what->rule, &first);
	first |= new_grant(report, what->grant);
	if (!first && !take_token(report)) {
		hold(entry, &message);
		wake(report);
	} else {
		unsigned held = entry->held;

		entry->held = 0;
		add_count(&message, held + 1);
		if (report->head || !send_now(report, message.data, message.len)) {
			if (first || report->queued < QUEUE_MAX / 2)
				queue(report, message.data, message.len);
			else
				entry->held = held + 1;
		}
	}
	pthread_mutex_unlock(&report->lock);
	cc_buf_done(&message);
}

static bool new_flag(struct cc_report *report, const struct cc_violation *what)
{
	uint64_t key = hash(hash(HASH_START, what->rule, strlen(what->rule) + 1), what->target.ptr, what->target.len);

	return keep(report->flags, &report->flag_count, FLAGS_MAX, key);
}

void cc_report_flagged(struct cc_report *report, const struct cc_violation *what)
{
	struct cc_buf message;

	cc_buf_init(&message, MESSAGE_MAX);
	pthread_mutex_lock(&report->lock);
	if (new_flag(report, what)) {
		write_violation(&message, "notice", what);
		if (!message.failed && (report->head || !send_now(report, message.data, message.len)))
			queue(report, message.data, message.len);
	}
	pthread_mutex_unlock(&report->lock);
	cc_buf_done(&message);
}

/* last: the session ends, so every count leaves now, whatever the rate. */
static void flush_held(struct cc_report *report, bool last)
{
	for (size_t i = 0; i < report->seen_count; i++) {
		struct seen *entry = &report->seen[i];
		struct cc_buf message;

		if (!entry->held || !entry->last || report->head || !(last || take_token(report)))
			continue;
		cc_buf_init(&message, MESSAGE_MAX);
		cc_buf_add(&message, entry->last, entry->last_len);
		add_count(&message, entry->held);
		if (!message.failed && send_now(report, message.data, message.len))
			entry->held = 0;
		cc_buf_done(&message);
	}
}

void cc_report_flush(struct cc_report *report)
{
	uint64_t seen;

	if (read(report->wake, &seen, sizeof(seen)) < 0 && errno != EAGAIN)
		return;
	pthread_mutex_lock(&report->lock);
	while (report->head && send_now(report, report->head->text, report->head->len)) {
		struct waiting *item = report->head;

		report->head = item->next;
		if (!report->head)
			report->tail = &report->head;
		report->queued--;
		free(item);
	}
	flush_held(report, false);
	pthread_mutex_unlock(&report->lock);
}

void cc_report_last(struct cc_report *report)
{
	struct pollfd room = {.fd = report->sock, .events = POLLOUT};

	cc_report_flush(report);
	pthread_mutex_lock(&report->lock);
	flush_held(report, true);
	pthread_mutex_unlock(&report->lock);
	/* the owner is reading what is left: give it the time, bounded */
	for (int round = 0; round < LAST_ROUNDS && cc_report_waits(report) && poll(&room, 1, LAST_MS) > 0; round++) {
		cc_report_flush(report);
		pthread_mutex_lock(&report->lock);
		flush_held(report, true);
		pthread_mutex_unlock(&report->lock);
	}
}

bool cc_report_waits(struct cc_report *report)
{
	bool waits;

	pthread_mutex_lock(&report->lock);
	waits = report->head != NULL;
	for (size_t i = 0; i < report->seen_count && !waits; i++)
		waits = report->seen[i].held > 0;
	pthread_mutex_unlock(&report->lock);
	return waits;
}

int cc_report_wake_fd(const struct cc_report *report)
{
	return report->wake;
}
