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

/* Who named it, what the host can hold -> what is taken; UNSET is a refusal. Every combination stands here. */
static const struct {
	bool asked; /* the client named it, else it is the server's default */
	enum cc_backend_kind kind;
	bool native, microvm;
	enum cc_backend_kind taken;
} choices[] = {
	{true, CC_BACKEND_NONE, false, false, CC_BACKEND_NONE},
	{true, CC_BACKEND_NONE, false, true, CC_BACKEND_NONE},
	{true, CC_BACKEND_NONE, true, false, CC_BACKEND_NONE},
	{true, CC_BACKEND_NONE, true, true, CC_BACKEND_NONE},
	{true, CC_BACKEND_NATIVE, false, false, CC_BACKEND_UNSET},
	{true, CC_BACKEND_NATIVE, false, true, CC_BACKEND_UNSET},
	{true, CC_BACKEND_NATIVE, true, false, CC_BACKEND_NATIVE},
	{true, CC_BACKEND_NATIVE, true, true, CC_BACKEND_NATIVE},
	{true, CC_BACKEND_MICROVM, false, false, CC_BACKEND_UNSET},
	{true, CC_BACKEND_MICROVM, false, true, CC_BACKEND_MICROVM},
	{true, CC_BACKEND_MICROVM, true, false, CC_BACKEND_UNSET},
	{true, CC_BACKEND_MICROVM, true, true, CC_BACKEND_MICROVM},
	{false, CC_BACKEND_NONE, false, false, CC_BACKEND_NONE},
	{false, CC_BACKEND_NONE, false, true, CC_BACKEND_NONE},
	{false, CC_BACKEND_NONE, true, false, CC_BACKEND_NONE},
	{false, CC_BACKEND_NONE, true, true, CC_BACKEND_NONE},
	{false, CC_BACKEND_NATIVE, false, false, CC_BACKEND_UNSET},
	{false, CC_BACKEND_NATIVE, false, true, CC_BACKEND_UNSET},
	{false, CC_BACKEND_NATIVE, true, false, CC_BACKEND_NATIVE},
	{false, CC_BACKEND_NATIVE, true, true, CC_BACKEND_NATIVE},
	/* the only step down, and it ends at native */
	{false, CC_BACKEND_MICROVM, false, false, CC_BACKEND_UNSET},
	{false, CC_BACKEND_MICROVM, false, true, CC_BACKEND_MICROVM},
	{false, CC_BACKEND_MICROVM, true, false, CC_BACKEND_NATIVE},
	{false, CC_BACKEND_MICROVM, true, true, CC_BACKEND_MICROVM},
};

static enum cc_code refuse_choice(const struct cc_choice_ask *ask, enum cc_backend_kind kind, struct cc_err *err)
{
	if (kind == CC_BACKEND_MICROVM && ask->asked)
		return cc_fail(err, CC_EUNSUPPORTED, 0,
			       "this host cannot boot a microvm; nothing was started, and no other backend is taken");
	return cc_fail(err, CC_EUNSUPPORTED, 0, "this host cannot hold the native sandbox%s%s; nothing was started",
		       ask->why_not_native ? ": " : "", ask->why_not_native ? ask->why_not_native : "");
}

enum cc_code cc_backend_choose(const struct cc_choice_ask *ask, struct cc_choice *out_choice, struct cc_err *err)
{
	enum cc_backend_kind kind = ask->configured == CC_BACKEND_UNSET ? CC_BACKEND_NONE : ask->configured;
	enum cc_code code = ask->asked ? cc_backend_parse(ask->asked, &kind, err) : CC_OK;

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(choices); i++) {
		if (choices[i].asked != (ask->asked != NULL) || choices[i].kind != kind ||
		    choices[i].native != ask->native || choices[i].microvm != ask->microvm)
			continue;
		if (choices[i].taken == CC_BACKEND_UNSET)
			break;
		*out_choice = (struct cc_choice){choices[i].taken, choices[i].taken != kind};
		return CC_OK;
	}
	return code == CC_OK ? refuse_choice(ask, kind, err) : code;
}
