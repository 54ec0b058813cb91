/*
 * System calls: seccomp.
 *
 * Stops: everything that Landlock does not govern, and whatever the kernel learns tomorrow. What is
 * allowed is listed, in syscalls.txt and in images/<toolchain>/syscalls.txt; what is not is ENOSYS.
 * A call that has a harmless and a harmful use is judged by its arguments: by the rules of files.c,
 * devices.c, network.c, and of this file. Calls of another architecture, or of x32, end the
 * program.
 *
 * Needs: Linux 4.14 (SECCOMP_RET_KILL_PROCESS); 5.5 where the supervisor decides a call
 * (SECCOMP_USER_NOTIF_FLAG_CONTINUE). Without seccomp the launcher refuses to start.
 *
 * The filter is a binary search over the numbers, with the rules of a call at its leaf. The kernel
 * (5.11) does not even run it for calls that are allowed whatever their arguments.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the system calls of this architecture were never reviewed"
#endif

/* musl has a macro of this name, which would make another call of it. */
#undef prlimit64

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

enum verdict { LACKS, ALLOW, CHECK, PRETEND, REFUSE };

/* Built by scripts/build-launcher of the syscalls.txt files. */
static const struct {
	int number;
	enum verdict verdict;
	const char *set; /* A toolchain, or "native" for everybody. */
	const char *name;
} listed[] = {
#include "syscalls.inc"
};

const char *syscall_name(int number)
{
	static char digits[16];
	for (size_t i = 0; i < COUNT(listed); i++)
		if (listed[i].number == number) return listed[i].name;
	snprintf(digits, sizeof digits, "%d", number);
	return digits;
}

static int is_wanted(const char *set)
{
	for (int i = 0; i < opt.toolchains.count; i++)
		if (!strcmp(opt.toolchains.at[i], set)) return 1;
	return !strcmp(set, "native");
}

int may_send_descriptors(void)
{
	if (opt.record) return 1;
	for (size_t i = 0; i < COUNT(listed); i++)
		if (listed[i].number == __NR_sendmsg && is_wanted(listed[i].set)) return 1;
	return 0;
}

/* ---- rules on memory, processes and signals ---- */

enum {
	NAMESPACES = 0x7e020000,
	/* Its parent could be made the supervisor, or its tracer another process. */
	FORBIDDEN_CLONE = NAMESPACES | CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED,
	SHARED_WITHOUT_FILE = MAP_SHARED | MAP_ANONYMOUS, /* MAP_SHARED_VALIDATE has its bit too. */
};

