#define _GNU_SOURCE
#include "tools/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NEAR = 5, NAMES_MAX = 20000 };

struct cc_view cc_text_line(struct cc_view text, size_t *at)
{
	const char *from = text.ptr + *at;
	const char *end = memchr(from, '\n', text.len - *at);
	size_t len = end ? (size_t)(end - from) : text.len - *at;

	*at += len + (end ? 1 : 0);
	return (struct cc_view){from, len};
}

size_t cc_text_lines(struct cc_view text)
{
	size_t lines = 0, at = 0;

	while (at < text.len) {
		(void)cc_text_line(text, &at);
		lines++;
	}
	return lines;
}

struct cc_text_hash cc_text_hash(struct cc_view text)
{
	struct cc_text_hash hash;
	uint64_t value = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < text.len; i++)
		value = (value ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
	snprintf(hash.text, sizeof(hash.text), "%016llx", (unsigned long long)value);
	return hash;
}

/* Letters in common at both ends: enough to find a wrong ending or a wrong case. */
static size_t likeness(const char *a, const char *b)
{
	size_t left = strlen(a), right = strlen(b), head = 0, tail = 0;

	while (head < left && head < right &&
	       cc_ascii_lower((unsigned char)a[head]) == cc_ascii_lower((unsigned char)b[head]))
		head++;
	while (tail + head < left && tail + head < right &&
	       cc_ascii_lower((unsigned char)a[left - 1 - tail]) == cc_ascii_lower((unsigned char)b[right - 1 - tail]))
		tail++;
	return (head + tail) * 100 / (left > right ? left : right);
}

void cc_text_near(const struct cc_place *place, char *out, size_t cap)
{
	struct {
		size_t score;
		char name[NAME_MAX + 1];
	} best[NEAR] = {0};
	int fd = openat(place->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	size_t len = 0, seen = 0;

	*out = '\0';
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)) && seen++ < NAMES_MAX) {
		size_t score = likeness(place->name, entry->d_name), slot = NEAR;

		for (size_t i = 0; i < NEAR && slot == NEAR; i++)
			if (score > 40 && score > best[i].score)
				slot = i;
		if (slot == NEAR)
			continue;
		memmove(&best[slot + 1], &best[slot], (NEAR - 1 - slot) * sizeof(best[0]));
		best[slot].score = score;
		cc_str_put(best[slot].name, sizeof(best[slot].name), entry->d_name);
	}
	closedir(dir);
	for (size_t i = 0; i < NEAR && best[i].score && len < cap; i++)
		len += (size_t)snprintf(out + len, cap - len, "%s%s", i ? ", " : "", best[i].name);
}

size_t cc_text_count(struct cc_view text, struct cc_view needle, size_t *out_first)
{
	size_t count = 0;
	const char *at = text.ptr, *end = text.ptr + text.len;

	while (needle.len && at && (at = memmem(at, (size_t)(end - at), needle.ptr, needle.len))) {
		if (count++ == 0)
			*out_first = (size_t)(at - text.ptr);
		at += needle.len;
	}
	return count;
}
