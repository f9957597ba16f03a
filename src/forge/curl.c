#define _GNU_SOURCE
#include "forge/curl.h"

#include "os/clock.h"
#include "os/fd.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	TRIES = 4,
	BACK_OFF_MS = 200, /* doubled each time */
	WAIT_MAX_S = 10,   /* longer than that a forge is not waited for */
	CONNECT_MS = 5000,
	STREAM_IDLE_S = 300, /* a forge may think about a large push for a while */
	TICK_MS = 100,
	STREAM_ERROR_MAX = 4 << 10, /* of an answer that is not what was asked for */
};

struct transfer {
	const struct cc_curl_ask *ask;
	struct cc_answer *answer;
	CURL *easy;
	size_t max;
	int64_t sent;
	bool too_large, stream_closed, stopped, begun;
	char why[CURL_ERROR_SIZE];
};

enum cc_code cc_curl_start(struct cc_err *err)
{
	return curl_global_init(CURL_GLOBAL_ALL) == CURLE_OK ? CC_OK : cc_fail(err, CC_ESYS, 0, "libcurl");
}

void cc_answer_done(struct cc_answer *answer)
{
	if (answer->body)
		explicit_bzero(answer->body, answer->len);
	free(answer->body);
	*answer = (struct cc_answer){0};
}

static bool stopped(struct transfer *transfer)
{
	const struct cc_curl_ask *ask = transfer->ask;

	transfer->stopped = transfer->stopped || (ask->stopped && ask->stopped(ask->context));
	return transfer->stopped;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return stopped(context) ? 1 : 0;
}

/* Who reads the stream may be slow, and may go away. */
static bool pass_on(struct transfer *transfer, const char *bytes, size_t len)
{
	struct pollfd wait = {.fd = transfer->ask->answer_fd, .events = POLLOUT};
	int64_t until = cc_clock_ms() + STREAM_IDLE_S * 1000L;

	while (len) {
		ssize_t done = write(wait.fd, bytes, len);

		if (done > 0) {
			bytes += done;
			len -= (size_t)done;
			until = cc_clock_ms() + STREAM_IDLE_S * 1000L;
			continue;
		}
		if (done < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (stopped(transfer) || cc_clock_ms() > until)
			return false;
		(void)poll(&wait, 1, TICK_MS);
	}
	return true;
}

static void take_head(struct transfer *transfer)
{
	char *type = NULL;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->answer->status);
	curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
	if (!type || !cc_str_put(transfer->answer->type, sizeof(transfer->answer->type), type))
		transfer->answer->type[0] = '\0';
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	struct cc_answer *answer = transfer->answer;
	size_t len = size * count, room;
	bool stream = transfer->ask->answer_fd >= 0;

	take_head(transfer);
	if (stream && answer->status == 200) {
		if (!transfer->begun)
			transfer->ask->begun(transfer->ask->begun_context, answer);
		transfer->begun = true;
		transfer->stream_closed = !pass_on(transfer, bytes, len);
		return transfer->stream_closed ? 0 : len;
	}
	room = transfer->max - answer->len;
	if (len > room && !stream) {
		transfer->too_large = true;
		return 0;
	}
	memcpy(answer->body + answer->len, bytes, len > room ? room : len);
	answer->len += len > room ? room : len;
	answer->body[answer->len] = '\0';
	return len;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
	static const char name[] = "Date:";
	struct transfer *transfer = context;
	size_t len = size * count;
	char value[64];

	if (len > sizeof(name) && strncasecmp(bytes, name, sizeof(name) - 1) == 0) {
		size_t rest = len - (sizeof(name) - 1);

		rest = rest < sizeof(value) ? rest : sizeof(value) - 1;
		memcpy(value, bytes + sizeof(name) - 1, rest);
		value[rest] = '\0';
		transfer->answer->date = curl_getdate(value, NULL);
	}
	return len;
}

