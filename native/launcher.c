/*
 * Confines one converter: starts it under Landlock, seccomp and limits, watches its whole process
 * tree, and ends all of it.
 *
 *   launcher [options] -- /absolute/program arguments...
 *
 * It stays as the supervisor, and exits as the program did (128 + the signal), or with 125 and a
 * sentence when it could not confine. It needs no privilege; started as root it becomes the user
 * given by --uid.
 *
 * The parts, each in a file that names the attacks which it stops:
 *
 *   files.c       Landlock: files, TCP, signals, abstract sockets
 *   calls.c       seccomp: which system calls, with which arguments (syscalls.txt)
 *   limits.c      privileges and rlimits
 *   usage.c       what the tree holds: memory, nameless files, processor
 *   stand-in.c    calls that the supervisor judges or makes in the program's stead
 *   supervisor.c  watching, and ending
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct options opt = {
	.uid = NONE, .data = NONE, .memory = NONE, .disk = NONE, .cpu_s = NONE, .file_size = NONE,
	.tasks = NONE, .files = 1024, .report = NONE, .landlock = NONE, .tcp = NONE,
};

/* Shared with the child until it executes: set when it failed before the program began. */
static volatile int *failed;

_Noreturn void fail(int cause, const char *sentence, ...)
{
	va_list values;
	va_start(values, sentence);
	dprintf(2, "launcher: ");
	vdprintf(2, sentence, values);
	dprintf(2, cause ? ": %s\n" : "\n", strerror(cause));
	if (failed) *failed = 1;
	_exit(OWN_FAILURE);
}

uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- options: a list with its count, a switch, or a number ---- */

static const struct {
	const char *name;
	const char **list;
	int *count;
	uint64_t *number;
} options[] = {
	{ "rw", opt.rw, &opt.rws, 0 },         /* a place to read and write */
	{ "ro", opt.ro, &opt.ros, 0 },         /* a place to read and execute */
	{ "env", opt.env, &opt.envs, 0 },      /* NAME=VALUE */
	{ "cwd", opt.cwd, &opt.cwds, 0 },      /* where it starts */
	{ "calls", opt.calls, &opt.callss, 0 }, /* toolchain whose system calls it needs */
	{ "unix", 0, &opt.unix_sockets, 0 },   /* unix stream sockets within the places to write */
	{ "tcp", 0, 0, &opt.tcp },             /* the one port of 127.0.0.1 to connect to */
	{ "uid", 0, 0, &opt.uid },             /* user to become */
	{ "data", 0, 0, &opt.data },           /* bytes: data segment of each process */
	{ "memory", 0, 0, &opt.memory },       /* bytes of the tree */
	{ "disk", 0, 0, &opt.disk },           /* bytes of the tree's nameless files */
	{ "cpu", 0, 0, &opt.cpu_s },           /* seconds of the tree */
	{ "fsize", 0, 0, &opt.file_size },     /* bytes of each file */
	{ "nproc", 0, 0, &opt.tasks },         /* processes and threads of the tree */
	{ "nofile", 0, 0, &opt.files },        /* descriptors of each process */
	{ "wall", 0, 0, &opt.wall_ms },        /* ms, 0 for no end */
	{ "report", 0, 0, &opt.report },       /* descriptor for lines of JSON */
	{ "parent", 0, 0, &opt.parent },       /* do not start unless this is our parent */
	{ "landlock-abi", 0, 0, &opt.landlock },            /* use no newer Landlock */
	{ "without-landlock", 0, &opt.without_landlock, 0 }, /* start even without it */
	{ "record", 0, &opt.record, 0 },       /* let other calls pass, and report them */
	{ "check", 0, &opt.check, 0 },         /* say what the kernel has, and exit */
};

/* Returns the program and its arguments. */
static char **read_options(char **word)
{
	for (; *word && !strncmp(*word, "--", 2) && (*word)[2]; word++) {
		size_t i = 0;
		while (i < COUNT(options) && strcmp(options[i].name, *word + 2)) i++;
		if (i == COUNT(options) || (options[i].count && ++*options[i].count == MOST))
			fail(0, "there is no option %s, or too often", *word);
		if (options[i].count && !options[i].list) continue;
		if (!*++word) fail(0, "--%s needs a value", options[i].name);
		if (options[i].list) {
			options[i].list[*options[i].count - 1] = *word;
			continue;
		}
		char *rest = *word;
		*options[i].number = strtoull(*word, &rest, 10);
		if (**word < '0' || **word > '9' || *rest) fail(0, "--%s needs a number", options[i].name);
	}
	if (!opt.check && (!*word || !word[1] || word[1][0] != '/'))
		fail(0, "usage: launcher [options] -- /absolute/program arguments...");
	return word + 1;
}

