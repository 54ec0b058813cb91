/*
 * Supervision: watching, and ending.
 *
 * Stops: exceeding the limits of the whole tree; outliving the program, the job or the server. All
 * that is started stays in one process group, which nobody can leave (syscalls.txt refuses setsid
 * and setpgid), and orphans come to us, the subreaper. The program's end, the server's end
 * (PR_SET_PDEATHSIG) and SIGTERM make us kill the group, until nothing is left. Who kills us kills
 * the program; what it had started is then the server's to kill, by its group.
 *
 * Needs: Linux 3.4 (PR_SET_CHILD_SUBREAPER); refuses to start without it.
 */
#include "launcher.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SAMPLE_MS = 100,       /* Between two samples of the usage. */
	SAMPLE_SOON_MS = 20,   /* From half of the memory on. */
	KILL_TIMEOUT_MS = 5000,
};

static volatile sig_atomic_t cancelled;
static void on_signal(int signal_number) { cancelled |= signal_number == SIGTERM; }

/* A terminal's Ctrl-C is for the server to judge. */
void block_signals(sigset_t *while_waiting)
{
	sigfillset(while_waiting);
	sigprocmask(SIG_SETMASK, while_waiting, NULL);
	signal(SIGCHLD, on_signal);
	signal(SIGTERM, on_signal);
	sigdelset(while_waiting, SIGCHLD);
	sigdelset(while_waiting, SIGTERM);
}

/*
 * Reaps all that have ended but the leader: unreaped, it keeps its group's number from being given
 * to anybody else. Returns why the leader ended, or NULL.
 */
static const char *reap_orphans(pid_t leader)
{
	siginfo_t ended = { 0 };
	while (!waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) && ended.si_pid) {
		int by = ended.si_code == CLD_EXITED ? 0 : ended.si_status;
		if (ended.si_pid == leader)
			return !by ? "exit" : by == SIGXCPU ? "time" : by == SIGXFSZ ? "output" : "signal";
		waitpid(ended.si_pid, NULL, 0);
		ended.si_pid = 0;
	}
	return NULL;
}

/* Whoever measures the folder adds what has no name there. Said when it changed by a sixteenth. */
static void report_unlinked(void)
{
	static uint64_t reported;
	uint64_t change =
		usage.unlinked > reported ? usage.unlinked - reported : reported - usage.unlinked;
	if (opt.report_fd == NONE || opt.disk == NONE || change <= opt.disk / 16) return;
	reported = usage.unlinked;
	dprintf((int)opt.report_fd, "{\"unlinked\":%llu}\n", (unsigned long long)reported);
}

static const char *exceeded_limit(void)
{
	if (usage.memory > opt.memory) return "memory";
	if (usage.tasks > opt.tasks) return "processes";
	if (usage.cpu_ms / 1000 >= opt.cpu_s) return "time";
	if (usage.unlinked > opt.disk) return "output";
	return NULL;
}

/*
 * Through `listener_pipe` comes the number of the seccomp listener, where there is one. Returns why
 * the program ended or has to end; it is not reaped yet.
 */
const char *supervise(pid_t leader, int listener_pipe, const sigset_t *while_waiting)
{
	uint64_t end = opt.wall_ms ? now_ms() + opt.wall_ms : NONE, next = now_ms() + SAMPLE_MS;
	const char *why;
	for (int watched = listener_pipe, listener = -1, number;;) {
		uint64_t now = now_ms(), then = MIN(next, end), rest = then > now ? then - now : 0;
		struct timespec wait = { (time_t)(rest / 1000), (long)(rest % 1000 * 1000000) };
		struct pollfd on = { watched, POLLIN, 0 };
		if (ppoll(&on, 1, &wait, while_waiting) < 0) on.revents = 0;
		if (cancelled) return "cancelled";
		if ((why = reap_orphans(leader))) return why;
		if (on.revents && !(on.revents & POLLIN))
			watched = -1;
		else if (on.revents && listener >= 0)
			answer_notification(listener, leader);
		else if (on.revents && read(listener_pipe, &number, sizeof number) == sizeof number)
			watched = listener = number;
		if (now_ms() >= end) return "time";
		if (now_ms() < next) continue;
		sample_usage(leader);
		if ((why = exceeded_limit())) return why;
		report_unlinked();
		next = usage.sampled_at + (usage.memory > opt.memory / 2 ? SAMPLE_SOON_MS : SAMPLE_MS);
	}
}

/*
 * Until nothing is left, for at most 5 s. Returns the program's wait status. While anything is left
 * it is in the group, so that the group's number is nobody else's.
 */
int kill_and_reap(pid_t leader)
{
	int status, result = 0;
	uint64_t until = now_ms() + KILL_TIMEOUT_MS;
	kill(-leader, SIGKILL);
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) >= 0;) {
		if (pid == leader) result = status;
		if (pid > 0) continue;
		if (now_ms() > until) {
			dprintf(2, "launcher: a process does not die\n");
			return result;
		}
		kill(-leader, SIGKILL);
		usleep(1000);
	}
	return result;
}
