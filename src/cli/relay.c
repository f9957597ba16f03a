#define _GNU_SOURCE
#include "cli/relay.h"

#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STREAM_BYTES = 65536, OUT_MAX = 4 * STREAM_BYTES };

struct cc_stream {
	int which, from, to;
	bool close_to;
	bool spliced; /* no copy in user space: nobody looks at the bytes */
	bool filtered;
	bool eof;
	bool finished;
	bool to_full;     /* splice found `to` full: wait for it instead of for `from` */
	bool whole_write; /* `to` never blocks for long (file, null device): no need for small pieces */
	struct cc_pty_filter filter;
	struct cc_buf out; /* read, not yet written */
	/* The stream whose filter and buffer this one uses: two streams to one terminal are one text, or a sequence put
	 * together out of both would not be seen. */
	struct cc_stream *joined;
	bool shared; /* another one is joined to this */
	cc_stream_seen *seen;
	void *context;
};

static bool never_blocks(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
}

struct cc_stream *cc_stream_new(int which, int from, int to, bool close_to, bool filter, cc_stream_seen *seen,
				void *context)
{
	struct cc_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	*stream = (struct cc_stream){.which = which,
				     .from = from,
				     .to = to,
				     .close_to = close_to,
				     .filtered = filter,
				     .spliced = !filter && !seen,
				     .whole_write = never_blocks(to),
				     .seen = seen,
				     .context = context};
	cc_buf_init(&stream->out, OUT_MAX);
	return stream;
}

void cc_stream_join(struct cc_stream *stream, struct cc_stream *with)
{
	stream->joined = with;
	with->shared = true;
}

static struct cc_buf *out_of(struct cc_stream *stream)
{
	return stream->joined ? &stream->joined->out : &stream->out;
}

static void finish(struct cc_stream *stream)
{
	if (stream->finished)
		return;
	stream->finished = true;
	/* standard input of ours stays open: it is not ours to close */
	if (stream->from > 2)
		cc_fd_close(&stream->from);
	if (stream->close_to)
		cc_fd_close(&stream->to);
}

void cc_stream_free(struct cc_stream *stream)
{
	if (!stream)
		return;
	finish(stream);
	cc_buf_done(&stream->out);
	free(stream);
}

size_t cc_stream_poll(const struct cc_stream *stream, struct pollfd *out_entry)
{
	if (!stream || stream->finished)
		return 0;
	if (stream->out.len || (stream->joined && stream->joined->out.len) || stream->to_full)
		*out_entry = (struct pollfd){.fd = stream->to, .events = POLLOUT};
	else
		*out_entry = (struct pollfd){.fd = stream->from, .events = POLLIN};
	return 1;
}

/* Returns false when the pair cannot be spliced (a terminal, a file opened for append). */
static bool try_splice(struct cc_stream *stream)
{
	ssize_t moved = splice(stream->from, NULL, stream->to, NULL, STREAM_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	stream->to_full = false;
	if (moved > 0)
		return true;
	if (moved == 0)
		finish(stream);
	else if (errno == EAGAIN)
		stream->to_full = true;
	else if (errno == EINVAL || errno == ESPIPE)
		return false;
	else if (errno != EINTR)
		finish(stream);
	return true;
}

static void take_bytes(struct cc_stream *stream, const char *bytes, size_t len)
{
	if (stream->filtered)
		cc_pty_filter(stream->joined ? &stream->joined->filter : &stream->filter, bytes, len, out_of(stream));
	else
		cc_buf_add(&stream->out, bytes, len);
	if (stream->seen)
		stream->seen(stream->context, stream->which, bytes, len);
}

static void read_some(struct cc_stream *stream)
{
	char bytes[STREAM_BYTES];
	ssize_t got = read(stream->from, bytes, sizeof(bytes));

	if (got > 0) {
		take_bytes(stream, bytes, (size_t)got);
		return;
	}
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	/* end of file; EIO is how a PTY says that nobody holds its other end any more */
	stream->eof = true;
	if (stream->filtered && !stream->joined && !stream->shared)
		cc_pty_filter_end(&stream->filter, &stream->out);
}

static void write_some(struct cc_stream *stream)
{
	struct cc_buf *out = out_of(stream);
	/* poll promises room for PIPE_BUF; more could block us and with us the whole session */
	size_t piece = stream->whole_write || out->len < 4096 ? out->len : 4096;
	ssize_t done = write(stream->to, out->data, piece);

	if (done >= 0)
		cc_buf_eat(out, (size_t)done);
	else if (errno != EINTR && errno != EAGAIN)
		finish(stream); /* the reader is gone: the writer learns it by its own SIGPIPE */
}

void cc_stream_step(struct cc_stream *stream, short revents)
{
	if (stream->finished || !revents)
		return;
	if (stream->spliced) {
		if (try_splice(stream))
			return;
		stream->spliced = false;
	}
	if (out_of(stream)->len)
		write_some(stream);
	else if (!stream->eof)
		read_some(stream);
	if (stream->eof && out_of(stream)->len == 0)
		finish(stream);
}

bool cc_stream_alternate(const struct cc_stream *stream)
{
	return stream && stream->filter.alternate;
}

bool cc_stream_finished(const struct cc_stream *stream)
{
	return !stream || stream->finished;
}
