/*
 * Starts a process of Chromium's for the browser, confined further than the launcher confines both.
 *
 *   chromium-child --type=renderer ...    as Chromium starts its own program (--browser-subprocess-path)
 *
 * Chromium's own sandbox would keep a renderer from the browser, but is made of user namespaces and
 * of a broker that the launcher leaves no room for. This does the same by what the launcher allows.
 *
 * Stops: a page that has taken its renderer over from tracing or signalling the browser, and the
 * renderer of any other page; from reading or changing their files, the job's, and the profile;
 * from connecting to the proxy while another page is loaded; from starting a process that outlives
 * the renderer.
 *
 * Needs: Landlock ABI 1 for files, 6 for signals a second time. Where the launcher was told to do
 * without Landlock, so does this: files are not confined then, and all else is.
 *
 * A process gets a separate folder for the memory that it shares with the browser, since memory
 * without a file is refused to all: renderer-PID-XXXXXX in HOME, or service-PID-XXXXXX. By these
 * exec/programs/documents/page/renderers.ts knows the processes that were started here, and removes what they
 * leave.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_NOT_CONFINED = 125 /* As of the launcher. */, LONGEST_PATH = 4096 };

__attribute__((format(printf, 1, 2))) static _Noreturn void fail(const char *format, ...)
{
	int error = errno;
	va_list values;
	va_start(values, format);
	dprintf(2, "chromium-child: ");
	vdprintf(2, format, values);
	dprintf(2, ": %s\n", strerror(error));
	_exit(EXIT_NOT_CONFINED);
}

static int has(char **words, const char *wanted)
{
	while (*words && strcmp(*words, wanted)) words++;
	return *words != NULL;
}

/* ---- files and signals: Landlock. Numbers of linux/landlock.h, which older headers lack ---- */

enum {
	EXECUTE = 1 << 0,
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5,
	MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	ABI_1 = (1 << 13) - 1,
	REFER = 1 << 13,     /* From ABI 2. */
	TRUNCATE = 1 << 14,  /* From ABI 3. */
	IOCTL_DEV = 1 << 15, /* From ABI 5. */

	OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
	TO_READ = EXECUTE | READ_FILE | READ_DIR,
	/* Files of shared memory, which are unlinked once they are open. */
	TO_SHARE = WRITE_FILE | READ_FILE | REMOVE_FILE | MAKE_REG | TRUNCATE,
	TO_WRITE = TO_SHARE | READ_DIR | REMOVE_DIR | MAKE_DIR | REFER,
};
enum { BIND_AND_CONNECT_TCP = 3 /* From ABI 4. */, SIGNALS_AND_ABSTRACT_SOCKETS = 3 /* From ABI 6. */ };

/* Chromium's data, libraries, fonts, and numbers of the machine. */
static const char *const readable[] = {
	"/usr/lib", "/usr/share", "/lib", "/lib64", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime",
	"/var/cache/fontconfig", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom",
	"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version",
	"/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
};

static uint64_t governed;

static void permit(int ruleset, int fd, uint64_t rights)
{
	struct stat is;
	if (fstat(fd, &is)) fail("cannot look at what is to be allowed");
	if (!S_ISDIR(is.st_mode)) rights &= OF_A_FILE;
	const struct {
		uint64_t rights;
		int32_t place;
	} __attribute__((packed)) rule = { rights & governed, fd };
	if (syscall(__NR_landlock_add_rule, ruleset, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0))
		fail("cannot add to a Landlock ruleset");
}

/* What the machine lacks is left out. */
static void permit_path(int ruleset, const char *path, uint64_t rights)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0) return;
	permit(ruleset, fd, rights);
	close(fd);
}

static int create_ruleset(long abi, int uses_network)
{
	governed = ABI_1;
	if (abi >= 2) governed |= REFER;
	if (abi >= 3) governed |= TRUNCATE;
	if (abi >= 5) governed |= IOCTL_DEV;
	const struct {
		uint64_t files, network, scopes;
	} handled = {
		governed,
		abi >= 4 && !uses_network ? BIND_AND_CONNECT_TCP : 0,
		abi >= 6 ? SIGNALS_AND_ABSTRACT_SOCKETS : 0,
	};
	size_t known = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	int ruleset = (int)syscall(__NR_landlock_create_ruleset, &handled, known, 0);
	if (ruleset < 0) fail("cannot make a Landlock ruleset");
	return ruleset;
}

