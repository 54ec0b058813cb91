/*
 * Converts pictures with libvips, each in a separate process, forked from one that has loaded
 * libvips and has never seen a picture.
 *
 *   vips-server LIBVIPS             serves until stdin ends; prints {"ready":true,"fresh":"fork"} first
 *   vips-server LIBVIPS --version   prints "libvips 8.18.7"
 *
 * What it reads, a line each:
 *
 *   begin MS FOLDER   a picture whose process may write to FOLDER, and is ended after MS
 *   ...               operations for that process (operations.c), which replies to each line
 *   end               ends it
 *
 * What it prints, a line of JSON each: {"said":"..."} is the reply of the process; once the process
 * is gone, {"ok":true} after `end`, or {"ok":false,"reason":"..."} where it died or was ended.
 *
 * The parent reads nothing of a picture, and of a reply only where it ends; it copies what is
 * printable. A process answers through its own pipe, never to the reader of stdout, so that nothing
 * can be said in the name of another picture's.
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENDS_WITHIN_MS = 2000 };

_Noreturn void fail(int error, const char *sentence)
{
	dprintf(2, error ? "vips-server: %s: %s\n" : "vips-server: %s\n", sentence, strerror(error));
	_exit(1);
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- lines ---- */

struct reader {
	int fd;
	size_t start, end; /* What was read and not yet taken. */
	char bytes[LONGEST_LINE];
};

enum taken { LINE, NOTHING_MORE, TOO_LATE, TOO_LONG };

/* Waits until `deadline`, ms, or without end where that is negative. */
static int wait_for(int fd, int64_t deadline)
{
	struct pollfd one = { fd, POLLIN, 0 };
	for (;;) {
		int64_t left = deadline < 0 ? -1 : deadline - now_ms();
		if (deadline >= 0 && left <= 0) return 0;
		int ready = poll(&one, 1, left > INT32_MAX ? INT32_MAX : (int)left);
		if (ready > 0) return 1;
		if (ready < 0 && errno != EINTR) fail(errno, "cannot wait");
	}
}

/* Takes one line, without its end. It stays where it is until the next call. */
static enum taken take_line(struct reader *from, int64_t deadline, char **line)
{
	size_t searched = from->start;
	for (;;) {
		char *found = memchr(from->bytes + searched, '\n', from->end - searched);
		if (found) {
			*found = 0;
			*line = from->bytes + from->start;
			from->start = (size_t)(found - from->bytes) + 1;
			return LINE;
		}
		if (from->start) {
			memmove(from->bytes, from->bytes + from->start, from->end - from->start);
			from->end -= from->start;
			from->start = 0;
		}
		searched = from->end;
		if (from->end == sizeof from->bytes) return TOO_LONG;
		if (!wait_for(from->fd, deadline)) return TOO_LATE;
		ssize_t got = read(from->fd, from->bytes + from->end, sizeof from->bytes - from->end);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) return NOTHING_MORE;
		from->end += (size_t)got;
	}
}

