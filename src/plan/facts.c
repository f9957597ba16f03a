#include "plan/facts.h"

#include <stdlib.h>
#include <string.h>

static void paths_done(struct cc_fact_path *paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(paths[i].path);
		free(paths[i].target);
	}
	free(paths);
}

const char *cc_facts_env(const struct cc_facts *facts, const char *name)
{
	return cc_env_get(facts->env.items, name);
}

void cc_facts_done(struct cc_facts *facts)
{
	free(facts->home);
	free(facts->init_path);
	free(facts->connect_path);
	paths_done(facts->system, facts->system_count);
	paths_done(facts->home_dirs, facts->home_count);
	cc_strv_done(&facts->env);
	*facts = (struct cc_facts){0};
}
