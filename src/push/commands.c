#define _GNU_SOURCE
#include "push/commands.h"

#include "base/mem.h"
#include "push/pktline.h"

#include <stdlib.h>
#include <string.h>

bool cc_push_oid_ok(struct cc_view text)
{
	for (size_t i = 0; i < text.len; i++)
		if (cc_hex_value(text.ptr[i]) < 0 || (text.ptr[i] >= 'A' && text.ptr[i] <= 'F'))
			return false;
	return text.len == 40 || text.len == CC_PUSH_OID;
}

static bool part_ok(struct cc_view part)
{
	return part.len && part.ptr[0] != '.' && !cc_view_ends(part, ".lock");
}

/* git's check-ref-format, and what receive-pack wants besides: below refs/, with two parts or more behind it. */
bool cc_push_ref_ok(struct cc_view name)
{
	size_t from = 0, parts = 0;

	if (name.len > CC_PUSH_REF || !cc_view_starts(name, "refs/") || name.ptr[name.len - 1] == '.')
		return false;
	for (size_t i = 0; i <= name.len; i++) {
		unsigned char byte = i < name.len ? (unsigned char)name.ptr[i] : '/';
		unsigned char next = i + 1 < name.len ? (unsigned char)name.ptr[i + 1] : 0;

		if (byte < 0x20 || byte == 0x7f || strchr(" ~^:?*[\\", byte) || (byte == '.' && next == '.') ||
		    (byte == '@' && next == '{'))
			return false;
		if (byte != '/')
			continue;
		if (!part_ok((struct cc_view){name.ptr + from, i - from}))
			return false;
		from = i + 1;
		parts++;
	}
	return parts >= 3;
}

static enum cc_push_step bad(struct cc_err *err, const char *why)
{
	(void)cc_fail(err, CC_EINVAL, 0, "the list of references of this push is not well formed: %s", why);
	return CC_PUSH_BAD;
}

/* The words that change how the push is answered; the others are for the upstream alone. */
static enum cc_push_step take_capabilities(struct cc_push_list *list, struct cc_view text, struct cc_err *err)
{
	while (text.len) {
		const char *space = memchr(text.ptr, ' ', text.len);
		struct cc_view word = {text.ptr, space ? (size_t)(space - text.ptr) : text.len};

		text.ptr += word.len + (space ? 1 : 0);
		text.len -= word.len + (space ? 1 : 0);
		list->report |= cc_view_is(word, "report-status");
		list->report_v2 |= cc_view_is(word, "report-status-v2");
		list->side_band |= cc_view_is(word, "side-band-64k");
		list->atomic |= cc_view_is(word, "atomic");
		list->push_options |= cc_view_is(word, "push-options");
		if (cc_view_starts(word, "object-format=")) {
			size_t want = cc_view_is(word, "object-format=sha256") ? CC_PUSH_OID : 40;

			if (want == 40 && !cc_view_is(word, "object-format=sha1"))
				return bad(err, "a hash that nobody knows");
			if (list->oid && list->oid != want)
				return bad(err, "ids in two hashes");
			list->oid = want;
		}
	}
	return CC_PUSH_MORE;
}

/* An id and the space behind it. */
static bool take_oid(struct cc_push_list *list, struct cc_view *line, char *out)
{
	const char *space = memchr(line->ptr, ' ', line->len);
	struct cc_view id = {line->ptr, space ? (size_t)(space - line->ptr) : line->len};

	if (!cc_push_oid_ok(id) || (list->oid && id.len != list->oid))
		return false;
	list->oid = id.len;
	memcpy(out, id.ptr, id.len);
	out[id.len] = '\0';
	if (strspn(out, "0") == id.len)
		out[0] = '\0';
	line->ptr += id.len + (space ? 1 : 0);
	line->len -= id.len + (space ? 1 : 0);
	return true;
}

static enum cc_push_step take_command(struct cc_push_list *list, struct cc_view line, struct cc_err *err)
{
	struct cc_push_command command = {0};