static size_t on_read(char *out, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	ssize_t got = pread(transfer->ask->body_fd, out, size * count, transfer->sent);

	if (got < 0)
		return CURL_READFUNC_ABORT;
	transfer->sent += got;
	return (size_t)got;
}

static int on_seek(void *context, curl_off_t offset, int origin)
{
	struct transfer *transfer = context;

	if (origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	transfer->sent = offset;
	return CURL_SEEKFUNC_OK;
}

static void set_body(CURL *easy, struct transfer *transfer)
{
	const struct cc_curl_ask *ask = transfer->ask;

	if (ask->body_fd >= 0) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
		curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
		curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
		curl_easy_setopt(easy, CURLOPT_SEEKDATA, transfer);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body_len);
	} else if (strcmp(ask->call->method, "POST") == 0) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, ask->call->body.data ? ask->call->body.data : "");
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->call->body.len);
	} else if (strcmp(ask->call->method, "GET") != 0) {
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, ask->call->method);
	}
}

/* false: this libcurl cannot hold one of them, and nothing is sent. */
static bool set_peer(CURL *easy, const struct cc_curl_ask *ask)
{
	static const struct {
		CURLoption option;
		long value;
	} table[] = {
		{CURLOPT_FOLLOWLOCATION, 0},         {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
		{CURLOPT_SSL_VERIFYPEER, 1},         {CURLOPT_SSL_VERIFYHOST, 2},
		{CURLOPT_NETRC, CURL_NETRC_IGNORED}, {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
	};
	struct curl_blob blob = {.data = ask->forge->ca, .len = ask->forge->ca_len, .flags = CURL_BLOB_NOCOPY};
	bool good = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https") == CURLE_OK &&
		    curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
		    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*") == CURLE_OK;

	for (size_t i = 0; good && i < CC_COUNT(table); i++)
		good = curl_easy_setopt(easy, table[i].option, table[i].value) == CURLE_OK;
	if (good && ask->forge->ca) /* that one, and none of the system's */
		good = curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK &&
		       curl_easy_setopt(easy, CURLOPT_CAINFO, NULL) == CURLE_OK &&
		       curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob) == CURLE_OK;
	return good;
}

static void set_bounds(CURL *easy, struct transfer *transfer)
{
	const struct cc_curl_ask *ask = transfer->ask;

	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)(ask->call_ms && ask->call_ms < CONNECT_MS ? ask->call_ms : CONNECT_MS));
	if (ask->call_ms) {
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)ask->call_ms);
	} else {
		curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
		curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)STREAM_IDLE_S);
	}
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(easy, CURLOPT_XFERINFODATA, transfer);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->why);
}

static enum cc_code explain(const struct transfer *transfer, CURLcode result, struct cc_err *err)
{
	const char *host = transfer->ask->forge->host;
	char why[CC_FORGE_QUOTE_MAX + 16];

	if (transfer->stopped)
		return cc_fail(err, CC_ESTATE, 0, "it was broken off: the run is over");
	if (transfer->too_large)
		return cc_fail(err, CC_ELIMIT, 0, "the answer of %.100s is larger than %d bytes", host, CC_ANSWER_MAX);
	if (transfer->stream_closed)
		return cc_fail(err, CC_EPROTO, 0, "the answer of %.100s is not read any more", host);
	cc_forge_quote(cc_view_of(transfer->why[0] ? transfer->why : curl_easy_strerror(result)), why, sizeof(why));
	if (result == CURLE_OPERATION_TIMEDOUT)
		return cc_fail(err, CC_ETIMEOUT, 0, "%.100s does not answer: %s", host, why);
	if (result == CURLE_PEER_FAILED_VERIFICATION)
		return cc_fail(err, CC_EPOLICY, 0, "the certificate of %.100s is not trusted: %s", host, why);
	return cc_fail(err, CC_EPROTO, 0, "%.100s cannot be asked: %s", host, why);
}

