/*
 * Confines one converter: starts it under Landlock, seccomp and limits, watches its whole process tree, and ends all of it.
 *
 *   launcher [options] -- /absolute/program arguments...
 *
 * It stays as the supervisor, and exits as the program did (128 + the signal), or with 125 and a sentence when it could not confine.
 * It needs no privilege; started as root it becomes the user given by --uid.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#define ARCH 0xc000003e		 /* AUDIT_ARCH_X86_64 */
#define X86(...) __VA_ARGS__ /* Calls that newer architectures lack. */
#else
#define ARCH 0xc00000b7 /* AUDIT_ARCH_AARCH64 */
#define X86(...)
#endif
#define COUNT(list) (sizeof list / sizeof *list)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define NONE UINT64_MAX /* no limit, or not given */
enum { MOST = 256, OWN_FAILURE = 125 };
static struct {
	const char *rw[MOST], *ro[MOST], *env[MOST], *cwd[MOST];
	int rws, ros, envs, cwds, unix_sockets, without_landlock, check, rw_fd[MOST];
	uint64_t uid, data, memory, cpu_s, file_size, tasks, files, wall_ms, report, landlock, parent, tcp;
} opt = { .uid = NONE, .data = NONE, .memory = NONE, .cpu_s = NONE, .file_size = NONE, .tasks = NONE, .files = 1024, .report = NONE, .landlock = NONE, .tcp = NONE };