	if (!take_oid(list, &line, command.old) || !take_oid(list, &line, command.new))
		return bad(err, "a line that is no command");
	if (!cc_push_ref_ok(line))
		return bad(err, "a name that no reference can have");
	if (!command.old[0] && !command.new[0])
		return bad(err, "a reference that neither was nor is to be");
	if (list->count == CC_PUSH_COMMANDS)
		return bad(err, "more than 5000 references");
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 16;
		struct cc_push_command *items = realloc(list->items, room * sizeof(*items));

		if (!items)
			return bad(err, "there is no memory for it");
		list->items = items;
		list->room = room;
	}
	command.ref = strndup(line.ptr, line.len);
	if (!command.ref)
		return bad(err, "there is no memory for it");
	list->items[list->count++] = command;
	return CC_PUSH_MORE;
}

static int by_ref(const void *left, const void *right)
{
	const struct cc_push_command *const *a = left, *const *b = right;

	return strcmp((*a)->ref, (*b)->ref);
}

/* git would do one of the two. Which, is not to be guessed. */
static bool has_twice(const struct cc_push_list *list)
{
	const struct cc_push_command **sorted = malloc((list->count + 1) * sizeof(*sorted));
	bool twice = !sorted;

	for (size_t i = 0; sorted && i < list->count; i++)
		sorted[i] = &list->items[i];
	if (sorted)
		qsort(sorted, list->count, sizeof(struct cc_push_command *), by_ref);
	for (size_t i = 1; sorted && i < list->count; i++)
		twice |= strcmp(sorted[i - 1]->ref, sorted[i]->ref) == 0;
	free(sorted);
	return twice;
}

static enum cc_push_step finish(struct cc_push_list *list, struct cc_err *err)
{
	if (has_twice(list))
		return bad(err, "a reference stands in it twice");
	list->place = CC_PUSH_AT_END;
	return CC_PUSH_DONE;
}

static enum cc_push_step on_flush(struct cc_push_list *list, struct cc_err *err)
{
	switch (list->place) {
	case CC_PUSH_AT_SHALLOWS:
		return finish(list, err);
	case CC_PUSH_AT_COMMANDS:
	case CC_PUSH_AT_CERT_END:
		if (list->count == 0)
			return bad(err, "a certificate without a command");
		list->place = CC_PUSH_AT_OPTIONS;
		return list->push_options ? CC_PUSH_MORE : finish(list, err);
	case CC_PUSH_AT_OPTIONS:
		return finish(list, err);
	default:
		return bad(err, "it ends inside a certificate");
	}
}

/* The line without its end, and what stands behind the zero byte of the first one. */
static bool split(struct cc_view data, struct cc_view *out_line, struct cc_view *out_words)
{
	const char *zero;

	if (data.len && data.ptr[data.len - 1] == '\n')
		data.len--;
	zero = data.len ? memchr(data.ptr, '\0', data.len) : NULL;
	*out_line = (struct cc_view){data.ptr, zero ? (size_t)(zero - data.ptr) : data.len};
	*out_words = zero ? (struct cc_view){zero + 1, data.len - out_line->len - 1} : (struct cc_view){NULL, 0};
	return zero != NULL;
}

static enum cc_push_step first_line(struct cc_push_list *list, struct cc_view data, struct cc_err *err)
{
	struct cc_view line, words;
	bool has_words = split(data, &line, &words);
	char shallow[CC_PUSH_OID + 1];

	if (!has_words && cc_view_starts(line, "shallow ")) {
		line.ptr += 8;
		line.len -= 8;
		if (++list->shallows > CC_PUSH_SHALLOWS || !take_oid(list, &line, shallow) || line.len)
			return bad(err, "a line about a shallow history that cannot be understood");
		return CC_PUSH_MORE;
	}
	if (has_words && memchr(words.ptr, '\0', words.len))
		return bad(err, "a zero byte");
	if (take_capabilities(list, words, err) == CC_PUSH_BAD)
		return CC_PUSH_BAD;
	if (cc_view_is(line, "push-cert")) {
		list->certified = true;
		list->place = CC_PUSH_AT_CERT;
		return CC_PUSH_MORE;
	}
	list->place = CC_PUSH_AT_COMMANDS;
	return take_command(list, line, err);
}

