/*
 * Limits: privileges, and rlimits of the kernel's own.
 *
 * Stops: acting as root or with capabilities, gaining either by a set-user-ID program; core dumps,
 * to a file or to a handler (systemd-coredump, apport); locked memory; message queues; endless
 * timers, data segments, files, descriptors and processor time of one process; and, for a user that
 * no other process has, a fork bomb. What a tree uses in all is watched by usage.c.
 *
 * Needs: Linux 4.3 (PR_CAP_AMBIENT), 3.5 (PR_SET_NO_NEW_PRIVS); refuses to start without them.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- privileges ---- */

void check_user(void)
{
	int root = !geteuid() || !getuid();
	if (root != (opt.uid != NONE))
		fail(0, "--uid names an unused user to become, which root must give and no other user may");
}

void drop_privileges(void)
{
	if (opt.uid != NONE) {
		uid_t uid = (uid_t)opt.uid;
		for (unsigned long c = 0; c < 64; c++) prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
		if (syscall(__NR_setgroups, 0, NULL) || setresgid(uid, uid, uid) ||
		    setresuid(uid, uid, uid))
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

/* ---- rlimits ---- */

/* Soft and hard. NONE leaves the hard limit as it is. */
static void set_rlimit(int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit now = { 0, 0 };
	getrlimit(resource, &now);
	struct rlimit then = { MIN(soft, now.rlim_max), MIN(hard, now.rlim_max) };
	if (setrlimit(resource, &then)) fail(errno, "cannot set limit %d", resource);
}

void set_rlimits(void)
{
	/* With 0, core(5), a handler of the machine's would be given the dump: 1 stops that as well. */
	set_rlimit(RLIMIT_CORE, 1, 1);
	set_rlimit(RLIMIT_MEMLOCK, 65536, 65536);
	set_rlimit(RLIMIT_MSGQUEUE, 0, 0);
	/* Timers, and signals that wait to be received. */
	set_rlimit(RLIMIT_SIGPENDING, 4096, 4096);
	set_rlimit(RLIMIT_DATA, opt.data, opt.data);
	set_rlimit(RLIMIT_FSIZE, opt.file_size, opt.file_size);
	set_rlimit(RLIMIT_NOFILE, opt.open_files, opt.open_files);
	set_rlimit(RLIMIT_CPU, opt.cpu_s, opt.cpu_s == NONE ? NONE : opt.cpu_s + 1);
	/*
	 * It counts a whole user's: the supervisor too, and is useless for the server's own user. A
	 * cgroup counts the program's alone, and tells when it refused one.
	 */
	int by_user = opt.uid != NONE && opt.tasks != NONE && !opt.cgroups.count;
	uint64_t tasks = by_user ? opt.tasks + 1 : NONE;
	set_rlimit(RLIMIT_NPROC, tasks, tasks);
	/* Rather the converter than the server when the machine's memory ends. */
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	/* Refused where the server's own score is higher: then it inherits that. */
	if (score >= 0 && write(score, "500", 3) < 0) errno = 0;
	if (score >= 0) close(score);
}
