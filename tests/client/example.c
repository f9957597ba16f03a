/* example.c - a program that uses libccbox: a sandbox over a directory, a command in it, what was refused.
 * usage: example DIR */
#include <ccbox.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int give_up(const struct ccbox_error *error)
{
	fprintf(stderr, "example: %s: %s\n", error->code, error->message);
	return 1;
}

int main(int argc, char **argv)
{
	static const char *const words[] = {"sh", "-c", "echo hello; cat; echo x >.env; exit 7", NULL};
	struct ccbox_command command = {.size = sizeof(command), .argv = words, .stdin_open = 1};
	struct ccbox_error error = {0};
	struct ccbox_stream *stream;
	struct ccbox_event event;
	struct ccbox *box;
	char spec[4096], *handle;
	int code = -1;

	if (argc != 2 || ccbox_open(NULL, &box, &error) != 0)
		return give_up(&error);
	snprintf(spec, sizeof(spec), "{\"sessionId\":\"example::1\",\"bindMounts\":[{\"hostPath\":\"%s\"}]}", argv[1]);
	if (ccbox_launch(box, spec, &handle, &error) != 0)
		return give_up(&error);
	printf("%s\n", handle);
	free(handle);
	if (ccbox_exec(box, "example::1", &command, &stream, &error) != 0)
		return give_up(&error);
	if (ccbox_stdin(box, "example::1", ccbox_stream_command(stream), "given\n", 6, 1, &error) != 0)
		return give_up(&error);
	while (ccbox_next(stream, -1, &event, &error) > 0) {
		if (strcmp(event.type, "stdout") == 0)
			fwrite(event.content, 1, event.content_len, stdout);
		if (strcmp(event.type, "exit") == 0)
			code = event.exit_code;
	}
	ccbox_stream_close(stream);
	printf("exit %d\n", code);
	if (ccbox_events(box, "example::1", 0, 0, &stream, &error) != 0)
		return give_up(&error);
	while (ccbox_next(stream, -1, &event, &error) > 0)
		if (strcmp(event.type, "violation") == 0)
			printf("%s\n", event.json);
	ccbox_stream_close(stream);
	if (ccbox_destroy(box, "example::1", &error) != 0)
		return give_up(&error);
	printf("%s\n", ccbox_exec(box, "example::1", &command, &stream, &error) == 0 ? "still there" : error.code);
	ccbox_close(box);
	return 0;
}
