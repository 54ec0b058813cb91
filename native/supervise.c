/*
 * Supervision: watching, and ending.
 *
 * Stops: exceeding the limits of the whole tree; outliving the program, the job or the server. All
 * that is started stays in one process group, which no process can leave (syscalls.txt refuses
 * setsid and setpgid), and orphans come to us, the subreaper. The program's end, the server's end
 * (PR_SET_PDEATHSIG) and SIGTERM make us kill the group, until nothing is left. Who kills us kills
 * the program; what it had started is then the server's to kill, by its group.
 *
 * A fork server (--fork-server) serves each request in a separate process: SIGUSR1 makes us kill
 * all but the server itself, and so does a limit that the tree exceeds, once.
 *
 * Needs: Linux 3.4 (PR_SET_CHILD_SUBREAPER); refuses to start without it.
 */
#include "launcher.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SAMPLE_MS = 100,       /* Between two samples of the usage. */
	SAMPLE_SOON_MS = 20,   /* From half of the memory on. */
	KILL_TIMEOUT_MS = 5000,
	LOOK_MS = 250,         /* Between two looks at a tree in a cgroup that does nothing. */
	REST_MS = 5000,        /* Between two samples of a tree that does nothing. */
	SPARED_MS = 1000, /* A tree still above the limit after this is so by its fork server. */
};

static volatile sig_atomic_t cancelled, clearing;
static void on_signal(int signal_number)
{
	cancelled |= signal_number == SIGTERM;
	clearing |= signal_number == SIGUSR1;
}

/* A terminal's Ctrl-C is for the server to judge. */
void block_signals(sigset_t *while_waiting)
{
	sigfillset(while_waiting);
	sigprocmask(SIG_SETMASK, while_waiting, NULL);
	signal(SIGCHLD, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	sigdelset(while_waiting, SIGCHLD);
	sigdelset(while_waiting, SIGTERM);
	sigdelset(while_waiting, SIGUSR1);
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

/* A cgroup's limit of memory is the kernel's to keep, and page cache reaches it without harm. */
static const char *exceeded_limit(pid_t group)
{
	if (cgroup_ran_out_of_memory() || usage.too_many) return "memory";
	if (!opt.cgroups.count && usage.memory > opt.memory) return "memory";
	if (usage.tasks > opt.tasks) return "processes";
	if (usage.cpu_ms / 1000 >= opt.cpu_s) return "time";
	if (is_disk_exceeded(group)) return "output";
	return NULL;
}

/* It ended by itself; the reason may be that the kernel took something from it or refused it. */
static const char *blame_kernel(const char *why, pid_t leader)
{
	siginfo_t ended = { 0 };
	waitid(P_PID, (id_t)leader, &ended, WEXITED | WNOHANG | WNOWAIT);
	int succeeded = ended.si_code == CLD_EXITED && !ended.si_status;
	if (succeeded) return why;
	if (cgroup_ran_out_of_memory()) return "memory";
	return cgroup_refused_a_process() ? "processes" : why;
}

/* Returns how many of the group live, the leader left aside, after a signal to each. */
static int kill_all_but(pid_t leader)
{
	int living = 0;
	DIR *processes = opendir("/proc");
	if (!processes) return 0;
	for (struct dirent *entry; (entry = readdir(processes));) {
		pid_t pid = atoi(entry->d_name);
		if (pid > 0 && pid != leader && getpgid(pid) == leader && !kill(pid, SIGKILL))
			living += !is_zombie(pid);
	}
	closedir(processes);
	return living;
}

/* Ends all but the leader, which reaps what it started. Returns 0 if something does not die. */
static int clear_for(pid_t leader, const char *why)
{
	uint64_t until = now_ms() + KILL_TIMEOUT_MS;
	while (kill_all_but(leader)) {
		if (now_ms() > until) return 0;
		usleep(200);
	}
	if (opt.report_fd != NONE) dprintf((int)opt.report_fd, "{\"cleared\":\"%s\"}\n", why);
	return 1;
}

/*
 * Through `listener_pipe` comes the number of the seccomp listener, where there is one. Returns why
 * the program ended or has to end; it is not reaped yet.
 */
const char *supervise(pid_t leader, int listener_pipe, const sigset_t *while_waiting)
{
	uint64_t end = opt.wall_ms ? now_ms() + opt.wall_ms : NONE, next = now_ms() + SAMPLE_MS;
	const char *why;
	uint64_t spared = NONE; /* Since when a limit ends all but the fork server. */
	for (int watched = listener_pipe, listener = -1, number;;) {
		uint64_t now = now_ms(), then = MIN(next, end), rest = then > now ? then - now : 0;
		struct timespec wait = { (time_t)(rest / 1000), (long)(rest % 1000 * 1000000) };
		struct pollfd on = { watched, POLLIN, 0 };
		if (ppoll(&on, 1, &wait, while_waiting) < 0) on.revents = 0;
		if (cancelled) return "cancelled";
		if (clearing) {
			clearing = 0;
			if (!clear_for(leader, "asked")) return "signal";
		}
		if ((why = reap_orphans(leader))) return blame_kernel(why, leader);
		if (on.revents && !(on.revents & POLLIN))
			watched = -1;
		else if (on.revents && listener >= 0)
			answer_notification(listener, leader);
		else if (on.revents && read(listener_pipe, &number, sizeof number) == sizeof number)
			watched = listener = number;
		if (now_ms() >= end) return "time";
		if (now_ms() < next) continue;
		int soon = !opt.cgroups.count && usage.memory > opt.memory / 2;
		int is_due = soon || spared != NONE || now_ms() >= usage.sampled_at + REST_MS;
		if (!is_due && is_at_rest(leader)) {
			/* A cgroup keeps its memory meanwhile. */
			next = now_ms() + (opt.cgroups.count ? LOOK_MS : SAMPLE_MS);
			continue;
		}
		sample_usage(leader);
		/* What was killed may take a moment to give back its memory. */
		if (!(why = exceeded_limit(leader)))
			spared = NONE;
		else if (!opt.fork_server || now_ms() > MIN(spared, NONE - SPARED_MS) + SPARED_MS ||
		         !clear_for(leader, why))
			return why;
		else {
			spared = MIN(spared, now_ms());
			cgroup_forgive();
		}
		soon = !opt.cgroups.count && usage.memory > opt.memory / 2;
		next = now_ms() + (soon ? SAMPLE_SOON_MS : SAMPLE_MS);
	}
}

/*
 * Until nothing is left, for at most 5 s. Returns the program's wait status. While anything is left
 * it is in the group, so that no other group has its number.
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
