/*
 * System calls, by seccomp. (Linux 4.14; --unix, --tcp and counting processes need 5.14, which is
 * newer than Landlock: the supervisor is asked by user notification, with SECCOMP_ADDFD.)
 *
 * Stops: everything that Landlock does not govern, and whatever the kernel learns tomorrow. What is
 * allowed is listed, in syscalls.txt and in images/<toolchain>/syscalls.txt; what is not is ENOSYS.
 * A call that has a harmless and a harmful use is judged here by its arguments. Calls of another
 * architecture, or of x32, end the program.
 *
 * The filter is a binary search over the numbers, with the rules of a call at its leaf. The kernel
 * (5.11) does not even run it for calls that are allowed whatever their arguments.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define ARCH 0xc000003e      /* AUDIT_ARCH_X86_64 */
#define X86(...) __VA_ARGS__ /* Calls that newer architectures lack. */
#else
#define ARCH 0xc00000b7 /* AUDIT_ARCH_AARCH64 */
#define X86(...)
#endif

/* Newer than the oldest headers. From 424 on, numbers are the same everywhere. */
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif
#ifndef __NR_process_mrelease
#define __NR_process_mrelease 448
#endif
#ifndef __NR_futex_waitv
#define __NR_futex_waitv 449
#endif
#ifndef __NR_set_mempolicy_home_node
#define __NR_set_mempolicy_home_node 450
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#define __NR_futex_wait 455
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#define __NR_listmount 458
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469
#endif
#ifndef __NR_listns
#define __NR_listns 470
#endif

/* ---- the lists ---- */

enum verb { LACKS, ALLOW, CHECK, PRETEND, REFUSE };

static const struct {
	int number;
	enum verb verb;
	const char *set; /* A toolchain, or "native" for everybody. */
	const char *name;
} listed[] = {
#include "syscalls.inc"
};

/* Its number where no list names it. */
const char *name_of_call(int number)
{
	static char digits[16];
	for (size_t i = 0; i < COUNT(listed); i++)
		if (listed[i].number == number) return listed[i].name;
	snprintf(digits, sizeof digits, "%d", number);
	return digits;
}

/* ---- what a call's arguments decide ---- */

#define DENY(error) (SECCOMP_RET_ERRNO | (error))
#define ASK SECCOMP_RET_USER_NOTIF
#define ALL 0xffffffffu

/* When a rule is in force. */
enum force {
	ALWAYS,
	BELOW_3, /* Landlock's ABI: truncation is not governed. */
	BELOW_6, /* Nor are signals. */
	NO_SOCKETS,
	NO_UNIX,
	UNIX,
	TCP,
	UNIX_OR_TCP,
	COUNTED, /* The supervisor counts processes, since RLIMIT_NPROC cannot. */
};

/*
 * `action` befalls a call IF, or UNLESS, its argument & mask equals value; the first that applies
 * decides. One with the mask 0 always applies IF value is 0. What no rule decides is allowed.
 * The kernel takes these arguments as 32 bits.
 */
struct rule {
	enum force force;
	int call;
	enum { IF, UNLESS } test;
	int argument;
	uint32_t mask, value, action;
};

