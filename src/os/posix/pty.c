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

/* The one global of this room: there is one terminal, and every way out restores it. */
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

/* A string control that nothing is wrong with; byte is the one it was decided at, which may begin its end. */
static void filter_pass_string(struct cc_pty_filter *filter, char byte, struct cc_buf *out)
{
	filter_pass(filter, out);
	if (byte == '\033')
		filter_hold(filter, ESCAPE, byte);
	else
		cc_buf_add(out, &byte, 1);
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

static size_t digits_end(const struct cc_pty_filter *filter, size_t at)
{
	while (at < filter->held && filter->hold[at] >= '0' && filter->hold[at] <= '9')
		at++;
	return at;
}

/* Terminals read a number: 052 is 52. A longer one than any that is used may be made to wrap. */
static unsigned held_number(const struct cc_pty_filter *filter)
{
	size_t end = digits_end(filter, 2);
	unsigned number = 0;

	for (size_t at = 2; at < end; at++)
		number = number < 100000 ? number * 10 + (unsigned)(filter->hold[at] - '0') : 100000;
	return number;
}

enum { NUMBER_MAX = 99999, DCS_HELD_MAX = 40 };

static bool osc_refused(const struct cc_pty_filter *filter)
{
	static const unsigned numbers[] = {50, 51, 52, 133, 633, 1337, 5522};
	unsigned number = held_number(filter);

	for (size_t i = 0; i < CC_COUNT(numbers); i++)
		if (number == numbers[i])
			return true;
	return number > NUMBER_MAX;
}

/* Inside a sequence a terminal carries a control character out, or skips it, and the sequence goes on behind it; only
 * ESC, CAN and SUB end it. */
static bool goes_on_behind(char byte)
{
	return ((unsigned char)byte < ' ' && byte != '\033' && byte != 0x18 && byte != 0x1a) || byte == 0x7f;
}

static bool at_end_of_string(char byte)
{
	return byte == '\a' || byte == '\033';
}

/* Operating system command: decided at the first ';' or at its end. */
static void filter_osc(struct cc_pty_filter *filter, char byte, struct cc_buf *out)
{
	bool digit = byte >= '0' && byte <= '9';

	if (digit && filter->held < sizeof(filter->hold) - 1) {
		filter_hold(filter, OSC, byte);
		return;
	}
	if (byte != '\a' && goes_on_behind(byte))
		return;
	if (digit || osc_refused(filter)) {
		filter->bell_ends = true;
		filter_refuse(filter, byte == '\033' ? DROP_ESCAPE : byte == '\a' ? GROUND : DROP);
		return;
	}
	filter_pass_string(filter, byte, out);
}

/* Parameters may stand in front; a terminal that looks for the word does not see them. */
static bool dcs_refused(const struct cc_pty_filter *filter)
{
	static const char *const words[] = {"@kitty", "tmux;"};
	size_t at = 2;

	while (at < filter->held && filter->hold[at] >= ' ' && filter->hold[at] <= '?')
		at++;
	for (size_t i = 0; i < CC_COUNT(words); i++) {
		size_t len = strlen(words[i]);

		if (filter->held - at >= len && memcmp(filter->hold + at, words[i], len) == 0)
			return true;
	}
	return false;
}

static void filter_dcs(struct cc_pty_filter *filter, char byte, struct cc_buf *out)
{
	if (byte != '\a' && goes_on_behind(byte))
		return;
	if (!at_end_of_string(byte) && filter->held < DCS_HELD_MAX) {
		filter_hold(filter, DCS, byte);
		if (dcs_refused(filter)) {
			filter->bell_ends = false;
			filter_refuse(filter, DROP);
		}
		return;
	}
	filter_pass_string(filter, byte, out);
}

static void filter_csi(struct cc_pty_filter *filter, char byte, struct cc_buf *out)
{
	unsigned number;
	bool report;

	if (goes_on_behind(byte)) {
		cc_buf_add(out, &byte, 1);
		return;
	}
	if (byte == '\033') { /* it was cut short, and another begins */
		filter_refuse(filter, GROUND);
		filter_hold(filter, ESCAPE, byte);
		return;
	}
	if (filter->held >= sizeof(filter->hold) - 1 && digits_end(filter, 2) == filter->held) {
		filter_refuse(filter, GROUND); /* sixty digits of one number */
		return;
	}
	if (filter->held >= sizeof(filter->hold) - 1 || byte < ' ') {
		filter_pass(filter, out);
		cc_buf_add(out, &byte, 1);
		return;
	}
	if (byte < '@') {
		filter_hold(filter, CSI, byte);
		return;
	}
	number = held_number(filter);
	report = byte == 't' && filter->held > 2 && (number == 20 || number == 21 || number > NUMBER_MAX);
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
	if (filter->state == ESCAPE && goes_on_behind(byte)) {
		cc_buf_add(out, &byte, 1);
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
