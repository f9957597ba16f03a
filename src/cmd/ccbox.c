/* ccbox: the person's tool. */
#include "cli/cli.h"

int main(int argc, char **argv, char **env)
{
	return cc_cli_main(argc, argv, env);
}