#define RULE(force, call, test, argument, mask, value, action) \
	{ force, __NR_##call, test, argument, mask, value, action }
#define ANY(force, call, action) RULE(force, call, IF, 0, 0, 0, action)
#define VALUE(call, argument, value, action) RULE(ALWAYS, call, IF, argument, ALL, value, action)
#define ONLY(call, argument, value) RULE(ALWAYS, call, UNLESS, argument, ALL, value, DENY(EPERM))

enum {
	TMPFILE = 020000000, /* O_TMPFILE without O_DIRECTORY */
	NAMESPACES = 0x7e020000,
	/* Its parent could be made the supervisor, or its tracer somebody. */
	FORBIDDEN_CLONE = NAMESPACES | CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED,
	SHARED_WITHOUT_FILE = MAP_SHARED | MAP_ANONYMOUS, /* MAP_SHARED_VALIDATE has its bit too. */
	MORE_THAN_7 = ~7,
};

static const struct rule rules[] = {
	/* -- files -- */
	/* A file that never had a name is in nobody's look at the folder. */
	RULE(ALWAYS, openat, IF, 2, TMPFILE, TMPFILE, DENY(EOPNOTSUPP)),
	X86(RULE(ALWAYS, open, IF, 1, TMPFILE, TMPFILE, DENY(EOPNOTSUPP)),)
	/* Access mode 3 opens for neither reading nor writing, so Landlock asks for no right. */
	RULE(ALWAYS, openat, IF, 2, O_ACCMODE, O_ACCMODE, DENY(EPERM)),
	X86(RULE(ALWAYS, open, IF, 1, O_ACCMODE, O_ACCMODE, DENY(EPERM)),)
	/* Truncation, by path or by opening without the right to write. */
	ANY(BELOW_3, truncate, DENY(EPERM)),
	RULE(BELOW_3, openat, IF, 2, O_ACCMODE | O_TRUNC, O_TRUNC, DENY(EPERM)),
	X86(RULE(BELOW_3, open, IF, 1, O_ACCMODE | O_TRUNC, O_TRUNC, DENY(EPERM)),)
	/* A folder that its owner cannot enter could not be measured or removed. */
	RULE(ALWAYS, mkdirat, UNLESS, 2, 0700, 0700, DENY(EPERM)),
	X86(RULE(ALWAYS, mkdir, UNLESS, 1, 0700, 0700, DENY(EPERM)),)
	/* Landlock never judges access(2). LibreOffice takes /tmp for its sockets if it can. */
	RULE(UNIX, faccessat, IF, 2, W_OK, W_OK, ASK),
	X86(RULE(UNIX, access, IF, 1, W_OK, W_OK, ASK),)
	/* Pipes of a megabyte; leases stop others who open; notices of folders. */
	VALUE(fcntl, 1, 1031 /* F_SETPIPE_SZ */, DENY(EPERM)),
	VALUE(fcntl, 1, F_SETLEASE, DENY(EPERM)),
	VALUE(fcntl, 1, F_NOTIFY, DENY(EPERM)),
	/* Signals that the kernel sends because of a descriptor. */
	RULE(BELOW_6, fcntl, IF, 1, ALL, F_SETOWN, DENY(EPERM)),
	RULE(BELOW_6, fcntl, IF, 1, ALL, F_SETSIG, DENY(EPERM)),
	RULE(BELOW_6, fcntl, IF, 1, ALL, F_SETOWN_EX, DENY(EPERM)),
	/* Is it a terminal, how much is there to read, do not block, clone this file: no more. */
	VALUE(ioctl, 1, TCGETS, SECCOMP_RET_ALLOW),
	VALUE(ioctl, 1, TIOCGWINSZ, SECCOMP_RET_ALLOW),
	VALUE(ioctl, 1, TIOCGPGRP, SECCOMP_RET_ALLOW),
	VALUE(ioctl, 1, FIONREAD, SECCOMP_RET_ALLOW),
	VALUE(ioctl, 1, FIONBIO, SECCOMP_RET_ALLOW),
	VALUE(ioctl, 1, FIOCLEX, SECCOMP_RET_ALLOW),
	VALUE(ioctl, 1, FIONCLEX, SECCOMP_RET_ALLOW),
	VALUE(ioctl, 1, FICLONE, SECCOMP_RET_ALLOW),
	VALUE(ioctl, 1, FICLONERANGE, SECCOMP_RET_ALLOW),
	ANY(ALWAYS, ioctl, DENY(ENOTTY)),

	/* -- memory -- */
	/* Once dropped from the caller's own pages it is in nobody's resident set. */
	RULE(ALWAYS, mmap, IF, 3, SHARED_WITHOUT_FILE, SHARED_WITHOUT_FILE, DENY(EPERM)),
	/* The machine's huge pages are no resident set's either. */
	RULE(ALWAYS, mmap, IF, 3, MAP_HUGETLB, MAP_HUGETLB, DENY(EPERM)),

	/* -- processes -- */
	RULE(ALWAYS, clone, UNLESS, 0, FORBIDDEN_CLONE, 0, DENY(EPERM)),
	/* A thread with descriptors of its own could hide them: a look is at a process. */
	RULE(ALWAYS, clone, IF, 0, CLONE_THREAD | CLONE_FILES, CLONE_THREAD, DENY(EPERM)),
	RULE(ALWAYS, close_range, IF, 2, CLOSE_RANGE_UNSHARE, CLOSE_RANGE_UNSHARE, DENY(EINVAL)),
	RULE(COUNTED, clone, IF, 0, CLONE_THREAD, 0, ASK),
	X86(ANY(COUNTED, fork, ASK), ANY(COUNTED, vfork, ASK),)
	ONLY(personality, 0, ALL /* asks */),
	/* The limits, priority and processors of other processes of the same user. */
	ONLY(prlimit64, 0, 0),
	ONLY(sched_setaffinity, 0, 0),
	ONLY(sched_setparam, 0, 0),
	ONLY(sched_setscheduler, 0, 0),
	ONLY(sched_setattr, 0, 0),
	ONLY(setpriority, 1, 0),
	VALUE(setpriority, 0, PRIO_USER, DENY(EPERM)),
	VALUE(setpriority, 0, PRIO_PGRP, DENY(EPERM)),
	ONLY(ioprio_set, 1, 0),
	VALUE(ioprio_set, 0, 2 /* a group's */, DENY(EPERM)),
	VALUE(ioprio_set, 0, 3 /* a user's */, DENY(EPERM)),
	/* Names, its own death, and what it can only tighten. Undumpable, it could not be watched. */
	VALUE(prctl, 0, PR_SET_DUMPABLE, DENY(0)),
	VALUE(prctl, 0, PR_GET_DUMPABLE, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_SET_NAME, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_GET_NAME, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, 0x53564d41 /* PR_SET_VMA: names of its memory */, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_SET_PDEATHSIG, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_GET_PDEATHSIG, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_SET_TIMERSLACK, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_GET_TIMERSLACK, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_SET_NO_NEW_PRIVS, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_GET_NO_NEW_PRIVS, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_CAPBSET_READ, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_GET_SECCOMP, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_SET_THP_DISABLE, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_GET_THP_DISABLE, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_GET_SPECULATION_CTRL, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_SET_SPECULATION_CTRL, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_SVE_GET_VL, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_PAC_RESET_KEYS, SECCOMP_RET_ALLOW),
	VALUE(prctl, 0, PR_GET_TAGGED_ADDR_CTRL, SECCOMP_RET_ALLOW),
	ANY(ALWAYS, prctl, DENY(EPERM)),

	/* -- signals -- */
	ANY(BELOW_6, kill, DENY(EPERM)),
	ANY(BELOW_6, tkill, DENY(EPERM)),
	ANY(BELOW_6, pidfd_send_signal, DENY(EPERM)),
	ANY(BELOW_6, rt_sigqueueinfo, DENY(EPERM)),
	ANY(BELOW_6, rt_tgsigqueueinfo, DENY(EPERM)),

	/* -- sockets -- */
	ANY(NO_SOCKETS, socket, DENY(EPERM)),
	ANY(NO_SOCKETS, connect, DENY(EPERM)),
	ANY(NO_UNIX, bind, DENY(EPERM)),
	ANY(NO_UNIX, listen, DENY(EPERM)),
	RULE(UNIX, socket, UNLESS, 0, ALL, AF_UNIX, DENY(EPERM)),
	RULE(UNIX, socket, UNLESS, 1, 0xf, SOCK_STREAM, DENY(EPERM)),
	/* Who connected, wrote and closed is in no descriptor until he is accepted. */
	RULE(UNIX, listen, UNLESS, 1, MORE_THAN_7, 0, DENY(EPERM)),
	RULE(TCP, socket, UNLESS, 0, ALL, AF_INET, DENY(EPERM)),
	RULE(TCP, socket, UNLESS, 1, 0xf, SOCK_STREAM, DENY(EPERM)),
	RULE(TCP, socket, UNLESS, 2, ~IPPROTO_TCP, 0, DENY(EPERM)),
	/* Each would connect without connect(2). */
	RULE(TCP, sendto, IF, 3, MSG_FASTOPEN, MSG_FASTOPEN, DENY(EPERM)),
	RULE(TCP, sendmsg, IF, 2, MSG_FASTOPEN, MSG_FASTOPEN, DENY(EPERM)),
	RULE(TCP, sendmmsg, IF, 3, MSG_FASTOPEN, MSG_FASTOPEN, DENY(EPERM)),
	/* Landlock (to ABI 8) does not govern connect(2) to a path, and of TCP only the port. */
	ANY(UNIX_OR_TCP, connect, ASK),
	/* A datagram socket may send to any path, whatever it is paired with. */
	ONLY(socketpair, 0, AF_UNIX),
	RULE(ALWAYS, socketpair, IF, 1, 0xf, SOCK_DGRAM, DENY(EPERM)),
	RULE(ALWAYS, socketpair, IF, 1, 0xf, SOCK_RAW, DENY(EPERM)),
	/* Buffers stay as small as they are counted; no filters, no pinned pages. */
	VALUE(setsockopt, 2, SO_SNDBUF, DENY(0)),
	VALUE(setsockopt, 2, SO_RCVBUF, DENY(0)),
	VALUE(setsockopt, 2, SO_SNDBUFFORCE, DENY(EPERM)),
	VALUE(setsockopt, 2, SO_RCVBUFFORCE, DENY(EPERM)),
	VALUE(setsockopt, 2, SO_ATTACH_FILTER, DENY(EPERM)),
	VALUE(setsockopt, 2, 50 /* SO_ATTACH_BPF */, DENY(EPERM)),
	VALUE(setsockopt, 2, 51 /* SO_ATTACH_REUSEPORT_CBPF */, DENY(EPERM)),
	VALUE(setsockopt, 2, 52 /* SO_ATTACH_REUSEPORT_EBPF */, DENY(EPERM)),
	VALUE(setsockopt, 2, 60 /* SO_ZEROCOPY */, DENY(EPERM)),
};

/* ---- the filter ---- */

enum { CALLS = 512, ROOM = 4096 /* BPF_MAXINSNS */, RULES_OF_CALL = 0x7ffe0000 };

/* What befalls each number; RULES_OF_CALL where its rules come first, and then this is ALLOW. */
static uint32_t verdicts[CALLS];
static struct sock_filter code[ROOM];
static unsigned short length;
static int in_force[COUNTED + 1];

static void emit(struct sock_filter instruction)
{
	if (length == ROOM) fail(0, "the seccomp filter is too long");
	code[length++] = instruction;
}

static void load(uint32_t offset)
{
	emit((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void conclude(uint32_t action)
{
	emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void emit_rule(const struct rule *rule)
{
	load(offsetof(struct seccomp_data, args) + 8 * rule->argument);
	emit((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule->mask));
	/* Over the next instruction, or not. */
	emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->value, rule->test == UNLESS,
	                                  rule->test == IF));
	conclude(rule->action);
}

static void emit_leaf(int call)
{
	if (verdicts[call] != RULES_OF_CALL) {
		conclude(verdicts[call]);
		return;
	}
	for (const struct rule *rule = rules; rule < rules + COUNT(rules); rule++)
		if (rule->call == call && in_force[rule->force]) emit_rule(rule);
	/* Below ABI 6 a program may signal the threads of its first process, which abort() does. */
	if (call == __NR_tgkill && in_force[BELOW_6])
		emit_rule(&(struct rule){ BELOW_6, call, UNLESS, 0, ALL, getpid(), DENY(EPERM) });
	conclude(SECCOMP_RET_ALLOW);
}

/* Numbers from starts[first] to before starts[last]; neighbours of one verdict are one start. */
static void emit_tree(const int *starts, int first, int last)
{
	if (last - first == 1) {
		emit_leaf(starts[first]);
		return;
	}
	int middle = (first + last) / 2;
	emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, starts[middle], 0, 1));
	unsigned short jump = length;
	emit((struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	emit_tree(starts, first, middle);
	code[jump].k = length - jump - 1;
	emit_tree(starts, middle, last);
}

static uint32_t verdict_of(enum verb verb, int number)
{
	switch (verb) {
	case ALLOW: return SECCOMP_RET_ALLOW;
	case CHECK: return RULES_OF_CALL;
	case PRETEND: return DENY(0);
	case REFUSE: return DENY(EPERM);
	default: return DENY(number == __NR_fallocate ? EOPNOTSUPP : ENOSYS);
	}
}

static int is_wanted(const char *set)
{
	for (int i = 0; i < opt.callss; i++)
		if (!strcmp(opt.calls[i], set)) return 1;
	return !strcmp(set, "native");
}

int may_pass_descriptors(void)
{
	if (opt.record) return 1;
	for (size_t i = 0; i < COUNT(listed); i++)
		if (listed[i].number == __NR_sendmsg && is_wanted(listed[i].set)) return 1;
	return 0;
}

static void judge_calls(void)
{
	uint32_t others = opt.record ? ASK : DENY(ENOSYS);
	for (int i = 0; i < CALLS; i++) verdicts[i] = others;
	/* Twice: a toolchain's list has the last word. */
	for (int ours = 1; ours >= 0; ours--)
		for (size_t i = 0; i < COUNT(listed); i++)
			if (is_wanted(listed[i].set) && ours == !strcmp(listed[i].set, "native"))
				verdicts[listed[i].number] = verdict_of(listed[i].verb, listed[i].number);
	/* Some are judged only where the kernel or the options leave them to us. */
	for (const struct rule *rule = rules; rule < rules + COUNT(rules); rule++)
		if (verdicts[rule->call] == SECCOMP_RET_ALLOW && in_force[rule->force])
			verdicts[rule->call] = RULES_OF_CALL;
	if (in_force[BELOW_6]) verdicts[__NR_tgkill] = RULES_OF_CALL;
}

/* In the child. Returns the descriptor on which the supervisor is asked, or -1 where nothing is. */
int confine_calls(int abi)
{
	int unix_ = opt.unix_sockets, tcp = opt.tcp != NONE;
	int counted = opt.uid == NONE && opt.tasks != NONE;
	in_force[ALWAYS] = 1;
	in_force[BELOW_3] = abi < 3;
	in_force[BELOW_6] = abi < 6;
	in_force[NO_SOCKETS] = !unix_ && !tcp;
	in_force[NO_UNIX] = !unix_;
	in_force[UNIX] = unix_;
	in_force[TCP] = tcp;
	in_force[UNIX_OR_TCP] = unix_ || tcp;
	in_force[COUNTED] = counted;
	judge_calls();

	load(offsetof(struct seccomp_data, arch));
	emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
	conclude(SECCOMP_RET_KILL_PROCESS);
	load(offsetof(struct seccomp_data, nr));
	emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000 /* x32 */, 0, 1));
	conclude(SECCOMP_RET_KILL_PROCESS);
	emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CALLS, 0, 1));
	conclude(DENY(ENOSYS));
	int starts[CALLS], count = 0;
	for (int call = 0; call < CALLS; call++)
		if (!call || verdicts[call] != verdicts[call - 1] || verdicts[call] == RULES_OF_CALL)
			starts[count++] = call;
	emit_tree(starts, 0, count);

	int asks = counted || unix_ || tcp || opt.record;
	struct sock_fprog program = { length, code };
	int listener = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
	                       asks ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
	if (listener < 0) fail(errno, "cannot install the seccomp filter");
	return asks ? listener : -1;
}
