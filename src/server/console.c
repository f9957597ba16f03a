#define _GNU_SOURCE
/* console.c - the page and what it loads, and the WebSockets of terminals: tables to be filled. */
#include "server/server.h"

const struct cc_asset cc_assets_console[] = {
	{0},
};

const struct cc_socket_row cc_sockets_terminal[] = {
	{0},
};
