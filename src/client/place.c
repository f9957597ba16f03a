#define _GNU_SOURCE
#include "client/place.h"

#include "base/view.h"

#include <stdio.h>
#include <string.h>

static enum cc_code fit(int len, const char *what, struct cc_err *err)
{
	return len > 0 && len < PATH_MAX ? CC_OK : cc_fail(err, CC_EINVAL, 0, "the path of %s is too long", what);
}

enum cc_code cc_place_data(const char *wanted, char *const *env, char out[PATH_MAX], struct cc_err *err)
{
	const char *base = cc_env_get(env, "XDG_DATA_HOME");
	const char *home = cc_env_get(env, "HOME");

	if (!wanted)
		wanted = cc_env_get(env, "CC_SERVER_DATA_DIR");
	if (wanted && wanted[0] == '/')
		return fit(snprintf(out, PATH_MAX, "%s", wanted), "the data directory", err);
	if (wanted)
		return cc_fail(err, CC_EINVAL, 0, "the data directory %s is not an absolute path", wanted);
	if (base && base[0] == '/')
		return fit(snprintf(out, PATH_MAX, "%s/ccbox-server", base), "the data directory", err);
	if (home && home[0] == '/')
		return fit(snprintf(out, PATH_MAX, "%s/.local/share/ccbox-server", home), "the data directory", err);
	return cc_fail(err, CC_EINVAL, 0, "neither XDG_DATA_HOME nor HOME says where data goes: use --data-dir");
}

enum cc_code cc_place_run(const char *data_dir, bool chosen, char *const *env, char out[PATH_MAX], struct cc_err *err)
{
	const char *run = cc_env_get(env, "XDG_RUNTIME_DIR");

	if (!chosen && run && run[0] == '/')
		return fit(snprintf(out, PATH_MAX, "%s/ccbox", run), "the socket", err);
	return fit(snprintf(out, PATH_MAX, "%s/run", data_dir), "the socket", err);
}

enum cc_code cc_place_socket(const char *data_dir, char *const *env, char out[PATH_MAX], struct cc_err *err)
{
	const char *said = cc_env_get(env, "CC_SERVER_SOCKET");
	char data[PATH_MAX], run[PATH_MAX];
	enum cc_code code;

	if (!data_dir && said && said[0] == '/')
		return fit(snprintf(out, PATH_MAX, "%s", said), "CC_SERVER_SOCKET", err);
	code = cc_place_data(data_dir, env, data, err);
	if (code == CC_OK)
		code = cc_place_run(data, data_dir || cc_env_get(env, "CC_SERVER_DATA_DIR"), env, run, err);
	return code == CC_OK ? fit(snprintf(out, PATH_MAX, "%s/server.sock", run), "the socket", err) : code;
}
