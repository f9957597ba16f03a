/* replay.c - runs a fuzz target over the files of directories and prints TAP: what was found once stays found, with any
 * compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 20 };

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *room = malloc(INPUT_MAX);
	uint8_t *data = NULL;
	size_t size;

	if (!file || !room) {
		free(room);
		if (file)
			fclose(file);
		return 0;
	}
	size = fread(room, 1, INPUT_MAX, file);
	fclose(file);
	data = malloc(size ? size : 1); /* exactly as long, so that a sanitizer sees one byte too many */
	if (data) {
		memcpy(data, room, size);
		LLVMFuzzerTestOneInput(data, size);
	}
	free(data);
	free(room);
	return 1;
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

int main(int argc, char **argv)
{
	int number = 0;
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		struct dirent **entries;
		int count = scandir(argv[i], &entries, NULL, by_name);

		for (int e = 0; e < count; e++) {
			char path[4096];

			snprintf(path, sizeof(path), "%s/%s", argv[i], entries[e]->d_name);
			if (entries[e]->d_name[0] != '.') {
				int ok = run_file(path);

				failed += !ok;
				printf("%sok %d - %s\n", ok ? "" : "not ", ++number, entries[e]->d_name);
				fflush(stdout);
			}
			free(entries[e]);
		}
		if (count >= 0)
			free(entries);
	}
	printf("1..%d\n", number);
	return failed > 0 || number == 0;
}
