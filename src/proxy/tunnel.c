#define _GNU_SOURCE
#include "proxy/tunnel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BULK_READ = 64 * 1024, BULK_READS = 4, SMALL_SPLICE = 8 * 1024 };

struct cc_stuck {
	size_t at;
	size_t len;
	char bytes[];
};

struct cc_pipe {
	struct cc_pipe *next;
	int fds[2];
	size_t pending;
};

struct cc_pumps {
	struct cc_pipe *idle;
	unsigned made;
	bool refused; /* the system gave no pipe of that size: do not ask again */
	char scratch[CC_TUNNEL_SCRATCH];
};

void cc_end_note(struct cc_end *end, unsigned events)
{
	end->hup |= (events & (CC_LOOP_HUP | CC_LOOP_ERROR)) != 0;
	end->broken |= (events & CC_LOOP_ERROR) != 0;
	end->readable |= (events & (CC_LOOP_READ | CC_LOOP_HUP | CC_LOOP_ERROR)) != 0;
	end->writable |= (events & (CC_LOOP_WRITE | CC_LOOP_ERROR)) != 0;
}

long cc_end_read(struct cc_end *end, char *into, size_t max)
{
	ssize_t got;

	do {
		got = recv(end->fd, into, max, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0 && errno == EAGAIN) {
		end->readable = false;
		return -1;
	}
	if (got < 0)
		return -2;
	/* Edge-triggered: a short read drained the socket, unless a FIN came in the same event and would be lost. */
	if ((size_t)got < max && !end->hup)
		end->readable = false;
	return got;
}

long cc_end_write(struct cc_end *end, const char *bytes, size_t len)
{
	ssize_t done;

	do {
		done = send(end->fd, bytes, len, MSG_NOSIGNAL);
	} while (done < 0 && errno == EINTR);
	if (done < 0 && errno == EAGAIN) {
		end->writable = false;
		return 0;
	}
	return done < 0 ? -2 : done;
}

bool cc_end_flush(struct cc_end *end, struct cc_buf *buf)
{
	while (buf->len && end->fd >= 0 && end->writable) {
		long done = cc_end_write(end, buf->data, buf->len);

		if (done < 0)
			return false;
		cc_buf_eat(buf, (size_t)done);
	}
	return true;
}

long cc_pumps_fill(struct cc_pumps *pumps, struct cc_end *end, struct cc_buf *buf, size_t max)
{
	size_t room = buf->max - buf->len < max ? buf->max - buf->len : max;
	long got;

	if (end->fd < 0 || !end->readable || room == 0)
		return -1;
	got = cc_end_read(end, pumps->scratch, room < sizeof(pumps->scratch) ? room : sizeof(pumps->scratch));
	if (got > 0)
		cc_buf_add(buf, pumps->scratch, (size_t)got);
	return buf->failed ? -2 : got;
}

enum cc_code cc_pumps_new(struct cc_pumps **out_pumps, struct cc_err *err)
{
	struct cc_pumps *pumps = calloc(1, sizeof(*pumps));

	if (!pumps)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	*out_pumps = pumps;
	return CC_OK;
}

char *cc_pumps_scratch(struct cc_pumps *pumps)
{
	return pumps->scratch;
}

static void pipe_free(struct cc_pipe *pipe)
{
	close(pipe->fds[0]);
	close(pipe->fds[1]);
	free(pipe);
}

void cc_pumps_free(struct cc_pumps *pumps)
{
	while (pumps && pumps->idle) {
		struct cc_pipe *pipe = pumps->idle;

		pumps->idle = pipe->next;
		pipe_free(pipe);
	}
	free(pumps);
}

static struct cc_pipe *pipe_get(struct cc_pumps *pumps)
{
	struct cc_pipe *pipe = pumps->idle;

	if (pipe) {
		pumps->idle = pipe->next;
		return pipe;
	}
	if (pumps->refused || pumps->made >= CC_TUNNEL_PIPES)
		return NULL;
	pipe = calloc(1, sizeof(*pipe));
	if (!pipe)
		return NULL;
	if (pipe2(pipe->fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(pipe);
		return NULL;
	}
	if (fcntl(pipe->fds[1], F_SETPIPE_SZ, CC_TUNNEL_PIPE) < 0) { /* the user's pipe pages are used up */
		pumps->refused = pumps->made == 0;
		pipe_free(pipe);
		return NULL;
	}
	pumps->made++;
	return pipe;
}

static void pipe_put(struct cc_pumps *pumps, struct cc_pipe *pipe)
{
	if (pipe->pending) { /* bytes of a dead tunnel must not reach another */
		pumps->made--;
		pipe_free(pipe);
		return;
	}
	pipe->next = pumps->idle;
	pumps->idle = pipe;
}

bool cc_flow_push(struct cc_flow *flow, const char *bytes, size_t len)
{
	size_t old = flow->stuck ? flow->stuck->len - flow->stuck->at : 0;
	struct cc_stuck *stuck;

	if (len == 0)
		return true;
	stuck = malloc(sizeof(*stuck) + old + len);
	if (!stuck)
		return false;
	stuck->at = 0;
	stuck->len = old + len;
	if (old)
		memcpy(stuck->bytes, flow->stuck->bytes + flow->stuck->at, old);
	memcpy(stuck->bytes + old, bytes, len);
	free(flow->stuck);
	flow->stuck = stuck;
	return true;
}

static enum cc_flow_step flush_stuck(struct cc_flow *flow, struct cc_end *to)
{
	while (flow->stuck) {
		struct cc_stuck *stuck = flow->stuck;
		long done = to->writable ? cc_end_write(to, stuck->bytes + stuck->at, stuck->len - stuck->at) : 0;

		if (done < 0)
			return CC_FLOW_BROKEN;
		if (done == 0)
			return CC_FLOW_WAIT;
		stuck->at += (size_t)done;
		if (stuck->at == stuck->len) {
			free(stuck);
			flow->stuck = NULL;
		}
	}
	return CC_FLOW_ENDED;
}

static enum cc_flow_step flush_pipe(struct cc_flow *flow, struct cc_end *to)
{
	struct cc_pipe *pipe = flow->pipe;

	while (pipe && pipe->pending) {
		ssize_t done;

		if (!to->writable)
			return CC_FLOW_WAIT;
		done = splice(pipe->fds[0], NULL, to->fd, NULL, pipe->pending, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN) {
			to->writable = false;
			return CC_FLOW_WAIT;
		}
		if (done <= 0)
			return CC_FLOW_BROKEN;
		pipe->pending -= (size_t)done;
	}
	return CC_FLOW_ENDED;
}

enum cc_flow_step cc_flow_flush(struct cc_flow *flow, struct cc_end *to)
{
	enum cc_flow_step step = flush_stuck(flow, to);

	return step == CC_FLOW_ENDED ? flush_pipe(flow, to) : step;
}

static void end_burst(struct cc_pumps *pumps, struct cc_flow *flow)
{
	if (flow->pipe)
		pipe_put(pumps, flow->pipe);
	flow->pipe = NULL;
}

static enum cc_flow_step pass_end(struct cc_pumps *pumps, struct cc_flow *flow, struct cc_end *from, struct cc_end *to)
{
	from->readable = false;
	end_burst(pumps, flow);
	flow->ended = true;
	if (!flow->last)
		shutdown(to->fd, SHUT_WR);
	return CC_FLOW_ENDED;
}

/* One turn through the pipe; > 0 bytes were taken in. */
static long turn_splice(struct cc_flow *flow, struct cc_end *from)
{
	ssize_t got;

	do {
		got = splice(from->fd, NULL, flow->pipe->fds[1], NULL, CC_TUNNEL_PIPE,
			     SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	} while (got < 0 && errno == EINTR);
	if (got < 0 && errno == EAGAIN) {
		from->readable = false;
		return -1;
	}
	if (got < 0)
		return -2;
	flow->pipe->pending = (size_t)got;
	if (got >= SMALL_SPLICE)
		flow->full_reads = BULK_READS;
	else if (--flow->full_reads == 0) /* after a few of these it is copied again */
		flow->bulk = false;
	return got;
}

static long turn_copy(struct cc_pumps *pumps, struct cc_flow *flow, struct cc_end *from, struct cc_end *to)
{
	long got = cc_end_read(from, pumps->scratch, sizeof(pumps->scratch));
	long done;

	if (got <= 0)
		return got;
	flow->full_reads = got < BULK_READ ? 0 : (uint8_t)(flow->full_reads + (flow->full_reads < BULK_READS));
	flow->bulk = flow->full_reads == BULK_READS;
	done = to->writable ? cc_end_write(to, pumps->scratch, (size_t)got) : 0;
	if (done < 0)
		return -2;
	if (!cc_flow_push(flow, pumps->scratch + done, (size_t)(got - done)))
		return -2;
	return got;
}

enum cc_flow_step cc_flow_pump(struct cc_pumps *pumps, struct cc_flow *flow, struct cc_end *from, struct cc_end *to)
{
	size_t spent = 0;

	if (flow->ended)
		return CC_FLOW_ENDED;
	for (;;) {
		enum cc_flow_step step = cc_flow_flush(flow, to);
		long got;

		if (step != CC_FLOW_ENDED)
			return step;
		if (!from->readable)
			break;
		if (spent >= CC_TUNNEL_BUDGET)
			return CC_FLOW_AGAIN;
		if (!flow->pipe && flow->bulk)
			flow->pipe = pipe_get(pumps);
		if (flow->pipe && !flow->bulk)
			end_burst(pumps, flow);
		got = flow->pipe ? turn_splice(flow, from) : turn_copy(pumps, flow, from, to);
		if (got == -2)
			return CC_FLOW_BROKEN;
		if (got == 0)
			return pass_end(pumps, flow, from, to);
		if (got > 0) {
			spent += (size_t)got;
			flow->bytes += (size_t)got;
		}
	}
	end_burst(pumps, flow);
	return CC_FLOW_WAIT;
}

void cc_flow_done(struct cc_pumps *pumps, struct cc_flow *flow)
{
	free(flow->stuck);
	flow->stuck = NULL;
	end_burst(pumps, flow);
}
