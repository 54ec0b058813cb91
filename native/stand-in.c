/*
 * Calls that the supervisor judges, or makes in the program's stead. (Linux 5.14.)
 *
 * Stops: connecting to a unix socket outside the program's folder, to any TCP port but --tcp's on
 * 127.0.0.1, and to either by swapping the address or a link after it was looked at; more processes
 * than --nproc where the user is shared.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* The kernel doubles it, and both directions together stay near what usage.c counts. */
enum { TCP_BUFFER = 64 * 1024 };

union address {
	struct sockaddr_un path;
	struct sockaddr_in port;
	char room[sizeof(struct sockaddr_un) + 1]; /* With the zero after a path that fills it. */
};

static ssize_t read_memory(pid_t pid, uint64_t from, void *to, size_t size)
{
	/* In two parts: a string may end on the last page that is mapped; pages have 4 KiB at least. */
	size_t first = MIN(4096 - from % 4096, size);
	struct iovec here = { to, size };
	struct iovec there[2] = {
		{ (void *)from, first },
		{ (void *)(from + first), size - first },
	};
	return process_vm_readv(pid, &here, 1, there, 2, 0);
}

/*
 * Holds what a unix socket's path leads to, so that it leads nowhere else meanwhile, and puts it in
 * the path's place. Returns -1 and an errno.
 */
static int hold_inside(struct sockaddr_un *to)
{
	int place = opt.unix_sockets && to->sun_family == AF_UNIX ? place_of(to->sun_path) : -1;
	size_t length = place < 0 ? 0 : strlen(opt.rw[place]);
	if (place < 0 || to->sun_path[length] != '/') {
		errno = EPERM;
		return -1;
	}
	const uint64_t beneath_without_links = 8 | 4; /* RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS */
	const uint64_t how[] = { O_PATH | O_CLOEXEC, 0, beneath_without_links };
	int fd = syscall(__NR_openat2, opt.rw_fd[place], to->sun_path + length + 1, how, sizeof how);
	if (fd >= 0) snprintf(to->sun_path, sizeof to->sun_path, "/proc/self/fd/%d", fd);
	return fd;
}

static int is_the_open_port(const union address *to)
{
	const struct sockaddr_in only = {
		.sin_family = AF_INET,
		.sin_port = htons(opt.tcp),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	return opt.tcp != NONE && !memcmp(to, &only, offsetof(struct sockaddr_in, sin_zero));
}

/* A socket of ours that is connected, or begins to be; -1 and an errno. */
static int connected(const union address *to, int tcp)
{
	/* A full backlog must not stop the supervisor. */
	int fd = socket(to->path.sun_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int size = TCP_BUFFER;
	if (fd >= 0 && tcp) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	}
	socklen_t length = tcp ? sizeof to->port : sizeof to->path;
	errno = fd < 0 ? errno : 0;
	if (fd >= 0 && !connect(fd, (const struct sockaddr *)to, length)) return fd;
	if (fd >= 0 && tcp && errno == EINPROGRESS) return fd;
	int why = errno;
	close(fd);
	errno = why;
	return -1;
}

/* Puts our socket in the place of the caller's. Returns 0, or -1. */
static int hand_over(int listener, const struct seccomp_notif *call, int fd)
{
	struct seccomp_notif_addfd give = {
		.id = call->id,
		.flags = SECCOMP_ADDFD_FLAG_SETFD,
		.srcfd = fd,
		.newfd = call->data.args[0],
		.newfd_flags = O_CLOEXEC,
	};
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give) < 0 ? -1 : 0;
}

/* In the caller's stead, so that what was checked is what is connected to. Returns an errno. */
static int connect_instead(int listener, const struct seccomp_notif *call)
{
	union address to = { 0 };
	size_t size = MIN(call->data.args[2], sizeof to.path);
	if (read_memory(call->pid, call->data.args[1], &to, size) != (ssize_t)size ||
	    ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id))
		return EPERM;
	int tcp = is_the_open_port(&to);
	int held = tcp ? -1 : hold_inside(&to.path);
	if (!tcp && held < 0) return errno;
	int fd = connected(&to, tcp), begun = fd < 0 ? 0 : errno, result = fd < 0 ? errno : 0;
	/* TCP stays as it is: only for programs that do not block either. */
	if (fd >= 0 && ((!tcp && fcntl(fd, F_SETFL, 0)) || hand_over(listener, call, fd)))
		result = EPERM;
	else if (fd >= 0 && tcp)
		result = begun;
	close(held);
	close(fd);
	return result;
}

/* Landlock never judges access(2). Returns an errno. */
static int judge_access(const struct seccomp_notif *call)
{
	char path[4097] = "";
	read_memory(call->pid, call->data.args[call->data.nr == __NR_faccessat], path, 4096);
	return path[0] == '/' && place_of(path) < 0 ? EACCES : 0;
}

/* One process more. Returns an errno. */
static int judge_fork(pid_t group)
{
	if (seen.tasks >= opt.tasks && now_ms() > seen.at + 5) look(group);
	if (seen.tasks >= opt.tasks) return EAGAIN;
	seen.tasks++;
	return 0;
}

static int is_fork(int call)
{
#ifdef __x86_64__
	if (call == __NR_fork || call == __NR_vfork) return 1;
#endif
	return call == __NR_clone;
}

static int is_access(int call)
{
#ifdef __x86_64__
	if (call == __NR_access) return 1;
#endif
	return call == __NR_faccessat;
}

/* Tells of a call outside the allowance, which --record lets pass. */
static void record(int call)
{
	static uint8_t told[512];
	if (opt.report == NONE || call < 0 || call >= (int)COUNT(told) || told[call]) return;
	told[call] = 1;
	dprintf(opt.report, "{\"call\":\"%s\"}\n", name_of_call(call));
}

void answer(int listener, pid_t group)
{
	/* The kernel's structures may grow. */
	union {
		struct seccomp_notif call;
		char room[256];
	} asked = { 0 };
	union {
		struct seccomp_notif_resp reply;
		char room[128];
	} told = { 0 };
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked)) return;
	int call = asked.call.data.nr, goes_on = call != __NR_connect, error = 0;
	if (call == __NR_connect)
		error = connect_instead(listener, &asked.call);
	else if (is_access(call))
		error = judge_access(&asked.call);
	else if (is_fork(call))
		error = judge_fork(group);
	else
		record(call);
	told.reply.id = asked.call.id;
	told.reply.error = -error;
	if (goes_on && !error) told.reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &told);
}
