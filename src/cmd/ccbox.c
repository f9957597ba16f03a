/* ccbox: the person's tool. */
#include "verbs/verbs.h"

int main(int argc, char **argv, char **env)
{
	return cc_verbs_main(argc, argv, env);
}
