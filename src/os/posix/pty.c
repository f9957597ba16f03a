#define _GNU_SOURCE
#include "os/pty.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum cc_code cc_pty_open(struct cc_pty_size size, int *out_master, int *out_slave, struct cc_err *err)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];
	int slave;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 || ptsname_r(master, name, sizeof(name)) != 0)
		goto fail;
	slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		goto fail;
	cc_pty_set_size(master, size);
	*out_master = master;
	*out_slave = slave;
	return CC_OK;
fail:
	cc_fail(err, CC_ESYS, errno, "cannot make a pseudo terminal");
	if (master >= 0)
		close(master);
	return CC_ESYS;
}

bool cc_pty_get_size(int fd, struct cc_pty_size *out_size)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
		return false;
	*out_size = (struct cc_pty_size){size.ws_row, size.ws_col};
	return true;
}

void cc_pty_set_size(int fd, struct cc_pty_size size)
{
	struct winsize window = {.ws_row = size.rows, .ws_col = size.cols};

	ioctl(fd, TIOCSWINSZ, &window);
}

/* The one global of this room: a fatal signal must find the terminal's old state without being told. */
static struct {
	int fd;
	struct termios saved;
	volatile int raw;
} terminal = {.fd = -1};

bool cc_pty_raw(int fd)
{
	struct termios mode;

	if (tcgetattr(fd, &terminal.saved) < 0)
		return false;
	mode = terminal.saved;
	cfmakeraw(&mode);
	terminal.fd = fd;
	terminal.raw = 1;
	return tcsetattr(fd, TCSADRAIN, &mode) == 0;
}

void cc_pty_restore(void)
{
	if (!terminal.raw)
		return;
	terminal.raw = 0;
	tcsetattr(terminal.fd, TCSADRAIN, &terminal.saved);
}

void cc_pty_tidy(int fd, bool alternate)
{
	/* mouse, focus and paste reports, application keys, kitty keyboard, hidden cursor, colours */
	static const char reset[] = "\033[?1000;1002;1003;1006;1004;2004l\033[?1l\033>\033[<u\033[?25h\033[0m";
	/* only when it is on: switching it off twice would move the cursor */
	static const char leave[] = "\033[?1049l";
	ssize_t done = alternate ? write(fd, leave, sizeof(leave) - 1) : 0;

	done = write(fd, reset, sizeof(reset) - 1);
	(void)done;
	tcflush(fd, TCIFLUSH);
}

enum { GROUND = 0, ESCAPE, C1_LEAD, CSI, OSC, DCS, DROP, DROP_ESCAPE };
/* An OSC also ends at BEL; a DCS does not (bell_ends tells which). */

static void filter_hold(struct cc_pty_filter *filter, unsigned state, char byte)
{
	filter->hold[filter->held++] = byte;
	filter->state = state;
}

static void filter_pass(struct cc_pty_filter *filter, struct cc_buf *out)
{
	cc_buf_add(out, filter->hold, filter->held);
	filter->held = 0;
	filter->state = GROUND;
}

static void filter_refuse(struct cc_pty_filter *filter, unsigned state)
{
	filter->held = 0;
	filter->state = state;
}

/* What was held, after its introducer (ESC x or the two bytes of a C1 character). */
static bool held_is(const struct cc_pty_filter *filter, const char *text)
{
	size_t len = strlen(text);

	return filter->held == len + 2 && memcmp(filter->hold + 2, text, len) == 0;
}

static bool held_starts(const struct cc_pty_filter *filter, const char *text)
{
	size_t len = strlen(text);

	return filter->held >= len + 2 && memcmp(filter->hold + 2, text, len) == 0;
}

static bool osc_refused(const struct cc_pty_filter *filter)
{
	static const char *const numbers[] = {"52", "1337", "133", "633", "50"};

	for (size_t i = 0; i < CC_COUNT(numbers); i++)
		if (held_is(filter, numbers[i]))
			return true;
	return false;
}

static bool at_end_of_string(char byte)
{
	return byte == '\a' || byte == '\033';
}

/* Operating system command: decided at the first ';' or at its end. */
static void filter_osc(struct cc_pty_filter *filter, char byte, struct cc_buf *out)
{
	if (byte >= '0' && byte <= '9' && filter->held < 12) {
		filter_hold(filter, OSC, byte);
		return;
	}
	if (osc_refused(filter)) {
		filter->bell_ends = true;
		filter_refuse(filter, byte == '\033' ? DROP_ESCAPE : byte == '\a' ? GROUND : DROP);
		return;
	}
	filter_pass(filter, out);
	if (byte == '\033')
		filter_hold(filter, ESCAPE, byte);
	else
		cc_buf_add(out, &byte, 1);
}