static const struct rule own_rules[] = {
	/* -- memory -- */
	/* Once dropped from the caller's own pages it is in no process's resident set. */
	RULE(ALWAYS, mmap, IF, 3, SHARED_WITHOUT_FILE, SHARED_WITHOUT_FILE, DENY(EPERM)),
	/* The machine's huge pages are no resident set's either. */
	RULE(ALWAYS, mmap, IF, 3, MAP_HUGETLB, MAP_HUGETLB, DENY(EPERM)),

	/* -- processes -- */
	RULE(ALWAYS, clone, UNLESS, 0, FORBIDDEN_CLONE, 0, DENY(EPERM)),
	/* A thread with separate descriptors could hide them: usage.c looks at processes. */
	RULE(ALWAYS, clone, IF, 0, CLONE_THREAD | CLONE_FILES, CLONE_THREAD, DENY(EPERM)),
	RULE(ALWAYS, close_range, IF, 2, CLOSE_RANGE_UNSHARE, CLOSE_RANGE_UNSHARE, DENY(EINVAL)),
	RULE(COUNT_FORKS, clone, IF, 0, CLONE_THREAD, 0, ASK),
	X86_ONLY(ANY(COUNT_FORKS, fork, ASK), ANY(COUNT_FORKS, vfork, ASK),)
	ONLY(personality, 0, ALL_BITS /* asks */),
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
	/* Undumpable, it could not be watched. */
	VALUE(prctl, 0, PR_SET_DUMPABLE, PRETEND_DONE),
	/* It could live on when its supervisor is killed. */
	VALUE(prctl, 0, PR_SET_PDEATHSIG, PRETEND_DONE),
	/* Names, speculation, and what it can only tighten. */
	VALUE(prctl, 0, PR_GET_DUMPABLE, PERMIT),
	VALUE(prctl, 0, PR_SET_NAME, PERMIT),
	VALUE(prctl, 0, PR_GET_NAME, PERMIT),
	VALUE(prctl, 0, 0x53564d41 /* PR_SET_VMA: names of its memory */, PERMIT),
	VALUE(prctl, 0, PR_GET_PDEATHSIG, PERMIT),
	VALUE(prctl, 0, PR_SET_TIMERSLACK, PERMIT),
	VALUE(prctl, 0, PR_GET_TIMERSLACK, PERMIT),
	VALUE(prctl, 0, PR_SET_NO_NEW_PRIVS, PERMIT),
	VALUE(prctl, 0, PR_GET_NO_NEW_PRIVS, PERMIT),
	VALUE(prctl, 0, PR_CAPBSET_READ, PERMIT),
	VALUE(prctl, 0, PR_GET_SECCOMP, PERMIT),
	VALUE(prctl, 0, PR_SET_THP_DISABLE, PERMIT),
	VALUE(prctl, 0, PR_GET_THP_DISABLE, PERMIT),
	VALUE(prctl, 0, PR_GET_SPECULATION_CTRL, PERMIT),
	VALUE(prctl, 0, PR_SET_SPECULATION_CTRL, PERMIT),
	VALUE(prctl, 0, PR_SVE_GET_VL, PERMIT),
	VALUE(prctl, 0, PR_PAC_RESET_KEYS, PERMIT),
	VALUE(prctl, 0, PR_GET_TAGGED_ADDR_CTRL, PERMIT),
	ANY(ALWAYS, prctl, DENY(EPERM)),

	/* -- signals -- */
	ANY(LANDLOCK_BELOW_6, kill, DENY(EPERM)),
	ANY(LANDLOCK_BELOW_6, tkill, DENY(EPERM)),
	ANY(LANDLOCK_BELOW_6, pidfd_send_signal, DENY(EPERM)),
	ANY(LANDLOCK_BELOW_6, rt_sigqueueinfo, DENY(EPERM)),
	ANY(LANDLOCK_BELOW_6, rt_tgsigqueueinfo, DENY(EPERM)),
};

/* ---- the action for each number ---- */

/* RULES_FIRST where a call has rules in force; what they leave undecided is allowed. */
enum { RULES_FIRST = 0x7ffe0000 };
static uint32_t actions[MAX_SYSCALLS];
static int in_force[CONDITIONS];

static const struct rules *rules_of_section(size_t section)
{
	static const struct rules own = { own_rules, COUNT(own_rules) };
	/* Commands of devices come before the files' own, which end with a refusal. */
	const struct rules *const sections[] = { &device_rules, &file_rules, &network_rules, &own };
	return section < COUNT(sections) ? sections[section] : NULL;
}

static void set_conditions(int abi, int counts_forks)
{
	int with_unix = opt.unix_sockets, with_tcp = opt.tcp_port != NONE;
	in_force[ALWAYS] = 1;
	in_force[LANDLOCK_BELOW_3] = abi < 3;
	in_force[LANDLOCK_BELOW_6] = abi < 6;
	in_force[WITHOUT_SOCKETS] = !with_unix && !with_tcp;
	in_force[WITHOUT_UNIX] = !with_unix;
	in_force[WITH_UNIX] = with_unix;
	in_force[WITH_TCP] = with_tcp;
	in_force[WITH_UNIX_OR_TCP] = with_unix || with_tcp;
	in_force[WITH_DEVICES] = opt.devices.count > 0;
	in_force[COUNT_FORKS] = counts_forks;
}

static uint32_t action_of(enum verdict verdict, int number)
{
	switch (verdict) {
	case ALLOW: return SECCOMP_RET_ALLOW;
	case CHECK: return RULES_FIRST;
	case PRETEND: return PRETEND_DONE;
	case REFUSE: return DENY(EPERM);
	case LACKS: break;
	}
	return DENY(number == __NR_fallocate ? EOPNOTSUPP : ENOSYS);
}

