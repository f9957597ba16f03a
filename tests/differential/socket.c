/* socket.c - sockets with a path: bind, the name that getsockname shows, connect. */
#define _GNU_SOURCE
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t address(const struct spot *spot, struct sockaddr_un *out)
{
	size_t len = strlen(spot->path);

	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	if (len >= sizeof(out->sun_path))
		len = sizeof(out->sun_path) - 1;
	memcpy(out->sun_path, spot->path, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + pick(2));
}

static void op_bind(int type)
{
	int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un at, got = {0};
	socklen_t len, got_len = sizeof(got);
	struct spot spot;
	const char *tag;
	long result;
	int error;

	choose(&spot, false, true);
	len = address(&spot, &at);
	result = bind(sock, (struct sockaddr *)&at, len);
	error = errno;
	getsockname(sock, (struct sockaddr *)&got, &got_len);
	errno = error;
	tag = spot.form == FORM_PROCFS ? "socket-name" : "";
	told(CALL_bind, &spot, tag, result, "length %d name %d %.108s", (int)len - (int)strlen(spot.path),
	     (int)got_len - (int)strlen(got.sun_path), got.sun_path);
	if (result == 0 && pick(2)) {
		int other = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

		listen(sock, 3);
		choose(&spot, false, false);
		if (pick(2)) {
			at = got; /* the name that it shows, which may be another here */
			len = got_len;
			snprintf(spot.path, sizeof(spot.path), "(its own name)");
			spot.text = spot.path;
			spot.form = FORM_RELATIVE;
		} else {
			len = address(&spot, &at);
		}
		result = connect(other, (struct sockaddr *)&at, len);
		told(CALL_connect, &spot, tag, result, "%s", "while it listens");
		close(other);
	}
	close(sock);
}

static void op_connect(int type)
{
	int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	struct spot spot;
	socklen_t len;

	choose(&spot, false, false);
	len = address(&spot, &at);
	told(CALL_connect, &spot, "", connect(pick(20) ? sock : 98, (struct sockaddr *)&at, len), "%s", "");
	close(sock);
}

void do_socket(void)
{
	int type = pick(2) ? SOCK_STREAM : SOCK_SEQPACKET;

	if (pick(2))
		op_bind(type);
	else
		op_connect(type);
}
