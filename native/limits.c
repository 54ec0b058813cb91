/*
 * Privileges and the kernel's own limits. (Any kernel that the rest runs on.)
 *
 * Stops: acting as root or with capabilities, gaining either by a set-user-ID program; core dumps;
 * locked memory; message queues; endless data segments, files, descriptors and processor time of
 * one process; and, for a user that nobody else has, a fork bomb. What a tree holds in all is
 * watched in usage.c.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void drop_privilege(void)
{
	int root = !geteuid() || !getuid();
	if (root != (opt.uid != NONE) || !opt.uid)
		fail(0, "--uid names an unused user to become, which root must give and nobody else may");
	if (root) {
		for (int c = 0; c < 64; c++) prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
		if (syscall(__NR_setgroups, 0, NULL) || setresgid(opt.uid, opt.uid, opt.uid) ||
		    setresuid(opt.uid, opt.uid, opt.uid))
			fail(errno, "cannot become another user");
	}
	const uint32_t header[2] = { 0x20080522 /* _LINUX_CAPABILITY_VERSION_3 */, 0 };
	const uint32_t no_capabilities[6] = { 0 };
	if (syscall(__NR_capset, header, no_capabilities) ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail(errno, "cannot give up privileges");
	/* The change of user took this away: our child's /proc is its own, and ours to look at. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Soft and hard. NONE leaves the hard limit as it is. */
static void limit(int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit now = { 0, 0 };
	getrlimit(resource, &now);
	struct rlimit then = { MIN(soft, now.rlim_max), MIN(hard, now.rlim_max) };
	if (setrlimit(resource, &then)) fail(errno, "cannot set limit %d", resource);
}

/* In the child. */
void set_limits(void)
{
	limit(RLIMIT_CORE, 0, 0);
	limit(RLIMIT_MEMLOCK, 65536, 65536);
	limit(RLIMIT_MSGQUEUE, 0, 0);
	limit(RLIMIT_DATA, opt.data, opt.data);
	limit(RLIMIT_FSIZE, opt.file_size, opt.file_size);
	limit(RLIMIT_NOFILE, opt.files, opt.files);
	limit(RLIMIT_CPU, opt.cpu_s, opt.cpu_s == NONE ? NONE : opt.cpu_s + 1);
	/* It counts a whole user's: the supervisor too, and is useless for the server's own user. */
	uint64_t tasks = opt.uid == NONE || opt.tasks == NONE ? NONE : opt.tasks + 1;
	limit(RLIMIT_NPROC, tasks, tasks);
	/* Rather the converter than the server when the machine's memory ends. */
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0 && write(score, "500", 3) > 0) close(score);
}