static void restrict_files(int program, const char *home, const char *own, int uses_network)
{
	char profile[LONGEST_PATH];
	snprintf(profile, sizeof profile, "%s/profile", home);
	long abi = syscall(__NR_landlock_create_ruleset, NULL, 0, 1 /* asks for the version */);
	if (abi < 1) return;
	int ruleset = create_ruleset(abi, uses_network);
	for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
		permit_path(ruleset, readable[i], TO_READ);
	permit(ruleset, program, TO_READ);
	permit_path(ruleset, "/dev/null", WRITE_FILE);
	permit_path(ruleset, own, TO_SHARE);
	if (uses_network) permit_path(ruleset, profile, TO_WRITE);
	if (syscall(__NR_landlock_restrict_self, ruleset, 0)) fail("cannot restrict with Landlock");
	close(ruleset);
}

/* ---- processes and sockets: seccomp. The launcher's filter stays in force too ---- */

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define LOAD_FIRST_ARGUMENT LOAD(offsetof(struct seccomp_data, args))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define DENY(error) RETURN(SECCOMP_RET_ERRNO | (error))
/* Over this many instructions, unless it is this call. */
#define UNLESS(call, over) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, over)
#define REFUSE(call) UNLESS(call, 1), DENY(EPERM)
/* The kernel takes a process's number from the low 32 bits. */
#define TO_ITSELF_ONLY(call) \
	UNLESS(call, 4), LOAD_FIRST_ARGUMENT, \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 1), ALLOW, DENY(EPERM)

static void restrict_calls(int uses_network)
{
	struct sock_filter filter[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
#ifdef __NR_fork
		REFUSE(fork),
		REFUSE(vfork),
#endif
		/* Its flags lie in memory; the C library takes clone where there is none. */
		UNLESS(clone3, 1), DENY(ENOSYS),
		/* Threads, which end with the process. */
		UNLESS(clone, 4), LOAD_FIRST_ARGUMENT,
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1), ALLOW, DENY(EPERM),
		/* By the number that execve keeps. */
		TO_ITSELF_ONLY(kill),
		TO_ITSELF_ONLY(tgkill),
		TO_ITSELF_ONLY(rt_sigqueueinfo),
		TO_ITSELF_ONLY(rt_tgsigqueueinfo),
		REFUSE(tkill),
		REFUSE(pidfd_open),
		REFUSE(pidfd_send_signal),
		/* The launcher refuses these to all. */
		REFUSE(pidfd_getfd),
		REFUSE(ptrace),
		REFUSE(process_vm_readv),
		REFUSE(process_vm_writev),
		REFUSE(kcmp),
		REFUSE(seccomp),
		REFUSE(landlock_create_ruleset),
		REFUSE(landlock_add_rule),
		REFUSE(landlock_restrict_self),
		/* Its sockets come from the browser, in pairs. */
		BPF_STMT(BPF_JMP | BPF_JA, uses_network ? 12 : 0),
		REFUSE(socket),
		REFUSE(connect),
		REFUSE(bind),
		REFUSE(listen),
		REFUSE(accept),
		REFUSE(accept4),
		ALLOW,
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
	if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		fail("cannot install a seccomp filter");
}

int main(int count, char **words)
{
	const char *home = getenv("HOME");
	if (count < 2 || !home) {
		dprintf(2, "usage: chromium-child --type=..., by Chromium, with HOME set\n");
		return EXIT_NOT_CONFINED;
	}
	/* The browser's own program, also where an upgrade has put another in its place meanwhile. */
	char path[LONGEST_PATH];
	snprintf(path, sizeof path, "/proc/%d/exe", getppid());
	int program = open(path, O_PATH | O_CLOEXEC);
	if (program < 0) fail("cannot open the browser's program");
	const char *kind = has(words, "--type=renderer") ? "renderer" : "service";
	snprintf(path, sizeof path, "%s/%s-%d-XXXXXX", home, kind, getpid());
	if (!mkdtemp(path)) fail("cannot make %s", path);
	/*
	 * One process talks to the proxy, and keeps the profile, for all pages. Every other one is
	 * confined as a renderer, also of a type that a later Chromium adds.
	 */
	int uses_network = has(words, "--utility-sub-type=network.mojom.NetworkService");
	/* The launcher has done so; without it the kernel lets root alone restrict itself. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("cannot give up privileges");
	restrict_files(program, home, path, uses_network);
	restrict_calls(uses_network);
	setenv("HOME", path, 1);
	setenv("TMPDIR", path, 1);
	syscall(__NR_execveat, program, "", words, environ, AT_EMPTY_PATH);
	fail("cannot run the browser's program");
}