static int landlock_abi(void)
{
	const int version = 1; /* LANDLOCK_CREATE_RULESET_VERSION */
	long abi = syscall(__NR_landlock_create_ruleset, NULL, 0, version);
	if (abi < 0) return 0;
	return (uint64_t)abi > opt.landlock ? (int)opt.landlock : (int)abi;
}

static int tell_support(int abi)
{
	uint32_t ask = SECCOMP_RET_USER_NOTIF;
	int seccomp = !syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &ask);
	return printf("{\"landlock\":%d,\"seccomp\":%s}\n", abi, seccomp ? "true" : "false") < 0;
}

/* The child's way from a copy of the launcher to the confined program. Each step shuts one door. */
static _Noreturn void become(char **program, pid_t supervisor, int abi, int listening)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != supervisor) _exit(OWN_FAILURE);
	umask(077);
	if (setsid() < 0 || (opt.cwds && chdir(opt.cwd[opt.cwds - 1])))
		fail(errno, "cannot enter its folder");
	set_limits();
	restrict_files();
	int listener = confine_calls(abi);
	if (listener >= 0 && write(listening, &listener, sizeof listener) < 0)
		fail(errno, "cannot tell the supervisor");
	/* The table is the supervisor's too, until execve makes a copy and closes these in it. */
	if (syscall(__NR_close_range, 3, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */))
		fail(errno, "cannot close descriptors");
	execve(program[0], program, (char **)opt.env);
	fail(errno, "cannot run %s", program[0]);
}

static void report_end(const char *why, int exit_code, int by, uint64_t start)
{
	if (opt.report == NONE || *failed) return;
	dprintf(opt.report,
	        "{\"why\":\"%s\",\"code\":%d,\"signal\":%d,"
	        "\"cpuMs\":%lu,\"peakBytes\":%lu,\"wallMs\":%lu}\n",
	        why, by ? -1 : exit_code, by, seen.cpu_ms, seen.peak, now_ms() - start);
}

int main(int count, char **words)
{
	char **program = read_options(words + (count > 0));
	int abi = landlock_abi();
	if (opt.check) return tell_support(abi);

	for (int i = 0; i < 3; i++)
		if (fcntl(i, F_GETFD) < 0) fail(0, "descriptors 0, 1 and 2 must be open");
	if (opt.report != NONE && fcntl(opt.report, F_SETFD, FD_CLOEXEC))
		fail(errno, "cannot report on %d", (int)opt.report);
	sigset_t blocked;
	prepare_signals(&blocked);
	failed = mmap(NULL, sizeof *failed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int listening[2]; /* By this the child tells on which descriptor the kernel will ask. */
	if (failed == MAP_FAILED || pipe2(listening, O_CLOEXEC)) fail(errno, "cannot prepare");
	prepare_usage();
	prepare_landlock(abi);
	drop_privilege();
	/* After the change of user, which clears the latter. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (opt.parent && getppid() != (pid_t)opt.parent) return OWN_FAILURE;

	uint64_t start = now_ms();
	pid_t self = getpid();
	/* Descriptors are shared until the child executes, so that we have its listener. */
	pid_t main = syscall(__NR_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (main < 0) fail(errno, "cannot fork");
	if (!main) become(program, self, abi, listening[1]);
	if (opt.report != NONE) dprintf(opt.report, "{\"pid\":%d}\n", main);

	const char *why = supervise(main, listening[0], &blocked);
	int status = end_tree(main);
	int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	int exit_code = by ? 128 + by : WEXITSTATUS(status);
	seen.cpu_ms = ms_of_reaped();
	if (by == SIGKILL && !strcmp(why, "signal") && seen.cpu_ms / 1000 >= opt.cpu_s) why = "time";
	report_end(why, exit_code, by, start);
	return exit_code;
}
