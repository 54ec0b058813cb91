/*
 * Notifications: system calls that the supervisor decides (seccomp user notification).
 *
 * Stops: more processes than --nproc where the user is shared, and RLIMIT_NPROC would count those
 * of others.
 * Carries the decisions of network.c (connect) and files.c (access) to the program.
 *
 * Needs: Linux 5.5 (SECCOMP_USER_NOTIF_FLAG_CONTINUE). Without notifications (5.0) the filter
 * cannot be installed, and the launcher refuses to start; launcher.c needs 5.11 anyway.
 *
 * The program's memory is read once, and what was read is used: what it writes there afterwards
 * changes nothing. Calls that go on in the kernel are those whose memory decides nothing.
 */
#include "launcher.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ioctl(3) takes the request as an int in some C libraries, and as a long in others. */
long notify_ioctl(int listener, unsigned long request, void *argument)
{
	return syscall(__NR_ioctl, listener, request, argument);
}

ssize_t read_caller(const struct seccomp_notif *call, uint64_t from, void *to, size_t size)
{
	/* In two parts: a string may end on the last page that is mapped; pages have 4 KiB at least. */
	size_t first = MIN(4096 - from % 4096, size);
	struct iovec here = { to, size };
	struct iovec there[2] = {
		{ (void *)(uintptr_t)from, first },
		{ (void *)(uintptr_t)(from + first), size - first },
	};
	return process_vm_readv((pid_t)call->pid, &here, 1, there, 2, 0);
}

/*
 * One process more. Returns an errno. The count is not that of the samples in between: one that
 * falls between a permission and its fork lacks that process. Who asks has done what it was
 * permitted before, so a count that is taken now is right.
 */
static int check_fork(pid_t group)
{
	static uint64_t count = 1, counted_at;
	if (MAX(count, usage.tasks) >= opt.tasks && now_ms() > counted_at + 5) {
		sample_usage(group);
		count = usage.tasks;
		counted_at = now_ms();
	}
	if (MAX(count, usage.tasks) >= opt.tasks) return EAGAIN;
	count++;
	usage.tasks++;
	return 0;
}

static int is_fork(int call)
{
	X86_ONLY(if (call == __NR_fork || call == __NR_vfork) return 1;)
	return call == __NR_clone;
}

static int is_access(int call)
{
	X86_ONLY(if (call == __NR_access) return 1;)
	return call == __NR_faccessat;
}

/* Tells once of each call outside the lists, which --record lets pass. */
static void record(int call)
{
	static uint8_t recorded[MAX_SYSCALLS];
	if (opt.report_fd == NONE || call < 0 || call >= MAX_SYSCALLS || recorded[call]) return;
	recorded[call] = 1;
	dprintf((int)opt.report_fd, "{\"call\":\"%s\"}\n", syscall_name(call));
}

void answer_notification(int listener, pid_t group)
{
	/* The kernel's structures may grow, and it wants what it does not know to be zero. */
	union {
		char room[256];
		struct seccomp_notif call;
	} received = { .room = { 0 } };
	union {
		char room[128];
		struct seccomp_notif_resp response;
	} answer = { .room = { 0 } };
	if (notify_ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &received)) return;
	int call = received.call.data.nr, error = 0;
	if (call == __NR_connect)
		error = connect_for(listener, &received.call);
	else if (is_access(call))
		error = check_access(&received.call);
	else if (is_fork(call))
		error = check_fork(group);
	else
		record(call);
	answer.response.id = received.call.id;
	answer.response.error = -error;
	/* connect(2) was done by us, or refused. */
	if (call != __NR_connect && !error)
		answer.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	notify_ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}
