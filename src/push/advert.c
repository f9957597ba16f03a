#include "push/advert.h"

#include "push/pktline.h"

#include <stdlib.h>
#include <string.h>

static enum cc_push_step bad(struct cc_err *err, const char *why)
{
	(void)cc_fail(err, CC_EPROTO, 0, "the upstream's list of references is not what it should be: %s", why);
	return CC_PUSH_BAD;
}

static bool add(struct cc_push_advert *advert, struct cc_view id)
{
	if (advert->count == CC_PUSH_TIPS)
		return true;
	/* several references on one commit often stand together */
	if (advert->count && cc_view_is(id, advert->tips[advert->count - 1]))
		return true;
	if (advert->count == advert->room) {
		size_t room = advert->room ? 2 * advert->room : 16;
		char(*tips)[CC_PUSH_OID + 1] = realloc(advert->tips, room * sizeof(*tips));

		if (!tips)
			return false;
		advert->tips = tips;
		advert->room = room;
	}
	memcpy(advert->tips[advert->count], id.ptr, id.len);
	advert->tips[advert->count++][id.len] = '\0';
	return true;
}

static enum cc_push_step on_line(struct cc_push_advert *advert, struct cc_view line, struct cc_err *err)
{
	const char *space, *zero;
	struct cc_view id, name;

	if (line.len && line.ptr[line.len - 1] == '\n')
		line.len--;
	if (!advert->service) {
		advert->service = cc_view_is(line, "# service=git-receive-pack");
		return advert->service ? CC_PUSH_MORE : bad(err, "it is for another service");
	}
	if (advert->flushes == 0)
		return bad(err, "its head has two lines");
	if (cc_view_is(line, "version 1") || cc_view_starts(line, "shallow "))
		return CC_PUSH_MORE;
	space = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
	id = (struct cc_view){line.ptr, space ? (size_t)(space - line.ptr) : 0};
	if (!cc_push_oid_ok(id))
		return bad(err, "a line that is no reference");
	name = (struct cc_view){space + 1, line.len - id.len - 1};
	zero = name.len ? memchr(name.ptr, '\0', name.len) : NULL;
	name.len = zero ? (size_t)(zero - name.ptr) : name.len;
	/* Not .have, which are objects of other repositories, nor refs/pull and its like, where strangers may put
	 * theirs: such a commit is new when it is to stand on a branch. */
	if (!cc_view_starts(name, "refs/heads/") && !cc_view_starts(name, "refs/tags/"))
		return CC_PUSH_MORE;
	return add(advert, id) ? CC_PUSH_MORE : bad(err, "there is no memory for it");
}

enum cc_push_step cc_push_advert_feed(struct cc_push_advert *advert, struct cc_view bytes, size_t *out_used,
				      struct cc_err *err)
{
	enum cc_push_step step = advert->flushes == 2 ? CC_PUSH_DONE : CC_PUSH_MORE;

	*out_used = 0;
	while (step == CC_PUSH_MORE) {
		struct cc_view data;
		enum cc_pkt kind = cc_pkt_next(bytes, out_used, &data);

		if (kind == CC_PKT_MORE)
			return CC_PUSH_MORE;
		if (kind == CC_PKT_DATA)
			step = on_line(advert, data, err);
		else if (kind != CC_PKT_FLUSH || !advert->service)
			return bad(err, "a packet whose length cannot be");
		else if (++advert->flushes == 2)
			step = CC_PUSH_DONE;
	}
	return step;
}

void cc_push_advert_done(struct cc_push_advert *advert)
{
	free(advert->tips);
	*advert = (struct cc_push_advert){0};
}
