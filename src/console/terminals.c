/* terminals.c - terminals on the server's loop: opened beside it (a sandbox takes a while to start), then polled on it.
 */
#define _GNU_SOURCE
#include "console/terminals.h"

#include "os/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cc_terminals_log(const struct cc_console *console, bool warning, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	console->log(warning, line);
}

static void free_handle(uv_handle_t *handle)
{
	free(handle);
}

struct cc_term_entry *cc_terminals_find(struct cc_console *console, const char *id)
{
	struct cc_term_entry *entry = console->terminals ? console->terminals->first : NULL;

	while (entry && strcmp(entry->id, id) != 0)
		entry = entry->next;
	return entry;
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct cc_term_entry *entry = handle->data;
	uv_os_fd_t fd = -1;

	(void)status;
	(void)events;
	if (uv_fileno((const uv_handle_t *)handle, &fd) == 0)
		cc_terminal_step(entry->terminal, fd);
	cc_terminals_after(entry);
}

static void stop_poll(struct cc_term_entry *entry, size_t index)
{
	uv_poll_stop(entry->polls[index].handle);
	uv_close((uv_handle_t *)entry->polls[index].handle, free_handle);
	entry->polls[index] = entry->polls[--entry->poll_count];
}

static void start_poll(struct cc_term_entry *entry, int fd)
{
	uv_poll_t *handle = calloc(1, sizeof(*handle));

	if (!handle || uv_poll_init(entry->all->console->loop, handle, fd) != 0) {
		free(handle);
		cc_terminals_log(entry->all->console, true, "terminal %s: cannot poll", entry->id);
		return;
	}
	handle->data = entry;
	entry->polls[entry->poll_count].handle = handle;
	entry->polls[entry->poll_count].events = 0;
	entry->polls[entry->poll_count++].fd = fd;
}

static void follow_fds(struct cc_term_entry *entry)
{
	struct cc_terminal_watch watch[CC_TERMINAL_WATCH];
	size_t count = cc_terminal_watch(entry->terminal, watch);

	for (size_t i = entry->poll_count; i-- > 0;) {
		bool wanted = false;

		for (size_t k = 0; k < count; k++)
			wanted |= watch[k].fd == entry->polls[i].fd;
		if (!wanted)
			stop_poll(entry, i);
	}
	for (size_t k = 0; k < count; k++) {
		int events = (watch[k].read ? UV_READABLE : 0) | (watch[k].write ? UV_WRITABLE : 0);
		size_t i = 0;

		while (i < entry->poll_count && entry->polls[i].fd != watch[k].fd)
			i++;
		if (i == entry->poll_count)
			start_poll(entry, watch[k].fd);
		if (i < entry->poll_count && entry->polls[i].events != events &&
		    uv_poll_start(entry->polls[i].handle, events, on_poll) == 0)
			entry->polls[i].events = events;
	}
}

static void forget(struct cc_term_entry *entry)
{
	struct cc_term_entry **at = &entry->all->first;

	while (*at && *at != entry)
		at = &(*at)->next;
	if (*at)
		*at = entry->next;
	entry->all->count--;
	cc_term_drop_viewers(entry);
	while (entry->poll_count)
		stop_poll(entry, 0);
	if (entry->timer)
		uv_close((uv_handle_t *)entry->timer, free_handle);
	cc_terminal_free(entry->terminal);
	for (size_t i = 0; i < CC_TERM_EVENTS; i++)
		free(entry->events[i]);
	free(entry);
}

static void on_timer(uv_timer_t *timer)
{
	struct cc_term_entry *entry = timer->data;

	if (entry->over_at && cc_clock_ms() >= entry->over_at + CC_TERM_KEPT_MS) {
		forget(entry);
		return;
	}
	cc_terminal_tick(entry->terminal, cc_clock_ms());
	cc_terminals_after(entry);
}

static void follow_time(struct cc_term_entry *entry)
{
	int64_t now = cc_clock_ms();
	int64_t deadline = entry->over_at ? entry->over_at + CC_TERM_KEPT_MS : cc_terminal_deadline(entry->terminal);

	if (!entry->timer)
		return;
	uv_timer_stop(entry->timer);
	uv_update_time(entry->all->console->loop);
	if (deadline >= 0)
		uv_timer_start(entry->timer, on_timer, (uint64_t)(deadline > now ? deadline - now : 0), 0);
}

void cc_terminals_after(struct cc_term_entry *entry)
{
	struct cc_terminal_info info;

	cc_terminal_info(entry->terminal, &info);
	if (info.over && !entry->over_at) {
		entry->over_at = cc_clock_ms();
		cc_terminals_log(entry->all->console, false, "terminal %s: %s", entry->id, info.why);
	}
	cc_term_wake(entry); /* first: it may type what was held back */
	follow_fds(entry);
	follow_time(entry);
}

enum { ENDING_STEP_MS = 20, ENDING_MS = 2000 };

static void look_for_end(uv_timer_t *timer)
{
	struct cc_console *console = timer->data;
	bool left = false;

	for (const struct cc_term_entry *at = console->terminals->first; at; at = at->next)
		left |= !at->over_at || at->conns;
	if (left && cc_clock_ms() < console->ending_until)
		return;
	uv_timer_stop(timer);
	console->ended(console->ended_context);
}

void cc_console_end(struct cc_console *console, void (*done)(void *context), void *context)
{
	console->ending = true;
	if (!console->terminals || !console->terminals->first) {
		done(context);
		return;
	}
	for (struct cc_term_entry *at = console->terminals->first; at; at = at->next) {
		if (!at->timer)
			continue; /* still being opened: its owner's end ends it */
		cc_terminal_close(at->terminal, CC_CLOSE_GOING);
		cc_terminals_after(at);
	}
	console->ended = done;
	console->ended_context = context;
	console->ending_until = cc_clock_ms() + ENDING_MS;
	console->ending_timer.data = console;
	uv_timer_init(console->loop, &console->ending_timer);
	uv_timer_start(&console->ending_timer, look_for_end, ENDING_STEP_MS, ENDING_STEP_MS);
}

void cc_console_stop(struct cc_console *console)
{
	while (console->terminals && console->terminals->first)
		forget(console->terminals->first);
	if (console->terminals)
		cc_strv_done(&console->terminals->daemon_paths);
	free(console->terminals);
	console->terminals = NULL;
}
