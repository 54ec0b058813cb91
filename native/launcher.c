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
 * The sections, each a file that can be reviewed by itself:
 *
 *   files.c      Landlock: which files; and the file calls that Landlock leaves open
 *   devices.c    which commands reach the devices that it was given
 *   network.c    sockets: which may be made, and to what they may connect
 *   syscalls.c   seccomp: which system calls, with which arguments (syscalls.txt)
 *   notify.c     seccomp user notification: the calls that the supervisor decides
 *   limits.c     privileges and rlimits
 *   cgroup.c     what the kernel counts and limits itself, where it was given a cgroup
 *   usage.c      what the tree uses: memory, files without a name, processor time
 *   folders.c    what lies in the places that it may write
 *   supervise.c  watching, and ending
 *
 * This file holds the command line and the order of the steps.
 *
 * Stops: options that would weaken the confinement by being out of range; a program that starts
 * half confined (each step that fails ends the child before execve).
 * Needs: Linux 5.11 for close_range(2) with CLOSE_RANGE_CLOEXEC; refuses to start without it.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
	.tasks = NONE, .open_files = 1024, .report_fd = NONE, .landlock_abi = NONE, .tcp_port = NONE,
};

/* Shared with the child until it executes: set when it failed before the program began. */
static volatile int *failed;

_Noreturn void fail(int error, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	dprintf(2, "launcher: ");
	vdprintf(2, format, values);
	dprintf(2, error ? ": %s\n" : "\n", strerror(error));
	va_end(values);
	if (failed) *failed = 1;
	_exit(EXIT_NOT_CONFINED);
}

uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- the command line: a list of values, a switch, or a number within its range ---- */

#define LARGEST (UINT64_MAX / 4) /* Sums of two stay below NONE. */

static const struct {
	const char *name;
	struct values *list;
	int *is_set;
	uint64_t *number, least, most;
} option_table[] = {
	{ "rw", .list = &opt.writable },     /* a place to read and write */
	{ "ro", .list = &opt.readable },     /* a place to read and execute */
	{ "device", .list = &opt.devices },  /* a device to read, write, map and control */
	{ "env", .list = &opt.environment }, /* NAME=VALUE */
	{ "cwd", .list = &opt.cwd },         /* where it starts */
	{ "cgroup", .list = &opt.cgroups },  /* made for it alone, with its limits */
	{ "calls", .list = &opt.toolchains }, /* whose images/<toolchain>/syscalls.txt it needs */
	/* unix stream sockets within the places to write */
	{ "unix", .is_set = &opt.unix_sockets },
	/* the one port of 127.0.0.1 to connect to */
	{ "tcp", .number = &opt.tcp_port, .least = 1, .most = 65535 },
	/* user to become; setresuid(2) takes 2^32 - 1 for "leave as it is" */
	{ "uid", .number = &opt.uid, .least = 1, .most = UINT32_MAX - 1 },
	{ "data", .number = &opt.data, .most = LARGEST },   /* bytes: data segment of each process */
	{ "memory", .number = &opt.memory, .most = LARGEST }, /* bytes of the tree */
	{ "disk", .number = &opt.disk, .most = LARGEST }, /* bytes that it may leave and hold */
	{ "cpu", .number = &opt.cpu_s, .most = INT_MAX },   /* seconds of the tree */
	{ "fsize", .number = &opt.file_size, .most = LARGEST }, /* bytes of each file */
	{ "nproc", .number = &opt.tasks, .most = INT_MAX }, /* processes and threads of the tree */
	{ "nofile", .number = &opt.open_files, .most = INT_MAX }, /* descriptors of each process */
	{ "wall", .number = &opt.wall_ms, .most = LARGEST }, /* ms, 0 for no end */
	/* how far behind others it comes at the processor, sched(7) */
	{ "nice", .number = &opt.nice, .most = 19 },
	{ "report", .number = &opt.report_fd, .least = 3, .most = INT_MAX }, /* for lines of JSON */
	/* do not start unless this is our parent */
	{ "parent", .number = &opt.parent, .most = INT_MAX },
	{ "landlock-abi", .number = &opt.landlock_abi, .most = INT_MAX }, /* use no newer Landlock */
	{ "without-landlock", .is_set = &opt.without_landlock }, /* start even without it */
	/* its first process outlives what it starts: a limit ends that first */
	{ "fork-server", .is_set = &opt.fork_server },
	{ "record", .is_set = &opt.record },  /* let calls outside the lists pass, and report them */
	{ "check", .is_set = &opt.check },    /* say what the kernel supports, and exit */
};

static uint64_t parse_number(const char *name, const char *word, uint64_t least, uint64_t most)
{
	char *rest;
	errno = 0;
	uint64_t number = strtoull(word, &rest, 10);
	if (*word < '0' || *word > '9' || *rest) fail(0, "--%s needs a number", name);
	if (errno || number < least || number > most)
		fail(0, "--%s must be from %llu to %llu", name, (unsigned long long)least,
		     (unsigned long long)most);
	return number;
}

/* Returns the program and its arguments. */
static char **parse_options(char **word)
{
	for (; *word && !strncmp(*word, "--", 2) && (*word)[2]; word++) {
		size_t i = 0;
		while (i < COUNT(option_table) && strcmp(option_table[i].name, *word + 2)) i++;
		if (i == COUNT(option_table)) fail(0, "there is no option %s", *word);
		if (option_table[i].is_set) {
			*option_table[i].is_set = 1;
			continue;
		}
		const char *name = option_table[i].name;
		if (!*++word) fail(0, "--%s needs a value", name);
		struct values *list = option_table[i].list;
		if (list && list->count == MAX_VALUES - 1) fail(0, "--%s was given too often", name);
		if (list)
			list->at[list->count++] = *word;
		else
			*option_table[i].number =
				parse_number(name, *word, option_table[i].least, option_table[i].most);
	}
	if (!opt.check && (!*word || !word[1] || word[1][0] != '/'))
		fail(0, "usage: launcher [options] -- /absolute/program arguments...");
	return word + 1;
}