static enum cc_push_step cert_line(struct cc_push_list *list, struct cc_view line, struct cc_err *err)
{
	bool begins = cc_view_starts(line, "-----BEGIN ");

	if (cc_view_is(line, "push-cert-end")) {
		if (list->place != CC_PUSH_AT_CERT_SIGN)
			return bad(err, "a certificate without a signature");
		list->place = CC_PUSH_AT_CERT_END;
		return CC_PUSH_MORE;
	}
	if (list->place == CC_PUSH_AT_CERT) {
		if (begins)
			return bad(err, "a certificate without a command");
		if (line.len == 0)
			list->place = CC_PUSH_AT_CERT_LIST;
		return CC_PUSH_MORE;
	}
	if (list->place == CC_PUSH_AT_CERT_LIST && !begins)
		return take_command(list, line, err);
	/* git takes what stands before the last of them for commands */
	if (list->place == CC_PUSH_AT_CERT_SIGN && begins)
		return bad(err, "a certificate with two signatures");
	list->place = CC_PUSH_AT_CERT_SIGN;
	return CC_PUSH_MORE;
}

static enum cc_push_step take_option(struct cc_push_list *list, struct cc_view data, struct cc_err *err)
{
	if (list->options.count == CC_PUSH_OPTIONS)
		return bad(err, "more than 100 options");
	if (memchr(data.ptr ? data.ptr : "", '\0', data.len))
		return bad(err, "a zero byte in an option");
	while (data.len && data.ptr[data.len - 1] == '\n')
		data.len--;
	return cc_strv_push_view(&list->options, data, err) == CC_OK ? CC_PUSH_MORE : CC_PUSH_BAD;
}

static enum cc_push_step on_data(struct cc_push_list *list, struct cc_view data, struct cc_err *err)
{
	struct cc_view line, words;

	if (list->place == CC_PUSH_AT_SHALLOWS)
		return first_line(list, data, err);
	if (list->place == CC_PUSH_AT_OPTIONS)
		return take_option(list, data, err);
	if (split(data, &line, &words))
		return bad(err, "a zero byte");
	if (list->place == CC_PUSH_AT_CERT_END)
		return bad(err, "something between a certificate and its end");
	if (list->place == CC_PUSH_AT_COMMANDS)
		return take_command(list, line, err);
	/* a packet with several lines would be one line here and several there */
	if (memchr(line.ptr ? line.ptr : "", '\n', line.len))
		return bad(err, "two lines in one");
	return cert_line(list, line, err);
}

enum cc_push_step cc_push_feed(struct cc_push_list *list, struct cc_view bytes, size_t *out_used, struct cc_err *err)
{
	enum cc_push_step step = list->place == CC_PUSH_AT_END ? CC_PUSH_DONE : CC_PUSH_MORE;

	*out_used = 0;
	while (step == CC_PUSH_MORE) {
		struct cc_view data;
		size_t before = *out_used;
		enum cc_pkt kind = cc_pkt_next(bytes, out_used, &data);

		if (kind == CC_PKT_MORE)
			return CC_PUSH_MORE;
		list->bytes += *out_used - before;
		if (list->bytes > CC_PUSH_BYTES)
			return bad(err, "it is larger than 4 MiB");
		if (kind == CC_PKT_DATA)
			step = on_data(list, data, err);
		else if (kind == CC_PKT_FLUSH)
			step = on_flush(list, err);
		else
			return bad(err, "a packet whose length cannot be");
	}
	return step;
}

bool cc_push_has_pack(const struct cc_push_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].new[0])
			return true;
	return false;
}

void cc_push_list_done(struct cc_push_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].ref);
	free(list->items);
	cc_strv_done(&list->options);
	*list = (struct cc_push_list){0};
}
