#define _GNU_SOURCE
#include "os/proc.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Only what nobody can have written to: a private page that was is lost by this. */
static int unmap_clean(struct dl_phdr_info *object, size_t size, void *context)
{
	uintptr_t page = *(const uintptr_t *)context;

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + part->p_vaddr;
		uintptr_t to = from + part->p_memsz;

		if (part->p_type != PT_LOAD || (part->p_flags & PF_W))
			continue;
		from &= ~(page - 1);
		to = (to + page - 1) & ~(page - 1);
		(void)madvise((void *)from, to - from, MADV_DONTNEED); /* the kernel's own object says no, and stays */
	}
	return 0;
}

void cc_proc_settle(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

#ifdef __GLIBC__
	malloc_trim(0);
#endif
	dl_iterate_phdr(unmap_clean, &page);
}
