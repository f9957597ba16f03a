#include "plan/landlock.h"

#include "base/mem.h"
#include "plan/visible.h"

/* Rights and scopes with the ABI that brought them. Everything that writes, makes, moves or removes; no read right,
 * because untrapped reads are what makes the sandbox fast. For the same reason not TRUNCATE: where it is handled, the
 * kernel walks up the tree at every open, for reading too, which doubled its cost. Every call that truncates is
 * performed by the gate and none is continued (docs/decisions/truncate.md). */
static const struct {
	int abi;
	uint64_t right;
} rights[] =
	{
		{1, 1ull << 1},  /* WRITE_FILE */
		{1, 1ull << 4},  /* REMOVE_DIR */
		{1, 1ull << 5},  /* REMOVE_FILE */
		{1, 1ull << 6},  /* MAKE_CHAR */
		{1, 1ull << 7},  /* MAKE_DIR */
		{1, 1ull << 8},  /* MAKE_REG */
		{1, 1ull << 9},  /* MAKE_SOCK */
		{1, 1ull << 10}, /* MAKE_FIFO */
		{1, 1ull << 11}, /* MAKE_BLOCK */
		{1, 1ull << 12}, /* MAKE_SYM */
		{2, 1ull << 13}, /* REFER */
},
  scopes[] = {
	  {6, 1ull << 0}, /* abstract sockets of outside */
	  {6, 1ull << 1}, /* signals to outside */
};

void cc_landlock_plan(int abi, struct cc_landlock *out)
{
	uint64_t write;

	*out = (struct cc_landlock){.attr_size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8};
	for (size_t i = 0; i < CC_COUNT(rights); i++)
		if (abi >= rights[i].abi)
			out->handled_fs |= rights[i].right;
	for (size_t i = 0; i < CC_COUNT(scopes); i++)
		if (abi >= scopes[i].abi)
			out->scoped |= scopes[i].right;
	write = out->handled_fs & (1ull << 1);
	/* Never /proc: as kuid 0 its sysctls are the host's (attacks 1). devpts is the sandbox's own instance. */
	for (size_t i = 0; cc_visible_devices[i]; i++)
		out->grants[out->grant_count++] = (struct cc_landlock_grant){cc_visible_devices[i], write};
	out->grants[out->grant_count++] = (struct cc_landlock_grant){"/dev/pts", write};
}
