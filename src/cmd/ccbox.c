/* ccbox: the person's tool. */
#include "cli/cli.h"
#ifndef CC_TWIN
#include "remote/remote.h"
#else
#define cc_remote_verbs NULL
#endif

int main(int argc, char **argv, char **env)
{
	return cc_cli_main(argc, argv, env, cc_remote_verbs);
}
