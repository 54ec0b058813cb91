/*
 * Control groups: what the kernel counts, and limits by itself.
 *
 * Stops: memory in any form that the kernel knows of, its own objects (mappings, page tables,
 * watches, sockets, threads) included, from the first byte above the limit on and not from the next
 * sample; more processes than allowed, also where converters share the server's user.
 *
 * --cgroup names a folder that the server made for this program alone, with its limits, and that it
 * removes afterwards: one of version 2, or one for each hierarchy of version 1. The program is born
 * in it or enters it before anything else; the supervisor stays outside, so that it can tell why
 * the program ended. The program itself cannot leave: Landlock gives it no file of a cgroup.
 *
 * Needs: Linux 5.7 for version 2 (CLONE_INTO_CGROUP), 4.13 for version 1 (oom_kill in
 * memory.oom_control). Without --cgroup usage.c counts.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int born_in = -1;          /* Version 2: its folder. */
static int entered[MAX_VALUES];   /* Version 1: the `tasks` of each. */
static int entered_count;
static int memory_now = -1, memory_events = -1, process_events = -1;

static void open_first(int *fd, int folder, const char *version_2, const char *version_1)
{
	if (*fd < 0) *fd = openat(folder, version_2, O_RDONLY | O_CLOEXEC);
	if (*fd < 0) *fd = openat(folder, version_1, O_RDONLY | O_CLOEXEC);
}

/* Before the change of user, who may open none of it. */
void open_cgroups(void)
{
	for (int i = 0; i < opt.cgroups.count; i++) {
		const char *path = opt.cgroups.at[i];
		int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (folder < 0) fail(errno, "cannot open the cgroup %s", path);
		int tasks = openat(folder, "tasks", O_WRONLY | O_CLOEXEC);
		if (tasks < 0 && errno != ENOENT) fail(errno, "cannot enter the cgroup %s", path);
		open_first(&memory_now, folder, "memory.current", "memory.usage_in_bytes");
		open_first(&memory_events, folder, "memory.events", "memory.oom_control");
		open_first(&process_events, folder, "pids.events", "pids.events");
		if (tasks >= 0) {
			entered[entered_count++] = tasks;
			close(folder);
		} else
			born_in = folder;
	}
	if (opt.cgroups.count && (memory_now < 0 || memory_events < 0 || process_events < 0))
		fail(0, "its cgroup counts no memory or no processes");
}

/* Moving another process, or one of several threads, would wait for all processors (20 ms). */
static void enter_cgroups(void)
{
	for (int i = 0; i < entered_count; i++)
		if (write(entered[i], "0", 1) != 1) fail(errno, "cannot enter its cgroup");
}

pid_t fork_into_cgroups(void)
{
	const uint64_t into_cgroup = 1ULL << 33;
	/* struct clone_args, whose last member older headers lack. */
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
		uint64_t set_tid, set_tid_size, cgroup;
	} how = { .flags = CLONE_FILES, .exit_signal = SIGCHLD };
	if (born_in >= 0) how.flags |= into_cgroup, how.cgroup = (uint64_t)born_in;
	pid_t child = (pid_t)(born_in >= 0
	                              ? syscall(__NR_clone3, &how, sizeof how)
	                              : syscall(__NR_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0));
	if (!child) enter_cgroups();
	return child;
}

/* The number after `name`, or the only one; NONE where it cannot be read. */
static uint64_t read_number(int fd, const char *name)
{
	char text[1024];
	ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
	if (length <= 0) return NONE;
	text[length] = 0;
	const char *at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, 10) : NONE;
}

static uint64_t forgiven; /* Kills for lack of memory. */

static int is_above(uint64_t known, int fd, const char *name)
{
	uint64_t count = read_number(fd, name);
	return count != NONE && count > known;
}

uint64_t cgroup_memory(void) { return read_number(memory_now, ""); }

int cgroup_ran_out_of_memory(void) { return is_above(forgiven, memory_events, "\noom_kill "); }

void cgroup_forgive(void)
{
	uint64_t count = read_number(memory_events, "\noom_kill ");
	if (count != NONE) forgiven = count;
}

int cgroup_refused_a_process(void) { return is_above(0, process_events, "max "); }
