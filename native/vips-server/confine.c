/*
 * Confines the process of one picture further than the launcher confines the server.
 *
 * Stops: leaving something for the next picture outside the job's own folder; starting a process
 * that outlives the picture; signals to the server; more programs in the kernel; taking so much
 * memory that the launcher ends the server as well.
 *
 * Needs: Landlock ABI 1 for files, 6 for signals; below that the launcher refuses signals to all.
 * Where the launcher was told to do without Landlock, so does this.
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- files and signals: Landlock. Numbers of linux/landlock.h, which older headers lack ---- */

enum {
	WRITE_FILE = 1 << 1,
	REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5,
	MAKE_CHAR = 1 << 6,
	MAKE_ALL = 0x7f << 6, /* From MAKE_CHAR to MAKE_SYM. */
	REFER = 1 << 13,      /* From ABI 2. */
	TRUNCATE = 1 << 14,   /* From ABI 3. */
	SIGNALS_AND_ABSTRACT_SOCKETS = 3, /* From ABI 6. */
};

static void restrict_files(const char *folder)
{
	long abi = syscall(__NR_landlock_create_ruleset, NULL, 0, 1 /* asks for the version */);
	if (abi < 1) return;
	uint64_t rights = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_ALL;
	if (abi >= 2) rights |= REFER;
	if (abi >= 3) rights |= TRUNCATE;
	const struct {
		uint64_t files, network, scopes;
	} handled = { rights, 0, abi >= 6 ? SIGNALS_AND_ABSTRACT_SOCKETS : 0 };
	int ruleset = (int)syscall(__NR_landlock_create_ruleset, &handled,
	                           abi >= 6 ? sizeof handled : sizeof handled.files, 0);
	int place = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ruleset < 0 || place < 0) fail(errno, "cannot open the job's folder");
	const struct {
		uint64_t rights;
		int32_t place;
	} __attribute__((packed)) rule = { rights, place };
	if (syscall(__NR_landlock_add_rule, ruleset, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0) ||
	    syscall(__NR_landlock_restrict_self, ruleset, 0))
		fail(errno, "cannot restrict with Landlock");
	close(ruleset);
	close(place);
}

/* ---- processes: seccomp. The launcher's filter stays in force, and has killed other ABIs ---- */

#define LOW_WORD_OF(argument) (offsetof(struct seccomp_data, args) + 8 * (argument))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define ANSWER(call, error) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), RETURN(SECCOMP_RET_ERRNO | (error))
#define REFUSE(call) ANSWER(call, EPERM)

static void restrict_processes(void)
{
	struct sock_filter filter[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
#ifdef __NR_fork
		REFUSE(fork),
		REFUSE(vfork),
#endif
		/* Its flags lie in memory; the C library takes clone where there is none. */
		ANSWER(clone3, ENOSYS),
		REFUSE(execve),
		REFUSE(execveat),
		REFUSE(seccomp),
		REFUSE(landlock_create_ruleset),
		REFUSE(landlock_add_rule),
		REFUSE(landlock_restrict_self),
		/* Threads, which end with the process. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3),
		LOAD(LOW_WORD_OF(0)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
	if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		fail(errno, "cannot install a seccomp filter");
}

/* ---- memory ---- */

enum { MEBIBYTE = 1024 * 1024 };

rlim_t most_memory(void)
{
	struct rlimit data;
	getrlimit(RLIMIT_DATA, &data);
	/* The launcher gives a process twice what its tree may hold, and 512 MiB at least. */
	rlim_t tree = data.rlim_cur / 2;
	return data.rlim_cur == RLIM_INFINITY || tree <= 256 * MEBIBYTE ? data.rlim_cur : tree - 32 * MEBIBYTE;
}

static void restrict_memory(void)
{
	const struct rlimit most = { most_memory(), most_memory() };
	if (setrlimit(RLIMIT_DATA, &most)) fail(errno, "cannot limit memory");
}

void confine_to(const char *folder)
{
	/* The launcher has done so; without it the kernel lets root alone restrict itself. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail(errno, "cannot give up privileges");
	restrict_memory();
	restrict_files(folder);
	restrict_processes();
}