static void filter_dcs(struct cc_pty_filter *filter, char byte, struct cc_buf *out)
{
	if (!at_end_of_string(byte) && filter->held < 8) {
		filter_hold(filter, DCS, byte);
		if (held_starts(filter, "@kitty") || held_starts(filter, "tmux;")) {
			filter->bell_ends = false;
			filter_refuse(filter, DROP);
		}
		return;
	}
	filter_pass(filter, out);
	if (byte == '\033')
		filter_hold(filter, ESCAPE, byte);
	else
		cc_buf_add(out, &byte, 1);
}

static void filter_csi(struct cc_pty_filter *filter, char byte, struct cc_buf *out)
{
	bool report;

	if (filter->held >= sizeof(filter->hold) - 1 || byte < ' ' || byte == 0x7f) {
		filter_pass(filter, out);
		cc_buf_add(out, &byte, 1);
		return;
	}
	if (byte < '@') {
		filter_hold(filter, CSI, byte);
		return;
	}
	report = byte == 't' && (held_is(filter, "20") || held_is(filter, "21") || held_starts(filter, "20;") ||
				 held_starts(filter, "21;"));
	if (report) {
		filter_refuse(filter, GROUND);
		return;
	}
	if ((byte == 'h' || byte == 'l') &&
	    (held_is(filter, "?1049") || held_is(filter, "?1047") || held_is(filter, "?47")))
		filter->alternate = byte == 'h';
	filter_hold(filter, GROUND, byte);
	filter_pass(filter, out);
}

static const struct {
	char after_escape;
	unsigned char c1; /* second byte of the character U+0080..U+009F in UTF-8 */
	unsigned state;
} introducers[] = {{'[', 0x9b, CSI}, {']', 0x9d, OSC}, {'P', 0x90, DCS}};

static void filter_second(struct cc_pty_filter *filter, char byte, struct cc_buf *out)
{
	for (size_t i = 0; i < CC_COUNT(introducers); i++) {
		bool match = filter->state == ESCAPE ? byte == introducers[i].after_escape
						     : (unsigned char)byte == introducers[i].c1;

		if (match) {
			filter_hold(filter, introducers[i].state, byte);
			return;
		}
	}
	if (byte == '\033') {
		filter_pass(filter, out);
		filter_hold(filter, ESCAPE, byte);
		return;
	}
	filter_hold(filter, GROUND, byte);
	filter_pass(filter, out);
}

static void filter_byte(struct cc_pty_filter *filter, char byte, struct cc_buf *out)
{
	switch (filter->state) {
	case ESCAPE:
	case C1_LEAD:
		filter_second(filter, byte, out);
		break;
	case CSI:
		filter_csi(filter, byte, out);
		break;
	case OSC:
		filter_osc(filter, byte, out);
		break;
	case DCS:
		filter_dcs(filter, byte, out);
		break;
	case DROP:
		if (byte == '\a' && filter->bell_ends)
			filter->state = GROUND;
		else if (byte == '\033')
			filter->state = DROP_ESCAPE;
		break;
	case DROP_ESCAPE:
		filter->state = byte == '\\' ? GROUND : byte == '\033' ? DROP_ESCAPE : DROP;
		break;
	default:
		if (byte == '\033')
			filter_hold(filter, ESCAPE, byte);
		else if ((unsigned char)byte == 0xc2)
			filter_hold(filter, C1_LEAD, byte);
		else
			cc_buf_add(out, &byte, 1);
	}
}

void cc_pty_filter(struct cc_pty_filter *filter, const char *bytes, size_t len, struct cc_buf *out)
{
	for (size_t i = 0; i < len; i++) {
		if (filter->state == GROUND) {
			size_t plain = i;

			while (plain < len && bytes[plain] != '\033' && (unsigned char)bytes[plain] != 0xc2)
				plain++;
			cc_buf_add(out, bytes + i, plain - i);
			i = plain;
			if (i == len)
				break;
		}
		filter_byte(filter, bytes[i], out);
	}
}

void cc_pty_filter_end(struct cc_pty_filter *filter, struct cc_buf *out)
{
	if (filter->held && filter->state != DROP && filter->state != DROP_ESCAPE)
		filter_pass(filter, out);
}
