#define _GNU_SOURCE
/* page.c - the page and what it loads, carried in the program (tools/embed.sh). Nothing in it is secret. */
#include "console/console.h"

#define FILE_OF(name)                                                                                                  \
	extern const unsigned char cc_file_##name[];                                                                   \
	extern const size_t cc_file_##name##_len;

FILE_OF(index_html)
FILE_OF(console_css)
FILE_OF(styles_js)
FILE_OF(main_js)
FILE_OF(api_js)
FILE_OF(term_js)
FILE_OF(views_js)
FILE_OF(runs_js)
FILE_OF(icon_svg)
FILE_OF(xterm_js)
FILE_OF(xterm_css)
FILE_OF(addon_fit_js)

#define HTML   "text/html; charset=utf-8"
#define CSS    "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"

#define ROW(path, type, name)                                                                                          \
	{                                                                                                              \
		path, type, cc_file_##name, &cc_file_##name##_len, "gzip", CC_WEB_OPEN                                 \
	}

const struct cc_asset cc_assets_console[] = {
	ROW("/", HTML, index_html),
	ROW("/console/console.css", CSS, console_css),
	ROW("/console/styles.js", SCRIPT, styles_js),
	ROW("/console/main.js", SCRIPT, main_js),
	ROW("/console/api.js", SCRIPT, api_js),
	ROW("/console/term.js", SCRIPT, term_js),
	ROW("/console/views.js", SCRIPT, views_js),
	ROW("/console/runs.js", SCRIPT, runs_js),
	ROW("/console/icon.svg", "image/svg+xml", icon_svg),
	ROW("/console/xterm.js", SCRIPT, xterm_js),
	ROW("/console/xterm.css", CSS, xterm_css),
	ROW("/console/addon-fit.js", SCRIPT, addon_fit_js),
	{0},
};