/* ---- what the kernel supports ---- */

/* The version of Landlock, 0 where there is none. */
static int landlock_abi(void)
{
	const int version = 1; /* LANDLOCK_CREATE_RULESET_VERSION */
	long abi = syscall(__NR_landlock_create_ruleset, NULL, 0, version);
	if (abi < 0) return 0;
	return (int)MIN((uint64_t)abi, opt.landlock_abi);
}

/* Whether a process can be put where --cgroup says; fails with a sentence otherwise. */
static void try_cgroups(void)
{
	int status;
	if (!opt.cgroups.count) return;
	open_cgroups();
	pid_t child = fork_into_cgroups();
	if (!child) _exit(0);
	if (child < 0) fail(errno, "cannot start a process in its cgroup");
	if (waitpid(child, &status, 0) < 0 || status) exit(EXIT_NOT_CONFINED);
}

static int print_support(int abi)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;
	int seccomp = !syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
	return printf("{\"landlock\":%d,\"seccomp\":%s}\n", abi, seccomp ? "true" : "false") < 0;
}

/* ---- the order of the steps ---- */

/* In the child: from a copy of the launcher to the confined program. Each step forbids more. */
static _Noreturn void exec_confined(char **program, pid_t supervisor, int abi, int listener_pipe)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	drop_privileges();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != supervisor) _exit(EXIT_NOT_CONFINED);
	umask(077);
	errno = 0;
	/* Beside what the server has itself: -1 may be the new value. */
	if (opt.nice && nice((int)opt.nice) == -1 && errno) fail(errno, "cannot come behind others");
	if (setsid() < 0 || (opt.cwd.count && chdir(opt.cwd.at[opt.cwd.count - 1])))
		fail(errno, "cannot enter its folder");
	set_rlimits();
	restrict_with_landlock();
	int listener = install_seccomp_filter(abi);
	if (listener >= 0 && write(listener_pipe, &listener, sizeof listener) < 0)
		fail(errno, "cannot tell the supervisor");
	/* The table is the supervisor's too, until execve makes a copy and closes these in it. */
	if (syscall(__NR_close_range, 3, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */))
		fail(errno, "cannot close descriptors");
	execve(program[0], program, (char **)(uintptr_t)opt.environment.at);
	fail(errno, "cannot run %s", program[0]);
}

static void report_end(const char *why, int exit_code, int signal_number, uint64_t start)
{
	if (opt.report_fd == NONE || *failed) return;
	dprintf((int)opt.report_fd,
	        "{\"why\":\"%s\",\"code\":%d,\"signal\":%d,"
	        "\"cpuMs\":%llu,\"peakBytes\":%llu,\"wallMs\":%llu}\n",
	        why, signal_number ? -1 : exit_code, signal_number, (unsigned long long)usage.cpu_ms,
	        (unsigned long long)usage.peak, (unsigned long long)(now_ms() - start));
}

int main(int count, char **words)
{
	char **program = parse_options(words + (count > 0));
	int abi = landlock_abi();
	if (opt.check) {
		try_cgroups();
		return print_support(abi);
	}

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0) fail(0, "descriptors 0, 1 and 2 must be open");
	if (opt.report_fd != NONE && fcntl((int)opt.report_fd, F_SETFD, FD_CLOEXEC))
		fail(errno, "cannot report on %d", (int)opt.report_fd);
	sigset_t while_waiting;
	block_signals(&while_waiting);
	int *shared =
		mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int listener_pipe[2]; /* By this the child tells which descriptor is the seccomp listener. */
	if (shared == MAP_FAILED || pipe2(listener_pipe, O_CLOEXEC)) fail(errno, "cannot prepare");
	failed = shared;
	check_user();
	prepare_usage();
	prepare_landlock(abi);
	open_cgroups();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1)) fail(errno, "cannot supervise");

	uint64_t start = now_ms();
	pid_t supervisor = getpid();
	/*
	 * Still with our privileges, without which there is no entering a cgroup; both give them up
	 * next. Descriptors are shared until the child executes, so that we have its listener.
	 */
	pid_t leader = fork_into_cgroups();
	if (leader < 0) fail(errno, "cannot fork");
	if (!leader) exec_confined(program, supervisor, abi, listener_pipe[1]);
	drop_privileges();
	/* After the change of user, which clears it. The child dies with us, or sees that we did. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM)) fail(errno, "cannot supervise");
	if (opt.parent && getppid() != (pid_t)opt.parent) return EXIT_NOT_CONFINED;
	if (opt.report_fd != NONE) dprintf((int)opt.report_fd, "{\"pid\":%d}\n", leader);

	const char *why = supervise(leader, listener_pipe[0], &while_waiting);
	int status = kill_and_reap(leader);
	int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	int exit_code = signal_number ? 128 + signal_number : WEXITSTATUS(status);
	usage.cpu_ms = reaped_cpu_ms();
	if (is_disk_exceeded_at_end()) why = "output";
	/* The hard limit of RLIMIT_CPU kills; the soft one may be ignored. */
	if (signal_number == SIGKILL && !strcmp(why, "signal") && usage.cpu_ms / 1000 >= opt.cpu_s)
		why = "time";
	report_end(why, exit_code, signal_number, start);
	return exit_code;
}
