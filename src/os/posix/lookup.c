/* lookup.c - the threads behind cc_lookups: questions in, answers out, a pipe to wake the loop. */
#define _GNU_SOURCE
#include "os/net.h"

#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THREADS_MAX = 4, STACK_BYTES = 512 * 1024, QUESTIONS_MAX = 64, NAME_MAX_LEN = 255 };

struct question {
	uint64_t id;
	char name[NAME_MAX_LEN + 1];
};

/* Rings: bounded, and both full never at once since each question gives one answer. */
struct cc_lookups {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	cc_lookup_fn *fn;
	void *context;
	int wake_fds[2];
	struct question questions[QUESTIONS_MAX];
	size_t question_head, question_count;
	struct cc_lookup_answer answers[QUESTIONS_MAX];
	size_t answer_head, answer_count;
	size_t in_work;
	pthread_t threads[THREADS_MAX];
	unsigned thread_count;
	bool over;
};

static void collect(const struct addrinfo *list, struct cc_addrs *out)
{
	for (; list && out->count < CC_ADDRS_MAX; list = list->ai_next) {
		struct cc_addr *addr = &out->list[out->count];

		if (list->ai_family == AF_INET) {
			memcpy(addr->bytes, &((const struct sockaddr_in *)(const void *)list->ai_addr)->sin_addr, 4);
			addr->len = 4;
			out->count++;
		} else if (list->ai_family == AF_INET6) {
			memcpy(addr->bytes, &((const struct sockaddr_in6 *)(const void *)list->ai_addr)->sin6_addr, 16);
			addr->len = 16;
			out->count++;
		}
	}
}

enum cc_lookup_outcome cc_lookup_system(void *context, const char *name, struct cc_addrs *out)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *list = NULL;
	char rooted[NAME_MAX_LEN + 2];
	size_t len = strlen(name);
	int code;

	(void)context;
	if (len > NAME_MAX_LEN)
		return CC_LOOKUP_NONE;
	/* A name with a dot is complete: no search list may turn it into another one. */
	memcpy(rooted, name, len + 1);
	if (strchr(name, '.'))
		memcpy(rooted + len, ".", 2);
	code = getaddrinfo(rooted, NULL, &hints, &list);
	if (code == EAI_NONAME || code == EAI_NODATA || code == EAI_ADDRFAMILY) {
		/* Hosts files and some NSS modules know only the spelling without the final dot. */
		code = rooted[len] ? getaddrinfo(name, NULL, &hints, &list) : code;
	}
	if (code == 0) {
		collect(list, out);
		freeaddrinfo(list);
		return out->count ? CC_LOOKUP_OK : CC_LOOKUP_NONE;
	}
	return code == EAI_AGAIN ? CC_LOOKUP_AGAIN : code == EAI_NONAME ? CC_LOOKUP_NONE : CC_LOOKUP_FAILED;
}

static void *work(void *context)
{
	struct cc_lookups *lookups = context;

	pthread_mutex_lock(&lookups->lock);
	while (!lookups->over) {
		struct question question;
		struct cc_lookup_answer answer = {0};

		if (lookups->question_count == 0) {
			pthread_cond_wait(&lookups->wake, &lookups->lock);
			continue;
		}
		question = lookups->questions[lookups->question_head];
		lookups->question_head = (lookups->question_head + 1) % QUESTIONS_MAX;
		lookups->question_count--;
		lookups->in_work++;
		pthread_mutex_unlock(&lookups->lock);
		answer.id = question.id;
		answer.outcome = lookups->fn(lookups->context, question.name, &answer.addrs);
		pthread_mutex_lock(&lookups->lock);
		lookups->in_work--;
		lookups->answers[(lookups->answer_head + lookups->answer_count++) % QUESTIONS_MAX] = answer;
		(void)!write(lookups->wake_fds[1], "x", 1);
	}
	pthread_mutex_unlock(&lookups->lock);
	return NULL;
}

enum cc_code cc_lookups_new(unsigned threads, cc_lookup_fn *fn, void *context, struct cc_lookups **out_lookups,
			    struct cc_err *err)
{
	CC_AUTO(cc_lookups) lookups = calloc(1, sizeof(*lookups));
	pthread_attr_t attr;

	if (!lookups)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	lookups->wake_fds[0] = lookups->wake_fds[1] = -1;
	pthread_mutex_init(&lookups->lock, NULL);
	pthread_cond_init(&lookups->wake, NULL);
	lookups->fn = fn ? fn : cc_lookup_system;
	lookups->context = context;
	if (pipe2(lookups->wake_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return cc_fail(err, CC_ESYS, errno, "pipe2");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (unsigned i = 0; i < threads && i < THREADS_MAX; i++) {
		int code = pthread_create(&lookups->threads[i], &attr, work, lookups);

		if (code) {
			pthread_attr_destroy(&attr);
			return cc_fail(err, CC_ESYS, code, "cannot start a lookup thread");
		}
		lookups->thread_count++;
	}
	pthread_attr_destroy(&attr);
	*out_lookups = cc_lookups_take(&lookups);
	return CC_OK;
}

int cc_lookups_fd(const struct cc_lookups *lookups)
{
	return lookups->wake_fds[0];
}

enum cc_code cc_lookups_ask(struct cc_lookups *lookups, uint64_t id, const char *name, struct cc_err *err)
{
	struct question *question;
	enum cc_code code = CC_OK;

	if (strlen(name) > NAME_MAX_LEN)
		return cc_fail(err, CC_EINVAL, 0, "the name is too long");
	pthread_mutex_lock(&lookups->lock);
	if (lookups->question_count + lookups->in_work + lookups->answer_count >= QUESTIONS_MAX) {
		code = cc_fail(err, CC_ELIMIT, 0, "too many lookups");
	} else {
		question = &lookups->questions[(lookups->question_head + lookups->question_count++) % QUESTIONS_MAX];
		question->id = id;
		memcpy(question->name, name, strlen(name) + 1);
		pthread_cond_signal(&lookups->wake);
	}
	pthread_mutex_unlock(&lookups->lock);
	return code;
}

bool cc_lookups_take_answer(struct cc_lookups *lookups, struct cc_lookup_answer *out)
{
	char drain[QUESTIONS_MAX];
	bool found = false;

	pthread_mutex_lock(&lookups->lock);
	if (lookups->answer_count) {
		*out = lookups->answers[lookups->answer_head];
		lookups->answer_head = (lookups->answer_head + 1) % QUESTIONS_MAX;
		lookups->answer_count--;
		found = true;
	}
	if (lookups->answer_count == 0)
		(void)!read(lookups->wake_fds[0], drain, sizeof(drain));
	pthread_mutex_unlock(&lookups->lock);
	return found;
}

static void release(struct cc_lookups *lookups)
{
	cc_fd_close(&lookups->wake_fds[0]);
	cc_fd_close(&lookups->wake_fds[1]);
	pthread_mutex_destroy(&lookups->lock);
	pthread_cond_destroy(&lookups->wake);
	free(lookups);
}

void cc_lookups_free(struct cc_lookups *lookups)
{
	bool hanging;

	if (!lookups)
		return;
	pthread_mutex_lock(&lookups->lock);
	lookups->over = true;
	hanging = lookups->in_work > 0;
	pthread_cond_broadcast(&lookups->wake);
	pthread_mutex_unlock(&lookups->lock);
	for (unsigned i = 0; i < lookups->thread_count; i++) {
		if (hanging)
			pthread_detach(lookups->threads[i]);
		else
			pthread_join(lookups->threads[i], NULL);
	}
	if (!hanging)
		release(lookups);
}