static struct curl_slist *headers_of(const struct cc_forge_call *call)
{
	/* A body is sent at once, whatever the other side would say before it. */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	for (size_t i = 0; list && i < call->headers.count; i++) {
		struct curl_slist *longer = curl_slist_append(list, call->headers.items[i]);

		if (!longer) {
			curl_slist_free_all(list);
			return NULL;
		}
		list = longer;
	}
	return list;
}

/* One try. *out_again: another one could be answered; *out_wait_s: what the forge asks for before it, 0: nothing. */
static enum cc_code perform(struct transfer *transfer, bool *out_again, int64_t *out_wait_s, struct cc_err *err)
{
	struct curl_slist *headers = headers_of(transfer->ask->call);
	CURLcode result = CURLE_OUT_OF_MEMORY;
	curl_off_t wait = 0;
	long size = 0;

	transfer->easy = curl_easy_init();
	if (transfer->easy && headers && !set_peer(transfer->easy, transfer->ask)) {
		result = CURLE_NOT_BUILT_IN;
	} else if (transfer->easy && headers) {
		set_bounds(transfer->easy, transfer);
		set_body(transfer->easy, transfer);
		curl_easy_setopt(transfer->easy, CURLOPT_URL, transfer->ask->call->url.data);
		curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, headers);
		/* Forges tell git by that name. */
		curl_easy_setopt(transfer->easy, CURLOPT_USERAGENT,
				 transfer->ask->answer_fd >= 0 ? "git/2 ccbox" : "ccbox");
		result = curl_easy_perform(transfer->easy);
	}
	if (result == CURLE_OK) {
		take_head(transfer);
		curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &wait);
	}
	if (transfer->ask->sent && curl_easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE, &size) == CURLE_OK &&
	    size > 0)
		*transfer->ask->sent = true;
	curl_easy_cleanup(transfer->easy);
	curl_slist_free_all(headers);
	*out_again = result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST ||
		     (result == CURLE_OK && (transfer->answer->status == 429 || transfer->answer->status >= 500));
	*out_wait_s = wait;
	return result == CURLE_OK ? CC_OK : explain(transfer, result, err);
}

/* false: it was broken off. */
static bool pause_for(struct transfer *transfer, int64_t ms)
{
	const struct timespec tick = {0, TICK_MS / 2 * 1000000L};
	int64_t until = cc_clock_ms() + ms;

	while (cc_clock_ms() < until) {
		if (stopped(transfer))
			return false;
		nanosleep(&tick, NULL);
	}
	return !stopped(transfer);
}

enum cc_code cc_curl_call(const struct cc_curl_ask *ask, struct cc_answer *out_answer, struct cc_err *err)
{
	struct cc_answer answer = {.date = -1};
	struct transfer transfer = {
		.ask = ask, .answer = &answer, .max = ask->answer_fd >= 0 ? STREAM_ERROR_MAX : CC_ANSWER_MAX};
	int64_t back_off = BACK_OFF_MS, wait = 0;
	bool again = false;
	enum cc_code code = cc_buf_check(&ask->call->url, "the call", err);

	if (code == CC_OK)
		code = cc_buf_check(&ask->call->body, "the call's body", err);
	if (code != CC_OK)
		return code;
	answer.body = malloc(transfer.max + 1);
	if (!answer.body)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	for (int tries = 1;; tries++, back_off *= 2) {
		answer.len = 0;
		answer.body[0] = '\0';
		transfer.sent = 0;
		code = perform(&transfer, &again, &wait, err);
		if (!again || ask->once || tries == TRIES || wait > WAIT_MAX_S)
			break;
		if (!pause_for(&transfer, wait > 0 ? wait * 1000 : back_off)) {
			code = cc_fail(err, CC_ESTATE, 0, "it was broken off: the run is over");
			break;
		}
	}
	if (code != CC_OK) {
		cc_answer_done(&answer);
		return code;
	}
	*out_answer = answer;
	return CC_OK;
}