static volatile int *failed; /* Shared with the child until it executes: set when it failed before the program began. */
static _Noreturn __attribute__((format(printf, 2, 3))) void fail(int cause, const char *sentence, ...) {
	va_list values;
	va_start(values, sentence);
	dprintf(2, "launcher: ");
	vdprintf(2, sentence, values);
	dprintf(2, cause ? ": %s\n" : "\n", strerror(cause));
	if (failed) *failed = 1;
	_exit(OWN_FAILURE);
}
static uint64_t now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
/* ---- Landlock: files, TCP, and from ABI 6 signals and abstract sockets. Constants are ours: headers are older than kernels. ---- */
enum {
	EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3, REMOVE_DIR = 1 << 4, REMOVE_FILE = 1 << 5, MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8, MAKE_SOCK = 1 << 9, ABI_1 = (1 << 13) - 1, REFER = 1 << 13 /* ABI 2 */, TRUNCATE = 1 << 14 /* 3 */, IOCTL_DEV = 1 << 15 /* 5 */,
	FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV, READ_ONLY = EXECUTE | READ_FILE | READ_DIR,
	/* No symlinks, FIFOs or devices, which whoever collects the output could follow or hang on; and nothing written can be executed. */
	READ_WRITE = WRITE_FILE | READ_FILE | READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE,
};
static int handled_fs, ruleset = -1;
/* Returns the descriptor of the place, or -1 where it does not exist. */
static int allow(const char *path, uint64_t rights) {
	struct stat is;
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &is)) return -1;
	struct { uint64_t allowed; int32_t fd; } __attribute__((packed)) rule = { rights & (uint64_t)handled_fs & (S_ISDIR(is.st_mode) ? ~0ull : FOR_FILES), fd };
	if (ruleset >= 0 && syscall(__NR_landlock_add_rule, ruleset, 1 /* PATH_BENEATH */, &rule, 0)) fail(errno, "cannot allow %s", path);
	return fd;
}
static int is_of_self(const char *path) { return !strncmp(path, "/proc/self", 10); }
static void prepare_landlock(int abi) {
	handled_fs = ABI_1 | (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNCATE : 0) | (abi >= 5 ? IOCTL_DEV : 0);
	struct { uint64_t fs, net, scoped; } all = { (uint64_t)handled_fs, abi >= 4 ? 3 /* bind, connect of TCP */ : 0, abi >= 6 ? 3 /* abstract sockets, signals */ : 0 };
	if (!abi && !opt.without_landlock) fail(0, "this kernel has no Landlock to confine files; enable it (lsm=landlock) or say --without-landlock");
	if (abi && (ruleset = syscall(__NR_landlock_create_ruleset, &all, abi >= 6 ? 24 : abi >= 4 ? 16 : 8, 0)) < 0) fail(errno, "cannot make a Landlock ruleset");
	for (int i = 0; i < opt.rws; i++)
		if ((opt.rw_fd[i] = allow(opt.rw[i], READ_WRITE | (opt.unix_sockets ? MAKE_SOCK : 0))) < 0) fail(errno, "cannot open %s", opt.rw[i]);
	for (int i = 0; i < opt.ros; i++) if (!is_of_self(opt.ro[i])) close(allow(opt.ro[i], READ_ONLY));
}
/* ---- seccomp: what Landlock does not govern ---- */
#define ALL 0xffffffffu
/* Numbers from 424 on are the same everywhere; calls newer than the oldest headers are written as numbers. */
static const int refused[] = {
	__NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_kcmp, __NR_pidfd_getfd, __NR_process_madvise, 448 /* process_mrelease */,
	__NR_io_uring_setup, __NR_io_uring_enter, __NR_io_uring_register, __NR_bpf, __NR_perf_event_open, __NR_userfaultfd, __NR_keyctl, __NR_add_key,
	__NR_request_key, __NR_setsid, __NR_setpgid, __NR_unshare, __NR_setns, __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_open_tree,
	__NR_move_mount, __NR_fsopen, __NR_fsconfig, __NR_fsmount, __NR_fspick, __NR_mount_setattr, 467 /* open_tree_attr */, __NR_quotactl, __NR_quotactl_fd,
	__NR_acct, __NR_swapon, __NR_swapoff, __NR_reboot, __NR_kexec_load, __NR_kexec_file_load, __NR_init_module, __NR_finit_module, __NR_delete_module,
	__NR_syslog, __NR_name_to_handle_at, __NR_open_by_handle_at, __NR_vhangup, __NR_migrate_pages, __NR_move_pages,
	X86(__NR_iopl, __NR_ioperm, __NR_modify_ldt, __NR_uselib, __NR_inotify_init,)
	__NR_inotify_init1, __NR_fanotify_init, __NR_fanotify_mark, /* they tell of other people's files, and Landlock lets them */
	__NR_shmget, __NR_shmat, __NR_semget, __NR_msgget, __NR_mq_open, __NR_mq_unlink, /* they outlive the tree */
	__NR_memfd_create, 447 /* memfd_secret: memory that is in no process's resident set */,
};
static const int absent[] = { __NR_clone3, __NR_openat2 }; /* Their flags lie in memory; the C library falls back to clone and openat. */
/* Landlock leaves metadata alone: answered as done but not done, since programs take a refusal for a broken disk. */
static const int pretended[] = {
	__NR_fchmod, __NR_fchmodat, 452 /* fchmodat2 */, __NR_fchown, __NR_fchownat, __NR_utimensat, __NR_setxattr, __NR_lsetxattr, __NR_fsetxattr,
	__NR_umask, 463 /* setxattrat */, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr, 466 /* removexattrat */, 469 /* file_setattr */,
	X86(__NR_chmod, __NR_chown, __NR_lchown, __NR_utime, __NR_utimes, __NR_futimesat,)
};
/* Befalls a call WHEN, or UNLESS, its argument & mask equals value. Kernel flags lie in the low 32 bits. */
struct rule { enum { ALWAYS, BELOW_3, BELOW_6, NO_SOCKET, NO_UNIX, UNIX, TCP, ASK_CONNECT, ASK_UNIX, ASK_COUNTING } where; int call; enum { WHEN, UNLESS } test; int argument; uint32_t mask, value; };
#define ANY(where, call) { where, __NR_##call, WHEN, 0, 0, 0 }
#define PART(where, call, ...) { where, __NR_##call, __VA_ARGS__ }
static const struct rule rules[] = {
	PART(ALWAYS, clone, UNLESS, 0, 0x7e020000 /* every CLONE_NEW* */, 0), PART(ALWAYS, personality, UNLESS, 0, ALL, ALL),
	PART(ALWAYS, ioctl, WHEN, 1, ALL, TIOCSTI), PART(ALWAYS, ioctl, WHEN, 1, ALL, 0x541c /* TIOCLINUX */),
	/* The limits, priority and processors of other processes of the same user. */
	PART(ALWAYS, prlimit64, UNLESS, 0, ALL, 0), PART(ALWAYS, sched_setaffinity, UNLESS, 0, ALL, 0), PART(ALWAYS, sched_setparam, UNLESS, 0, ALL, 0),
	PART(ALWAYS, sched_setscheduler, UNLESS, 0, ALL, 0), PART(ALWAYS, sched_setattr, UNLESS, 0, ALL, 0), PART(ALWAYS, setpriority, UNLESS, 1, ALL, 0),
	PART(ALWAYS, setpriority, WHEN, 0, ALL, PRIO_USER), PART(ALWAYS, ioprio_set, UNLESS, 1, ALL, 0), PART(ALWAYS, ioprio_set, WHEN, 0, ALL, 3 /* a user's */),
	/* Access mode 3 opens neither for reading nor for writing, so Landlock asks for no right. */
	PART(ALWAYS, openat, WHEN, 2, O_ACCMODE, O_ACCMODE), X86(PART(ALWAYS, open, WHEN, 1, O_ACCMODE, O_ACCMODE),)
	/* A folder that its owner cannot enter could not be measured or removed. A datagram socket may send to any path, whatever it is paired with. */
	PART(ALWAYS, mkdirat, UNLESS, 2, 0700, 0700), X86(PART(ALWAYS, mkdir, UNLESS, 1, 0700, 0700),)
	PART(ALWAYS, socketpair, UNLESS, 0, ALL, AF_UNIX), PART(ALWAYS, socketpair, WHEN, 1, 0xf, SOCK_DGRAM), PART(ALWAYS, socketpair, WHEN, 1, 0xf, SOCK_RAW),
	/* Truncation, by path or by opening without the right to write. */
	ANY(BELOW_3, truncate), PART(BELOW_3, openat, WHEN, 2, O_ACCMODE | O_TRUNC, O_TRUNC), X86(PART(BELOW_3, open, WHEN, 1, O_ACCMODE | O_TRUNC, O_TRUNC),)
	/* Signals, also those that the kernel sends because of a descriptor. */
	ANY(BELOW_6, kill), ANY(BELOW_6, tkill), ANY(BELOW_6, pidfd_send_signal), ANY(BELOW_6, rt_sigqueueinfo), ANY(BELOW_6, rt_tgsigqueueinfo),
	PART(BELOW_6, fcntl, WHEN, 1, ALL, F_SETOWN), PART(BELOW_6, fcntl, WHEN, 1, ALL, F_SETSIG), PART(BELOW_6, fcntl, WHEN, 1, ALL, F_SETOWN_EX),
	PART(BELOW_6, ioctl, WHEN, 1, ALL, FIOSETOWN), PART(BELOW_6, ioctl, WHEN, 1, ALL, SIOCSPGRP),
	ANY(NO_SOCKET, socket), ANY(NO_SOCKET, connect), ANY(NO_UNIX, bind), ANY(NO_UNIX, listen),
	PART(UNIX, socket, UNLESS, 0, ALL, AF_UNIX), PART(UNIX, socket, UNLESS, 1, 0xf, SOCK_STREAM),
	PART(TCP, socket, UNLESS, 0, ALL, AF_INET), PART(TCP, socket, UNLESS, 1, 0xf, SOCK_STREAM), PART(TCP, socket, UNLESS, 2, ~IPPROTO_TCP, 0),
	/* Each would connect without connect(2). */
	PART(TCP, sendto, WHEN, 3, MSG_FASTOPEN, MSG_FASTOPEN), PART(TCP, sendmsg, WHEN, 2, MSG_FASTOPEN, MSG_FASTOPEN), PART(TCP, sendmmsg, WHEN, 3, MSG_FASTOPEN, MSG_FASTOPEN),
	/* The supervisor answers the rest. Landlock (to ABI 8) does not govern connect(2) to a path, of TCP only the port, and access(2) never. */
	ANY(ASK_CONNECT, connect), PART(ASK_UNIX, faccessat, WHEN, 2, W_OK, W_OK), X86(PART(ASK_UNIX, access, WHEN, 1, W_OK, W_OK),)
	/* RLIMIT_NPROC counts a whole user's: right for a slot's own user, useless for the one that runs the server. */
	PART(ASK_COUNTING, clone, WHEN, 0, CLONE_THREAD, 0), X86(ANY(ASK_COUNTING, fork), ANY(ASK_COUNTING, vfork),)
};
static unsigned short length = 6;
static struct sock_filter code[1024] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000 /* x32 */, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static void emit(struct rule r, uint32_t action) {
	const struct sock_filter lines[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r.call, 0, 5), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * r.argument),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, r.mask), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r.value, r.test == UNLESS, r.test == WHEN),
		BPF_STMT(BPF_RET | BPF_K, action), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	memcpy(code + length, lines, sizeof lines), length += COUNT(lines);
}
static void emit_all(const int *calls, size_t count, uint32_t action) {
	for (size_t i = 0; i < count; i++) emit((struct rule){ ALWAYS, calls[i], WHEN, 0, 0, 0 }, action);
}
/* Returns the descriptor on which the supervisor is asked, or -1 where nothing is asked. */
static int confine_calls(int abi) {
	int counts = opt.uid == NONE && opt.tasks != NONE, unix_ = opt.unix_sockets, tcp = opt.tcp != NONE, asks = counts || unix_ || tcp;
	const int holds[] = { 1, abi < 3, abi < 6, !unix_ && !tcp, !unix_, unix_, tcp, unix_ || tcp, unix_, counts };
	emit_all(refused, COUNT(refused), SECCOMP_RET_ERRNO | EPERM);
	emit_all(absent, COUNT(absent), SECCOMP_RET_ERRNO | ENOSYS);
	emit_all(pretended, COUNT(pretended), SECCOMP_RET_ERRNO | 0);
	if (abi < 6) emit((struct rule){ BELOW_6, __NR_tgkill, UNLESS, 0, ALL, getpid() }, SECCOMP_RET_ERRNO | EPERM);
	for (const struct rule *r = rules; r < rules + COUNT(rules); r++)
		if (holds[r->where]) emit(*r, r->where >= ASK_CONNECT ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM);
	code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	int listener = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, asks ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &(struct sock_fprog){ length, code });
	return listener < 0 ? fail(errno, "cannot install the seccomp filter"), -1 : asks ? listener : -1;
}
/* ---- the supervisor ---- */
static struct { uint64_t tasks, rss, peak, cpu_ms, at; } seen = { .tasks = 1 }; /* Of the whole tree; bytes, ms. Tasks are processes and threads. */
static DIR *processes;
static volatile sig_atomic_t cancelled;
static void hear(int signal) { cancelled |= signal == SIGTERM; }
static uint64_t ms_of_reaped(void) {
	struct rusage all;
	getrusage(RUSAGE_CHILDREN, &all);
	if ((uint64_t)all.ru_maxrss * 1024 > seen.peak) seen.peak = (uint64_t)all.ru_maxrss * 1024;
	return (all.ru_utime.tv_sec + all.ru_stime.tv_sec) * 1000 + (all.ru_utime.tv_usec + all.ru_stime.tv_usec) / 1000;
}
/* setsid and setpgid are refused, so the tree is one process group. */
static void look(pid_t group) {
	uint64_t ticks = 0, pages = 0;
	seen.tasks = 0;
	rewinddir(processes);
	for (struct dirent *entry; (entry = readdir(processes));) {
		char path[32], line[1024] = "", *after;
		unsigned long of[6];
		pid_t pid = atoi(entry->d_name);
		if (pid <= 0 || getpgid(pid) != group) continue;
		snprintf(path, sizeof path, "%d/stat", pid);
		int fd = openat(dirfd(processes), path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, line, sizeof line - 1) > 0 && (after = strrchr(line, ')')) && /* proc(5): utime to cstime, num_threads, rss */
		    sscanf(after + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu %lu %lu %*s %*s %lu %*s %*s %*s %lu", of, of + 1, of + 2, of + 3, of + 4, of + 5) == 6)
			ticks += of[0] + of[1] + of[2] + of[3], seen.tasks += of[4], pages += of[5];
		close(fd);
	}
	seen.cpu_ms = ms_of_reaped() + ticks * 1000 / sysconf(_SC_CLK_TCK);
	seen.rss = pages * sysconf(_SC_PAGESIZE), seen.at = now_ms();
	if (seen.rss > seen.peak) seen.peak = seen.rss;
}
static ssize_t read_memory(pid_t pid, uint64_t from, void *to, size_t size) {
	size_t first = MIN(4096 - from % 4096, size); /* A string may end on the last page that is mapped. */
	struct iovec here = { to, size }, there[2] = { { (void *)from, first }, { (void *)(from + first), size - first } };
	return process_vm_readv(pid, &here, 1, there, 2, 0);
}
/* The index of the writable place that is or holds `path`, or -1. */
static int place_of(const char *path) {
	for (int i = 0; i < opt.rws; i++) {
		size_t n = strlen(opt.rw[i]);
		if (!strncmp(path, opt.rw[i], n) && (path[n] == '/' || !path[n])) return i;
	}
	return -1;
}
/* Holds what a unix socket's path leads to, so that it leads nowhere else meanwhile, and puts it in the path's place. Returns -1 and an errno. */
static int hold_inside(struct sockaddr_un *to) {
	int place = opt.unix_sockets && to->sun_family == AF_UNIX ? place_of(to->sun_path) : -1;
	if (place < 0 || to->sun_path[strlen(opt.rw[place])] != '/') return errno = EPERM, -1;
	const uint64_t how[] = { O_PATH | O_CLOEXEC, 0, 8 | 4 /* RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS */ };
	int fd = syscall(__NR_openat2, opt.rw_fd[place], to->sun_path + strlen(opt.rw[place]) + 1, how, sizeof how);
	if (fd >= 0) snprintf(to->sun_path, sizeof to->sun_path, "/proc/self/fd/%d", fd);
	return fd;
}
/* Connects in the caller's stead, so that what was checked is what is connected to. Returns an errno. */
static int connect_instead(int listener, const struct seccomp_notif *call) {
	union { struct sockaddr_un path; struct sockaddr_in port; char room[sizeof(struct sockaddr_un) + 1]; } to = { 0 };
	const struct sockaddr_in only = { .sin_family = AF_INET, .sin_port = htons(opt.tcp), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	size_t size = MIN(call->data.args[2], sizeof to.path);
	if (read_memory(call->pid, call->data.args[1], &to, size) != (ssize_t)size || ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id)) return EPERM;
	int tcp = opt.tcp != NONE && !memcmp(&to, &only, offsetof(struct sockaddr_in, sin_zero)), held = tcp ? -1 : hold_inside(&to.path), result = 0;
	if (!tcp && held < 0) return errno;
	int fd = socket(to.path.sun_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); /* A full backlog must not stop the supervisor. */
	struct seccomp_notif_addfd give = { .id = call->id, .flags = SECCOMP_ADDFD_FLAG_SETFD, .srcfd = fd, .newfd = call->data.args[0], .newfd_flags = O_CLOEXEC };
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, tcp ? sizeof only : sizeof to.path)) result = errno;
	int begun = !result || (tcp && result == EINPROGRESS); /* TCP stays as it is: only for programs that do not block either. */
	if (begun && ((!tcp && fcntl(fd, F_SETFL, 0)) || ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give) < 0)) result = EPERM;
	return close(held), close(fd), result;
}
static void answer(int listener, pid_t group) {
	union { struct seccomp_notif call; char room[256]; } asked = { 0 };
	union { struct seccomp_notif_resp reply; char room[128]; } told = { 0 };
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked)) return;
	int call = asked.call.data.nr;
	told.reply.id = asked.call.id;
	if (call == __NR_connect) {
		told.reply.error = -connect_instead(listener, &asked.call);
	} else if (call == __NR_faccessat X86(|| call == __NR_access)) { /* LibreOffice takes /tmp for its sockets wherever that looks writable. */
		char path[4097] = "";
		read_memory(asked.call.pid, asked.call.data.args[call == __NR_faccessat], path, 4096);
		if (path[0] == '/' && place_of(path) < 0) told.reply.error = -EACCES;
	} else {
		if (seen.tasks >= opt.tasks && now_ms() > seen.at + 5) look(group);
		if (++seen.tasks > opt.tasks) seen.tasks--, told.reply.error = -EAGAIN;
	}
	if (!told.reply.error && call != __NR_connect) told.reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &told);
}
/* Returns why the program ended or has to end; it is not reaped yet, so that its group's number stays taken. */
static const char *supervise(pid_t main, int listening, const sigset_t *blocked) {
	uint64_t end = opt.wall_ms ? now_ms() + opt.wall_ms : NONE, next = now_ms() + 100;
	for (int number, listener = -1;;) {
		uint64_t now = now_ms(), rest = MIN(next, end) > now ? MIN(next, end) - now : 0;
		struct pollfd on = { listening, POLLIN, 0 };
		if (ppoll(&on, 1, &(struct timespec){ rest / 1000, rest % 1000 * 1000000 }, blocked) < 0) on.revents = 0;
		if (cancelled) return "cancelled";
		for (siginfo_t dead = { 0 }; !waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) && dead.si_pid; dead.si_pid = 0) {
			int by = dead.si_code == CLD_EXITED ? 0 : dead.si_status;
			if (dead.si_pid == main) return !by ? "exit" : by == SIGXCPU ? "time" : by == SIGXFSZ ? "output" : "signal";
			waitpid(dead.si_pid, NULL, 0);
		}
		if (on.revents && !(on.revents & POLLIN)) listening = -1;
		else if (on.revents && listener >= 0) answer(listener, main);
		else if (on.revents && read(listening, &number, sizeof number) == sizeof number) listening = listener = number;
		if (now_ms() >= end) return "time";
		if (now_ms() < next) continue;
		look(main);
		if (seen.rss > opt.memory) return "memory";
		if (seen.tasks > opt.tasks) return "processes";
		if (seen.cpu_ms / 1000 >= opt.cpu_s) return "time";
		next = seen.at + (seen.rss > opt.memory / 2 ? 20 : 100);
	}
}
/* Kills and reaps until nothing is left, for at most 5 s. Returns the program's wait status. */
static int end_tree(pid_t main) {
	int status, result = 0;
	uint64_t until = now_ms() + 5000;
	kill(-main, SIGKILL);
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) >= 0;) {
		if (pid == main) result = status;
		if (pid > 0) continue;
		if (now_ms() > until) return dprintf(2, "launcher: a process does not die\n"), result;
		kill(-main, SIGKILL), usleep(1000);
	}
	return result;
}
/* ---- the child, and the way from one to the other ---- */
static void drop_privilege(void) {
	int root = !geteuid() || !getuid();
	if (root != (opt.uid != NONE) || !opt.uid) fail(0, "--uid names an unused user to become, which root must give and nobody else may");
	for (int c = 0; root && c < 64; c++) prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	if (root && (syscall(__NR_setgroups, 0, NULL) || setresgid(opt.uid, opt.uid, opt.uid) || setresuid(opt.uid, opt.uid, opt.uid)))
		fail(errno, "cannot become another user");
	if (syscall(__NR_capset, (uint32_t[]){ 0x20080522 /* version 3 */, 0 }, (uint32_t[6]){ 0 }) || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail(errno, "cannot give up privileges");
}
static _Noreturn void become(char **program, pid_t supervisor, int abi, int listening) {
	sigprocmask(SIG_SETMASK, &(sigset_t){ 0 }, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != supervisor) _exit(OWN_FAILURE);
	umask(077);
	if (setsid() < 0 || (opt.cwds && chdir(opt.cwd[opt.cwds - 1]))) fail(errno, "cannot enter its folder");
	/* Unlimited leaves the hard limit as it is. The supervisor, of the same user, counts too. */
	uint64_t tasks = opt.uid == NONE || opt.tasks == NONE ? NONE : opt.tasks + 1, most_cpu = opt.cpu_s == NONE ? NONE : opt.cpu_s + 1;
	const uint64_t limits[][3] = {
		{ RLIMIT_CORE, 0, 0 }, { RLIMIT_MEMLOCK, 65536, 65536 }, { RLIMIT_MSGQUEUE, 0, 0 }, { RLIMIT_DATA, opt.data, opt.data },
		{ RLIMIT_FSIZE, opt.file_size, opt.file_size }, { RLIMIT_NOFILE, opt.files, opt.files }, { RLIMIT_CPU, opt.cpu_s, most_cpu }, { RLIMIT_NPROC, tasks, tasks },
	};
	for (size_t i = 0; i < COUNT(limits); i++) {
		struct rlimit of = { 0, 0 };
		getrlimit(limits[i][0], &of);
		of = (struct rlimit){ MIN(limits[i][1], of.rlim_max), MIN(limits[i][2], of.rlim_max) };
		if (setrlimit(limits[i][0], &of)) fail(errno, "cannot set limit %d", (int)limits[i][0]);
	}
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* So that our /proc/self is ours after the change of user. */
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0 && write(score, "500", 3) > 0) close(score); /* Rather the converter than the server. */
	/* Kept open by the supervisor, whose descriptors are ours: the kernel forgets inodes of /proc that nobody holds, and the rules with them. */
	for (int i = 0; i < opt.ros; i++) if (is_of_self(opt.ro[i])) allow(opt.ro[i], READ_ONLY);
	if (ruleset >= 0 && syscall(__NR_landlock_restrict_self, ruleset, 0)) fail(errno, "cannot restrict with Landlock");
	int listener = confine_calls(abi);
	if (listener >= 0 && write(listening, &listener, sizeof listener) < 0) fail(errno, "cannot tell the supervisor");
	if (syscall(__NR_close_range, 3, ~0u, 2 /* CLOSE_RANGE_UNSHARE */)) fail(errno, "cannot close descriptors");
	execve(program[0], program, (char **)opt.env);
	fail(errno, "cannot run %s", program[0]);
}
static const struct { const char *name; const char **list; int *count; uint64_t *number; } options[] = {
	{ "rw", opt.rw, &opt.rws, 0 }, { "ro", opt.ro, &opt.ros, 0 }, { "env", opt.env, &opt.envs, 0 }, { "cwd", opt.cwd, &opt.cwds, 0 },
	{ "unix", 0, &opt.unix_sockets, 0 }, { "without-landlock", 0, &opt.without_landlock, 0 }, { "check", 0, &opt.check, 0 },
	{ "uid", 0, 0, &opt.uid }, { "data", 0, 0, &opt.data }, { "memory", 0, 0, &opt.memory }, { "cpu", 0, 0, &opt.cpu_s },
	{ "fsize", 0, 0, &opt.file_size }, { "nproc", 0, 0, &opt.tasks }, { "nofile", 0, 0, &opt.files }, { "wall", 0, 0, &opt.wall_ms },
	{ "report", 0, 0, &opt.report }, { "landlock-abi", 0, 0, &opt.landlock }, { "parent", 0, 0, &opt.parent }, { "tcp", 0, 0, &opt.tcp },
};
/* Returns the program and its arguments. */
static char **read_options(char **word) {
	for (; *word && !strncmp(*word, "--", 2) && (*word)[2]; word++) {
		size_t i = 0;
		while (i < COUNT(options) && strcmp(options[i].name, *word + 2)) i++;
		if (i == COUNT(options) || (options[i].count && ++*options[i].count == MOST)) fail(0, "there is no option %s, or too often", *word);
		if (options[i].count && !options[i].list) continue;
		if (!*++word) fail(0, "--%s needs a value", options[i].name);
		char *rest = *word;
		if (options[i].list) options[i].list[*options[i].count - 1] = *word;
		else *options[i].number = strtoull(*word, &rest, 10);
		if (options[i].number && (**word < '0' || **word > '9' || *rest)) fail(0, "--%s needs a number", options[i].name);
	}
	if (!opt.check && (!*word || !word[1] || word[1][0] != '/')) fail(0, "usage: launcher [options] -- /absolute/program arguments...");
	return word + 1;
}
int main(int count, char **words) {
	char **program = read_options(words + (count > 0));
	long ask = SECCOMP_RET_USER_NOTIF, abi = syscall(__NR_landlock_create_ruleset, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
	abi = abi < 0 ? 0 : (uint64_t)abi > opt.landlock ? (long)opt.landlock : abi;
	if (opt.check) return printf("{\"landlock\":%ld,\"seccomp\":%s}\n", abi, syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &ask) ? "false" : "true") < 0;
	for (int i = 0; i < 3; i++) if (fcntl(i, F_GETFD) < 0) fail(0, "descriptors 0, 1 and 2 must be open");
	if (opt.report != NONE && fcntl(opt.report, F_SETFD, FD_CLOEXEC)) fail(errno, "cannot report on %d", (int)opt.report);
	sigset_t blocked; /* A terminal's Ctrl-C is for the server to judge. */
	sigfillset(&blocked), sigprocmask(SIG_SETMASK, &blocked, NULL);
	signal(SIGCHLD, hear), signal(SIGTERM, hear), sigdelset(&blocked, SIGCHLD), sigdelset(&blocked, SIGTERM);
	failed = mmap(NULL, sizeof *failed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int listening[2]; /* By this the child tells the number of the descriptor on which the kernel asks. */
	if (failed == MAP_FAILED || pipe2(listening, O_CLOEXEC) || !(processes = opendir("/proc"))) fail(errno, "cannot prepare");
	prepare_landlock(abi);
	drop_privilege();
	prctl(PR_SET_CHILD_SUBREAPER, 1), prctl(PR_SET_PDEATHSIG, SIGTERM); /* After the change of user, which clears the latter. */
	if (opt.parent && getppid() != (pid_t)opt.parent) return OWN_FAILURE;
	uint64_t start = now_ms();
	pid_t self = getpid(), main = syscall(__NR_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (main < 0) fail(errno, "cannot fork");
	if (!main) become(program, self, abi, listening[1]);
	if (opt.report != NONE) dprintf(opt.report, "{\"pid\":%d}\n", main);
	const char *why = supervise(main, listening[0], &blocked);
	int status = end_tree(main), by = WIFSIGNALED(status) ? WTERMSIG(status) : 0, exit_code = by ? 128 + by : WEXITSTATUS(status);
	seen.cpu_ms = ms_of_reaped();
	if (by == SIGKILL && !strcmp(why, "signal") && seen.cpu_ms / 1000 >= opt.cpu_s) why = "time";
	const char *report = "{\"why\":\"%s\",\"code\":%d,\"signal\":%d,\"cpuMs\":%lu,\"peakBytes\":%lu,\"wallMs\":%lu}\n";
	if (opt.report != NONE && !*failed) dprintf(opt.report, report, why, by ? -1 : exit_code, by, seen.cpu_ms, seen.peak, now_ms() - start);
	return exit_code;
}
