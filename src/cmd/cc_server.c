#define _GNU_SOURCE
/* cc_server: the daemon. */
#include "server/server.h"

int main(int argc, char **argv, char **env)
{
	return cc_server_main(argc, argv, env);
}
