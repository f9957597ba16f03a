#define _GNU_SOURCE
#include "proxy/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PACKET_MAX = 16 * 1024 };

/* Messages that travel together. */
struct packet {
	struct packet *next;
	int64_t count;
	int64_t told;
	size_t len;
	char text[];
};

struct cc_outbox {
	int owner;
	struct packet *first; /* for which there was no room yet */
	struct packet **last;
	size_t bytes;
	struct packet *held; /* to be joined by others; has room for PACKET_MAX */
	int64_t since;       /* when the first of them was seen by a tick; 0: not yet */
	int64_t lost;
};

enum cc_code cc_outbox_new(int owner, struct cc_outbox **out_outbox, struct cc_err *err)
{
	CC_AUTO(cc_outbox) outbox = calloc(1, sizeof(*outbox));

	if (outbox)
		outbox->held = calloc(1, sizeof(*outbox->held) + PACKET_MAX);
	if (!outbox || !outbox->held)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	outbox->owner = owner;
	outbox->last = &outbox->first;
	*out_outbox = cc_outbox_take(&outbox);
	return CC_OK;
}

/* False: the socket is full. Any other failure is taken for sent: nobody listens any more. */
static bool send_now(const struct cc_outbox *outbox, const struct packet *packet)
{
	ssize_t done;

	do {
		done = send(outbox->owner, packet->text, packet->len, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (done < 0 && errno == EINTR);
	return done >= 0 || errno != EAGAIN;
}

static void queue(struct cc_outbox *outbox, const struct packet *packet)
{
	struct packet *copy = NULL;

	if (outbox->bytes + packet->len <= CC_OUTBOX_BYTES_MAX)
		copy = malloc(sizeof(*copy) + packet->len);
	if (!copy) {
		outbox->lost += packet->count + packet->told;
		return;
	}
	memcpy(copy, packet, sizeof(*copy) + packet->len);
	copy->next = NULL;
	*outbox->last = copy;
	outbox->last = &copy->next;
	outbox->bytes += copy->len;
}

static void send_queue(struct cc_outbox *outbox)
{
	while (outbox->first && send_now(outbox, outbox->first)) {
		struct packet *sent = outbox->first;

		outbox->first = sent->next;
		if (!outbox->first)
			outbox->last = &outbox->first;
		outbox->bytes -= sent->len;
		free(sent);
	}
}

static void send_held(struct cc_outbox *outbox)
{
	struct packet *held = outbox->held;

	if (held->len && (outbox->first || !send_now(outbox, held)))
		queue(outbox, held);
	*held = (struct packet){0};
	outbox->since = 0;
}

void cc_outbox_post(struct cc_outbox *outbox, struct cc_view text, bool soon, int64_t told)
{
	struct packet *held = outbox->held;

	outbox->lost -= told;
	if (text.len > PACKET_MAX) {
		outbox->lost += 1 + told;
		return;
	}
	if (held->len + 1 + text.len > PACKET_MAX)
		send_held(outbox);
	if (held->len)
		held->text[held->len++] = '\n';
	memcpy(held->text + held->len, text.ptr, text.len);
	held->len += text.len;
	held->count++;
	held->told += told;
	if (soon)
		send_held(outbox);
}

int64_t cc_outbox_lost(const struct cc_outbox *outbox)
{
	return outbox->lost;
}

void cc_outbox_lose(struct cc_outbox *outbox, int64_t count)
{
	outbox->lost += count;
}

void cc_outbox_flush(struct cc_outbox *outbox)
{
	send_queue(outbox);
	send_held(outbox);
}

bool cc_outbox_waits(const struct cc_outbox *outbox)
{
	return outbox->first != NULL;
}

int64_t cc_outbox_tick(struct cc_outbox *outbox, int64_t now)
{
	if (outbox->held->len == 0)
		return INT64_MAX;
	if (outbox->since == 0)
		outbox->since = now;
	if (now < outbox->since + CC_OUTBOX_HOLD_MS)
		return outbox->since + CC_OUTBOX_HOLD_MS;
	send_held(outbox);
	return INT64_MAX;
}

void cc_outbox_free(struct cc_outbox *outbox)
{
	if (!outbox)
		return;
	while (outbox->first) {
		struct packet *packet = outbox->first;

		outbox->first = packet->next;
		free(packet);
	}
	free(outbox->held);
	free(outbox);
}
