/*
 * Watching, and ending. (Any kernel that the rest runs on.)
 *
 * Stops: exceeding the limits of the whole tree; outliving the program, the job or the server. All
 * that is started stays in one process group, which nobody can leave, and orphans come to us, the
 * subreaper; who kills us kills the program, and its end ends the rest.
 */
#include "launcher.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CALM_MS = 100,  /* Between two looks. */
	ALARM_MS = 20,  /* From half of the memory on. */
	DYING_MS = 5000,
};

static volatile sig_atomic_t cancelled;
static void hear(int signal) { cancelled |= signal == SIGTERM; }

/* A terminal's Ctrl-C is for the server to judge. `blocked` is what stays so while we wait. */
void prepare_signals(sigset_t *blocked)
{
	sigfillset(blocked);
	sigprocmask(SIG_SETMASK, blocked, NULL);
	signal(SIGCHLD, hear);
	signal(SIGTERM, hear);
	sigdelset(blocked, SIGCHLD);
	sigdelset(blocked, SIGTERM);
}

/* Reaps all that have ended but the program itself, so that its group's number stays taken. */
static const char *reap(pid_t main)
{
	siginfo_t dead = { 0 };
	while (!waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) && dead.si_pid) {
		int by = dead.si_code == CLD_EXITED ? 0 : dead.si_status;
		if (dead.si_pid == main)
			return !by ? "exit" : by == SIGXCPU ? "time" : by == SIGXFSZ ? "output" : "signal";
		waitpid(dead.si_pid, NULL, 0);
		dead.si_pid = 0;
	}
	return NULL;
}

/* Whoever measures the folder adds what has no name there. Said when it changed by a sixteenth. */
static void report_unlinked(void)
{
	static uint64_t said;
	uint64_t change = seen.unlinked > said ? seen.unlinked - said : said - seen.unlinked;
	if (opt.report == NONE || opt.disk == NONE || change <= opt.disk / 16) return;
	said = seen.unlinked;
	dprintf(opt.report, "{\"unlinked\":%lu}\n", said);
}

static const char *excess(void)
{
	if (seen.memory > opt.memory) return "memory";
	if (seen.tasks > opt.tasks) return "processes";
	if (seen.cpu_ms / 1000 >= opt.cpu_s) return "time";
	if (seen.unlinked > opt.disk) return "output";
	return NULL;
}

/*
 * `listening` tells the descriptor on which the kernel asks, and is then that. Returns why the
 * program ended or has to end; it is not reaped yet.
 */
const char *supervise(pid_t main, int listening, const sigset_t *blocked)
{
	uint64_t end = opt.wall_ms ? now_ms() + opt.wall_ms : NONE, next = now_ms() + CALM_MS;
	const char *why;
	for (int number, listener = -1;;) {
		uint64_t now = now_ms(), then = MIN(next, end), rest = then > now ? then - now : 0;
		struct timespec wait = { rest / 1000, rest % 1000 * 1000000 };
		struct pollfd on = { listening, POLLIN, 0 };
		if (ppoll(&on, 1, &wait, blocked) < 0) on.revents = 0;
		if (cancelled) return "cancelled";
		if ((why = reap(main))) return why;
		if (on.revents && !(on.revents & POLLIN))
			listening = -1;
		else if (on.revents && listener >= 0)
			answer(listener, main);
		else if (on.revents && read(listening, &number, sizeof number) == sizeof number)
			listening = listener = number;
		if (now_ms() >= end) return "time";
		if (now_ms() < next) continue;
		look(main);
		if ((why = excess())) return why;
		report_unlinked();
		next = seen.at + (seen.memory > opt.memory / 2 ? ALARM_MS : CALM_MS);
	}
}

/* Kills and reaps until nothing is left, for at most 5 s. Returns the program's wait status. */
int end_tree(pid_t main)
{
	int status, result = 0;
	uint64_t until = now_ms() + DYING_MS;
	kill(-main, SIGKILL);
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) >= 0;) {
		if (pid == main) result = status;
		if (pid > 0) continue;
		if (now_ms() > until) {
			dprintf(2, "launcher: a process does not die\n");
			return result;
		}
		kill(-main, SIGKILL);
		usleep(1000);
	}
	return result;
}