/* What was taken is another picture's: the next process is a copy of this one. */
static void forget(struct reader *from)
{
	explicit_bzero(from->bytes, from->start);
	explicit_bzero(from->bytes + from->end, sizeof from->bytes - from->end);
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(fd, bytes, size);
		if (written < 0 && errno == EINTR) continue;
		if (written <= 0) return -1;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

/* ---- the process of one picture ---- */

static struct child {
	pid_t pid;
	int to;
	struct reader from;
} child;

/* The read end of this pipe is closed: what is written to it is lost. */
static int nowhere;

static _Noreturn void serve_picture(int requests, int replies)
{
	static struct reader from;
	static char reply[LONGEST_LINE / 2];
	/* Nothing of the server's is left open: not its stdin, which brings the next requests. */
	if (dup2(requests, 0) < 0 || dup2(replies, 1) < 0 || dup2(nowhere, 2) < 0) _exit(1);
	closefrom(3);
	from.fd = 0;
	char *line;
	if (take_line(&from, -1, &line) != LINE) _exit(0);
	confine_to(decode(line));
	while (take_line(&from, -1, &line) == LINE) {
		carry_out(line, reply, sizeof reply - 1);
		for (char *c = reply; *c; c++)
			if (*c == '\n') *c = ' ';
		size_t length = strlen(reply);
		reply[length] = '\n';
		if (write_all(1, reply, length + 1)) break;
	}
	_exit(0);
}

static void fork_ahead(void)
{
	int requests[2], replies[2];
	if (pipe2(requests, O_CLOEXEC) || pipe2(replies, O_CLOEXEC)) fail(errno, "cannot make a pipe");
	pid_t pid = fork();
	if (pid < 0) fail(errno, "cannot fork");
	if (!pid) serve_picture(requests[0], replies[1]);
	close(requests[0]);
	close(replies[1]);
	child.pid = pid;
	child.to = requests[1];
	child.from.fd = replies[0];
	child.from.start = child.from.end = 0;
}

/*
 * Ends the process, and waits until it is gone. Where the kernel lets the launcher forbid signals
 * only altogether, it ends by the end of its requests; if it does not, the server ends, and with it
 * everything.
 */
static int end_child(struct rusage *used)
{
	int status = 0;
	close(child.to);
	int was_killed = !kill(child.pid, SIGKILL);
	int64_t deadline = now_ms() + ENDS_WITHIN_MS;
	while (wait4(child.pid, &status, was_killed ? 0 : WNOHANG, used) != child.pid) {
		if (now_ms() > deadline) fail(0, "the process of a picture does not end");
		poll(NULL, 0, 1);
	}
	close(child.from.fd);
	child.from.start = child.from.end = 0;
	forget(&child.from);
	return status;
}

/*
 * One that was ended while it waited, as the kernel does when memory runs out, has read no picture:
 * none is to blame.
 */
static void replace_ended(void)
{
	if (waitpid(child.pid, NULL, WNOHANG) != child.pid) return;
	close(child.to);
	close(child.from.fd);
	fork_ahead();
}

/* ---- one picture ---- */

static void say(const char *json)
{
	if (write_all(1, json, strlen(json)) || write_all(1, "\n", 1)) _exit(0);
}

/* As a string of JSON: what is not printable, or would end the string, is replaced. */
static void relay(char *reply)
{
	for (char *c = reply; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\') *c = '?';
	if (write_all(1, "{\"said\":\"", 9) || write_all(1, reply, strlen(reply)) || write_all(1, "\"}\n", 3))
		_exit(0);
}

static void serve(struct reader *requests, char *begin)
{
	char *folder, *line, words[200];
	int64_t deadline = now_ms() + strtoll(begin + strlen("begin "), &folder, 10);
	const char *reason = NULL;
	if (*folder != ' ') fail(0, "expected: begin MS FOLDER");
	replace_ended();
	size_t length = strlen(folder);
	folder[length] = '\n';
	int is_alive = !write_all(child.to, folder + 1, length);
	enum taken taken;
	for (;;) {
		taken = take_line(requests, -1, &line);
		if (taken == NOTHING_MORE) _exit(0);
		if (taken != LINE) fail(0, "a request has no end");
		if (!strcmp(line, "end")) break;
		length = strlen(line);
		line[length] = '\n';
		is_alive = is_alive && !write_all(child.to, line, length + 1);
		char *reply;
		taken = is_alive ? take_line(&child.from, deadline, &reply) : NOTHING_MORE;
		/* One reply to one line. */
		if (taken == LINE && child.from.start == child.from.end) {
			relay(reply);
			continue;
		}
		reason = taken == TOO_LATE ? "timeout" : "engine_crashed";
		break;
	}
	struct rusage used = { 0 };
	int status = end_child(&used);
	if (!reason) {
		say("{\"ok\":true}");
		return;
	}
	/* Libraries that get no memory end the process. */
	if (taken == NOTHING_MORE && (rlim_t)used.ru_maxrss * 1024 > most_memory() / 4 * 3) reason = "memory";
	snprintf(words, sizeof words, "{\"ok\":false,\"reason\":\"%s\",\"words\":\"the process ended with status %d\"}",
	         reason, status);
	say(words);
}

int main(int count, char **words)
{
	if (count < 2) fail(0, "usage: vips-server LIBVIPS [--version]");
	load_libvips(words[1]);
	if (count > 2 && !strcmp(words[2], "--version")) return printf("libvips %s\n", libvips_version()) < 0;
	int ends[2];
	signal(SIGPIPE, SIG_IGN);
	/* A file that grows too large is an error of write(2). */
	signal(SIGXFSZ, SIG_IGN);
	if (pipe2(ends, O_CLOEXEC)) fail(errno, "cannot make a pipe");
	close(ends[0]);
	nowhere = ends[1];
	static struct reader requests;
	fork_ahead();
	say("{\"ready\":true,\"fresh\":\"fork\"}");
	char *line;
	while (take_line(&requests, -1, &line) == LINE) {
		if (strncmp(line, "begin ", 6)) fail(0, "expected: begin MS FOLDER");
		serve(&requests, line);
		forget(&requests);
		fork_ahead();
	}
	return 0;
}
