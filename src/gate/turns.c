#define _GNU_SOURCE
#include "gate/turns.h"

#include "gate/wait.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

void cc_turn_begin(struct cc_worker *worker)
{
	struct cc_turns *turns = &worker->gate->turns;

	atomic_fetch_add(&worker->serial, 1); /* odd: at work */
	if (!atomic_load(&turns->resting))
		return;
	pthread_mutex_lock(&turns->lock);
	atomic_store(&turns->resting, false);
	pthread_cond_signal(&turns->work);
	pthread_mutex_unlock(&turns->lock);
}

void cc_turn_end(struct cc_worker *worker)
{
	atomic_fetch_add(&worker->serial, 1);
}

void cc_turn_await(struct cc_worker *worker)
{
	struct cc_turns *turns = &worker->gate->turns;

	if (atomic_load(&worker->turn))
		return;
	pthread_mutex_lock(&turns->lock);
	while (!atomic_load(&worker->turn))
		pthread_cond_wait(&worker->called, &turns->lock);
	pthread_mutex_unlock(&turns->lock);
}

static void give_turn(struct cc_worker *worker)
{
	struct cc_turns *turns = &worker->gate->turns;

	pthread_mutex_lock(&turns->lock);
	atomic_store(&worker->turn, true);
	pthread_cond_signal(&worker->called);
	pthread_mutex_unlock(&turns->lock);
}

/* Gives a sleeping thread the turn. False: none is left. */
static bool call_spare(struct cc_gate *gate)
{
	if (gate->off & CC_OFF_SPARES)
		return false;
	for (unsigned i = 0; i < gate->worker_count; i++) {
		struct cc_worker *worker = &gate->workers[i];

		if (atomic_load(&worker->turn) || atomic_load(&worker->serial) & 1)
			continue;
		give_turn(worker);
		return true;
	}
	return false;
}

/* What one look finds. */
struct look {
	bool moved;    /* somebody worked since the last one */
	unsigned with; /* threads that have a turn */
	struct cc_worker *stuck;
};

static struct look look_at(struct cc_gate *gate)
{
	struct look look = {0};

	for (unsigned i = 0; i < gate->worker_count; i++) {
		struct cc_worker *worker = &gate->workers[i];
		uint64_t serial = atomic_load(&worker->serial);
		bool turn = atomic_load(&worker->turn);

		look.moved |= serial != worker->seen || serial & 1;
		look.with += turn;
		if (turn && serial & 1 && serial == worker->seen)
			look.stuck = worker;
		worker->seen = serial;
	}
	return look;
}

static bool calls_wait(const struct cc_gate *gate)
{
	struct pollfd waiting = {.fd = gate->listener, .events = POLLIN};

	return poll(&waiting, 1, 0) == 1 && waiting.revents & POLLIN;
}

/* One thread more while calls queue up, one less when they have not for a while. */
static void fit(struct cc_gate *gate, unsigned with)
{
	struct cc_turns *turns = &gate->turns;

	if (calls_wait(gate)) {
		turns->without = 0;
		if (++turns->queued >= CC_TURN_RAISE && with < turns->most && call_spare(gate))
			turns->queued = 0;
		return;
	}
	turns->queued = 0;
	if (++turns->without < CC_TURN_LOWER || with <= turns->least)
		return;
	turns->without = 0;
	for (unsigned i = gate->worker_count; i-- > 0;) {
		if (!atomic_load(&gate->workers[i].turn))
			continue;
		atomic_store(&gate->workers[i].turn, false); /* it sleeps after its next call */
		return;
	}
}

/* Sleeps while nobody calls. A call that begins meanwhile is seen by one side or the other. */
static void rest(struct cc_gate *gate)
{
	struct cc_turns *turns = &gate->turns;

	pthread_mutex_lock(&turns->lock);
	atomic_store(&turns->resting, true);
	if (look_at(gate).moved)
		atomic_store(&turns->resting, false);
	while (atomic_load(&turns->resting))
		pthread_cond_wait(&turns->work, &turns->lock);
	pthread_mutex_unlock(&turns->lock);
}

static void *watch(void *context)
{
	struct cc_gate *gate = context;
	const struct timespec tick = {.tv_nsec = CC_TURN_TICK_MS * 1000000};

	cc_gate_park(gate);
	for (;;) {
		struct look look = look_at(gate);

		if (!look.moved) {
			rest(gate);
		} else if (look.stuck) {
			/* Without a spare it keeps the turn: it may come back. */
			if (call_spare(gate))
				atomic_store(&look.stuck->turn, false);
		} else {
			fit(gate, look.with);
		}
		nanosleep(&tick, NULL);
	}
	return NULL;
}

void cc_turns_begin(struct cc_gate *gate)
{
	for (unsigned i = 0; i < gate->turns.least; i++)
		give_turn(&gate->workers[i]);
}

enum cc_code cc_turns_start(struct cc_gate *gate, const pthread_attr_t *attr, struct cc_err *err)
{
	struct cc_turns *turns = &gate->turns;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int error;

	turns->most = cpus < 1 ? 1 : cpus > CC_GATE_THREADS_MAX / 4 ? CC_GATE_THREADS_MAX / 4 : (unsigned)cpus;
	if (turns->most < turns->least)
		turns->most = turns->least;
	error = pthread_create(&turns->watcher, attr, watch, gate);
	return error ? cc_fail(err, CC_ESYS, error, "gate watcher") : CC_OK;
}
