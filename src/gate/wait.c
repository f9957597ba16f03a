#define _GNU_SOURCE
#include "gate/wait.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>

enum { FIRST_PAUSE_US = 500, LAST_PAUSE_US = 20000 };

struct job {
	uint64_t id;
	cc_job_step *step;
	void (*drop)(void *state);
	void *state;
};

struct cc_waiter {
	struct cc_gate *gate;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job jobs[CC_JOBS_MAX];
	size_t count;
	unsigned pause_us;
};

int cc_wait_for(struct cc_call *call, cc_job_step *step, void (*drop)(void *state), void *state)
{
	struct cc_waiter *waiter = call->gate->waiter;
	int result = CC_CALL_SENT;

	pthread_mutex_lock(&waiter->lock);
	if (waiter->count == CC_JOBS_MAX) {
		result = -EAGAIN;
	} else {
		waiter->jobs[waiter->count++] = (struct job){call->notif->id, step, drop, state};
		waiter->pause_us = FIRST_PAUSE_US;
		pthread_cond_signal(&waiter->more);
	}
	pthread_mutex_unlock(&waiter->lock);
	if (result != CC_CALL_SENT)
		drop(state);
	return result;
}

static bool try_job(struct cc_gate *gate, struct job *job)
{
	uint64_t id = job->id;
	int result;

	if (ioctl(gate->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0) {
		result = job->step(gate, job->state);
		if (result == CC_JOB_AGAIN)
			return false;
		cc_answer(gate, job->id, result);
	}
	job->drop(job->state);
	return true;
}

static void pause_for(struct cc_waiter *waiter)
{
	struct timespec nap = {.tv_nsec = (long)waiter->pause_us * 1000};

	nanosleep(&nap, NULL);
	if (waiter->pause_us < LAST_PAUSE_US)
		waiter->pause_us *= 2;
}

static void *wait_loop(void *context)
{
	struct cc_waiter *waiter = context;

	cc_gate_park(waiter->gate);
	for (;;) {
		pthread_mutex_lock(&waiter->lock);
		while (!waiter->count)
			pthread_cond_wait(&waiter->more, &waiter->lock);
		for (size_t i = 0; i < waiter->count;) {
			if (try_job(waiter->gate, &waiter->jobs[i]))
				waiter->jobs[i] = waiter->jobs[--waiter->count];
			else
				i++;
		}
		pthread_mutex_unlock(&waiter->lock);
		pause_for(waiter);
	}
	return NULL;
}

enum cc_code cc_waiter_start(struct cc_gate *gate, const pthread_attr_t *attr, struct cc_err *err)
{
	struct cc_waiter *waiter = calloc(1, sizeof(*waiter));
	int error;

	if (!waiter)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	waiter->gate = gate;
	pthread_mutex_init(&waiter->lock, NULL);
	pthread_cond_init(&waiter->more, NULL);
	gate->waiter = waiter;
	error = pthread_create(&waiter->thread, attr, wait_loop, waiter);
	return error ? cc_fail(err, CC_ESYS, error, "gate waiter") : CC_OK;
}
