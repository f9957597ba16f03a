#define _GNU_SOURCE
/* console.c - the page and what it loads: a table to be filled. */
#include "server/server.h"

const struct cc_asset cc_assets_console[] = {
	{0},
};
