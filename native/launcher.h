/*
 * What the sections of the launcher share. Each .c file is one section: its head names the attack
 * that it stops, the kernel that it needs, and what happens on a kernel without it.
 */
#ifndef LAUNCHER_H
#define LAUNCHER_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define NONE UINT64_MAX /* No limit, or not given. */

enum {
	MAX_VALUES = 256,         /* Of an option that may be given more than once. */
	EXIT_NOT_CONFINED = 125,  /* The program could not be confined, and was not started. */
	MAX_SYSCALLS = 512,       /* Above all numbers of x86_64 and aarch64. */
};

/* ---- launcher.c: the command line ---- */

struct values {
	const char *at[MAX_VALUES]; /* NULL after the last. */
	int count;
};

/* See `option_table` in launcher.c. Bytes, seconds where _s, milliseconds where _ms. */
struct options {
	struct values writable, readable, devices, environment, cwd, toolchains, cgroups;
	int unix_sockets, without_landlock, check, record, fork_server;
	uint64_t uid, data, memory, disk, cpu_s, file_size, tasks, open_files, wall_ms, nice;
	uint64_t report_fd, landlock_abi, parent, tcp_port;
};
extern struct options opt;

/* Ends this process with EXIT_NOT_CONFINED and a sentence; `error` is an errno, or 0. */
_Noreturn void fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Since some point in the past; never set back. */
uint64_t now_ms(void);

/* ---- syscalls.c: the seccomp filter. Each section brings the rules of its own calls ---- */

/* When a rule is in force. */
enum condition {
	ALWAYS,
	LANDLOCK_BELOW_3, /* Landlock does not govern truncation. */
	LANDLOCK_BELOW_6, /* Nor signals. */
	WITHOUT_SOCKETS,
	WITHOUT_UNIX,
	WITH_UNIX,
	WITH_TCP,
	WITH_UNIX_OR_TCP,
	WITH_DEVICES,
	COUNT_FORKS, /* The supervisor counts processes, since RLIMIT_NPROC cannot. */
	CONDITIONS,
};

/*
 * `action` is taken when the argument & mask equals the value (IF), or does not (UNLESS); the first
 * rule of a call that matches decides. With mask 0 and value 0, IF always matches. What no rule
 * matches is allowed. Only the low 32 bits are compared: for arguments of which the kernel reads no
 * more.
 */
struct rule {
	enum condition condition;
	int call;
	enum { IF, UNLESS } test;
	unsigned argument;
	uint32_t mask, value, action;
};
struct rules {
	const struct rule *at;
	size_t count;
};

#define RULE(condition, call, test, argument, mask, value, action) \
	{ condition, __NR_##call, test, argument, (uint32_t)(mask), (uint32_t)(value), action }
#define ANY(condition, call, action) RULE(condition, call, IF, 0, 0, 0, action)
#define VALUE(call, argument, value, action) \
	RULE(ALWAYS, call, IF, argument, ALL_BITS, value, action)
#define ONLY(call, argument, value) \
	RULE(ALWAYS, call, UNLESS, argument, ALL_BITS, value, DENY(EPERM))

#define ALL_BITS 0xffffffffu
#define PERMIT SECCOMP_RET_ALLOW
#define DENY(error) (SECCOMP_RET_ERRNO | (uint32_t)(error))
#define PRETEND_DONE DENY(0) /* Answered as a success, and not done. */
#define ASK SECCOMP_RET_USER_NOTIF

/* Calls that newer architectures lack. */
#ifdef __x86_64__
#define X86_ONLY(...) __VA_ARGS__
#else
#define X86_ONLY(...)
#endif

/* In the child. Returns the seccomp listener, or -1 where the supervisor is never asked. */
int install_seccomp_filter(int landlock_abi);
/* Its number where no list names it. */
const char *syscall_name(int number);
int may_send_descriptors(void);

/* ---- files.c: Landlock ---- */

extern const struct rules file_rules;
void prepare_landlock(int abi);
void restrict_with_landlock(void); /* In the child. */
/* The index of the --rw place that is or holds `path`, or -1. */
int find_writable_place(const char *path);
int open_place_fd(int place);
int check_access(const struct seccomp_notif *call); /* Returns an errno. */

/* ---- devices.c: commands of the devices given by --device ---- */

extern const struct rules device_rules;

/* ---- network.c ---- */

extern const struct rules network_rules;
int connect_for(int listener, const struct seccomp_notif *call); /* Returns an errno. */

/* ---- notify.c: system calls that the supervisor decides ---- */

void answer_notification(int listener, pid_t group);
long notify_ioctl(int listener, unsigned long request, void *argument);
ssize_t read_caller(const struct seccomp_notif *call, uint64_t from, void *to, size_t size);

/* ---- limits.c: privileges and rlimits ---- */

void check_user(void);
void drop_privileges(void);
void set_rlimits(void); /* In the child. */

/* ---- usage.c: what the process tree uses ---- */

struct usage {
	uint64_t tasks;    /* Processes and threads. */
	uint64_t memory;   /* Bytes; of sockets and pipes what they may hold. */
	uint64_t unlinked; /* Bytes of files that have no name any more. */
	int too_many;      /* Of what has no size: mappings, watches. */
	uint64_t peak;     /* Of memory. */
	uint64_t cpu_ms;
	uint64_t sampled_at; /* now_ms() */
};
extern struct usage usage;
void prepare_usage(void);
void sample_usage(pid_t group);
/* Whether nothing of the tree has run since the last sample, and for a while before it. */
int is_at_rest(pid_t group);
int is_zombie(pid_t pid);
/* Processor time of all that was reaped. */
uint64_t reaped_cpu_ms(void);
void for_each_thread(pid_t group, void (*visit)(pid_t process, pid_t thread));
/* /proc/`path`, valid until the next; NULL where it has ended. */
const char *read_status(const char *path);

/* ---- folders.c: what lies in the places that may be written ---- */

/* Looks when it is time to; counts `usage.unlinked` too. */
int is_disk_exceeded(pid_t group);
/* Once nothing of the tree is left. */
int is_disk_exceeded_at_end(void);

/* ---- cgroup.c: what the kernel counts ---- */

void open_cgroups(void);
/* A child that shares our descriptors, within the cgroups; -1 and an errno. */
pid_t fork_into_cgroups(void);
/* Bytes in use, NONE without a cgroup. */
uint64_t cgroup_memory(void);
int cgroup_ran_out_of_memory(void);
/* What it ran out of so far is paid for: those who took it were killed. */
void cgroup_forgive(void);
int cgroup_refused_a_process(void);

/* ---- supervise.c ---- */

/* Blocks all signals; `while_waiting` is the mask for ppoll(2). */
void block_signals(sigset_t *while_waiting);
const char *supervise(pid_t leader, int listener_pipe, const sigset_t *while_waiting);
int kill_and_reap(pid_t leader);
#endif