static void choose_actions(void)
{
	for (int i = 0; i < MAX_SYSCALLS; i++) actions[i] = opt.record ? ASK : DENY(ENOSYS);
	/* Twice: a toolchain's list has the last word. */
	for (int native = 1; native >= 0; native--)
		for (size_t i = 0; i < COUNT(listed); i++)
			if (is_wanted(listed[i].set) && native == !strcmp(listed[i].set, "native"))
				actions[listed[i].number] = action_of(listed[i].verdict, listed[i].number);
	/* Some are judged only where the kernel or the options leave them to us. */
	const struct rules *rules;
	for (size_t section = 0; (rules = rules_of_section(section)); section++)
		for (const struct rule *rule = rules->at; rule < rules->at + rules->count; rule++)
			if (actions[rule->call] == SECCOMP_RET_ALLOW && in_force[rule->condition])
				actions[rule->call] = RULES_FIRST;
	if (in_force[LANDLOCK_BELOW_6]) actions[__NR_tgkill] = RULES_FIRST;
}

/* ---- the filter ---- */

static struct sock_filter code[BPF_MAXINSNS];
static unsigned short length;

static void emit(uint16_t operation, uint32_t operand, int if_true, int if_false)
{
	if (length == BPF_MAXINSNS) fail(0, "the seccomp filter is too long");
	code[length++] =
		(struct sock_filter){ operation, (uint8_t)if_true, (uint8_t)if_false, operand };
}

static void emit_load(size_t offset) { emit(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }

static void emit_return(uint32_t action) { emit(BPF_RET | BPF_K, action, 0, 0); }

/* The low 32 bits of an argument; both architectures are little-endian. */
static void emit_rule(const struct rule *rule)
{
	emit_load(offsetof(struct seccomp_data, args) + 8 * rule->argument);
	emit(BPF_ALU | BPF_AND | BPF_K, rule->mask, 0, 0);
	/* Over the next instruction, or not. */
	emit(BPF_JMP | BPF_JEQ | BPF_K, rule->value, rule->test == UNLESS, rule->test == IF);
	emit_return(rule->action);
}

static void emit_leaf(int call)
{
	if (actions[call] != RULES_FIRST) {
		emit_return(actions[call]);
		return;
	}
	const struct rules *rules;
	for (size_t section = 0; (rules = rules_of_section(section)); section++)
		for (const struct rule *rule = rules->at; rule < rules->at + rules->count; rule++)
			if (rule->call == call && in_force[rule->condition]) emit_rule(rule);
	/* Below ABI 6 a program may signal the threads of its first process, which abort() does. */
	if (call == __NR_tgkill && in_force[LANDLOCK_BELOW_6])
		emit_rule(&(struct rule)RULE(LANDLOCK_BELOW_6, tgkill, UNLESS, 0, ALL_BITS, getpid(),
		                             DENY(EPERM)));
	emit_return(SECCOMP_RET_ALLOW);
}

/* Numbers from starts[first] to before starts[last]; neighbours of one action are one start. */
static void emit_tree(const int *starts, int first, int last)
{
	if (last - first == 1) {
		emit_leaf(starts[first]);
		return;
	}
	int middle = (first + last) / 2;
	emit(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)starts[middle], 0, 1);
	unsigned short jump = length;
	emit(BPF_JMP | BPF_JA, 0, 0, 0);
	emit_tree(starts, first, middle);
	code[jump].k = length - jump - 1u;
	emit_tree(starts, middle, last);
}

static void emit_filter(void)
{
	emit_load(offsetof(struct seccomp_data, arch));
	emit(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	emit_return(SECCOMP_RET_KILL_PROCESS);
	emit_load(offsetof(struct seccomp_data, nr));
	emit(BPF_JMP | BPF_JGE | BPF_K, 0x40000000 /* x32 */, 0, 1);
	emit_return(SECCOMP_RET_KILL_PROCESS);
	emit(BPF_JMP | BPF_JGE | BPF_K, MAX_SYSCALLS, 0, 1);
	emit_return(DENY(ENOSYS));
	int starts[MAX_SYSCALLS], count = 0;
	for (int call = 0; call < MAX_SYSCALLS; call++)
		if (!call || actions[call] != actions[call - 1] || actions[call] == RULES_FIRST)
			starts[count++] = call;
	emit_tree(starts, 0, count);
}

int install_seccomp_filter(int landlock_abi)
{
	int counts_forks = opt.uid == NONE && opt.tasks != NONE && !opt.cgroups.count;
	int asks = counts_forks || opt.unix_sockets || opt.tcp_port != NONE || opt.record;
	set_conditions(landlock_abi, counts_forks);
	choose_actions();
	emit_filter();
	struct sock_fprog program = { length, code };
	long listener = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
	                        asks ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
	if (listener < 0) fail(errno, "cannot install the seccomp filter");
	return asks ? (int)listener : -1;
}
