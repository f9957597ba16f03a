#include "backend/pick.h"

#include "base/mem.h"

static const struct cc_backend *const offered[] = {&cc_backend_native_linux, &cc_backend_none};

static const struct cc_backend *find(enum cc_backend_kind kind)
{
	for (size_t i = 0; i < CC_COUNT(offered); i++)
		if (offered[i]->kind == kind)
			return offered[i];
	return NULL;
}

enum cc_code cc_backend_check(const struct cc_backend *backend, unsigned needs, struct cc_err *err)
{
	unsigned unheld = needs & ~backend->enforces;

	for (int i = 0; i < CC_NEED_COUNT; i++)
		if (unheld & (1u << i))
			return cc_fail(err, CC_EUNENFORCED, 0, "backend %s cannot hold the rule \"%s\" (%s)",
				       cc_backend_name(backend->kind), cc_need_name((enum cc_need_index)i),
				       cc_need_text((enum cc_need_index)i));
	return CC_OK;
}

enum cc_code cc_backend_pick(enum cc_backend_kind asked, unsigned needs, const struct cc_backend **out_backend,
			     unsigned *out_unheld, struct cc_err *err)
{
	enum cc_backend_kind kind = asked == CC_BACKEND_UNSET ? CC_BACKEND_NATIVE : asked;
	const struct cc_backend *backend = find(kind);
	enum cc_code code;

	if (!backend)
		return cc_fail(err, CC_EUNSUPPORTED, 0,
			       "backend %s is not built into this version; nothing was started", cc_backend_name(kind));
	code = kind == CC_BACKEND_NONE ? CC_OK : cc_backend_check(backend, needs, err);
	if (code != CC_OK)
		return code;
	*out_backend = backend;
	*out_unheld = needs & ~backend->enforces;
	return CC_OK;
}
