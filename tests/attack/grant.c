/* grant.c - --allow-socket (contract 6.9): host.sock is granted; a name is not worth the grant. */
#define _GNU_SOURCE
#include "a.h"

#include <sys/socket.h>
#include <sys/un.h>

static long connect_to(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	strcpy(at.sun_path, path);
	return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at));
}

int main(void)
{
	works("6.9", "the granted socket", connect_to("host.sock"));
	works("6.9", "moved aside", rename("host.sock", "aside.sock"));
	works("6.9", "another host socket moved onto its name", rename("other.sock", "host.sock"));
	fails("6.9", "is not granted by that", connect_to("host.sock"), ECONNREFUSED);
	works("6.9", "the granted one under its new name", connect_to("aside.sock"));
	return 0;
}
