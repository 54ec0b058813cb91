/*
 * Network: which sockets may be made, and to what they may connect.
 *
 * Stops: any network traffic; with --unix, connecting to a unix socket outside the program's
 * folder; with --tcp, to anything but that one port of 127.0.0.1; either also by swapping the
 * address, or a link, after it was checked; UDP, IPv6, raw and netlink sockets; listening on TCP,
 * and TCP Fast Open; datagrams to sockets outside; socket buffers and socket filters that take the
 * kernel's memory.
 *
 * Needs: Linux 4.14 where no socket may be made; 5.9 for --unix and --tcp (SECCOMP_ADDFD; openat2
 * is of 5.6), without which every connect(2) fails. Landlock refuses TCP a second time from ABI 4
 * (6.7).
 *
 * connect(2) is never executed by the program: the supervisor reads the address once, judges it,
 * connects another socket to that address, and puts it in the place of the program's.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- seccomp ---- */

enum { TYPE = 0xf /* Of a socket, without its flags. */, ABOVE_7 = ~7 };

static const struct rule rules[] = {
	ANY(WITHOUT_SOCKETS, socket, DENY(EPERM)),
	ANY(WITHOUT_SOCKETS, connect, DENY(EPERM)),
	ANY(WITHOUT_UNIX, bind, DENY(EPERM)),
	ANY(WITHOUT_UNIX, listen, DENY(EPERM)),
	RULE(WITH_UNIX, socket, UNLESS, 0, ALL_BITS, AF_UNIX, DENY(EPERM)),
	RULE(WITH_UNIX, socket, UNLESS, 1, TYPE, SOCK_STREAM, DENY(EPERM)),
	/* Who connected, wrote and closed is in no descriptor until he is accepted. */
	RULE(WITH_UNIX, listen, UNLESS, 1, ABOVE_7, 0, DENY(EPERM)),
	RULE(WITH_TCP, socket, UNLESS, 0, ALL_BITS, AF_INET, DENY(EPERM)),
	RULE(WITH_TCP, socket, UNLESS, 1, TYPE, SOCK_STREAM, DENY(EPERM)),
	RULE(WITH_TCP, socket, UNLESS, 2, ~IPPROTO_TCP, 0, DENY(EPERM)),
	/* Each would connect without connect(2). */
	RULE(WITH_TCP, sendto, IF, 3, MSG_FASTOPEN, MSG_FASTOPEN, DENY(EPERM)),
	RULE(WITH_TCP, sendmsg, IF, 2, MSG_FASTOPEN, MSG_FASTOPEN, DENY(EPERM)),
	RULE(WITH_TCP, sendmmsg, IF, 3, MSG_FASTOPEN, MSG_FASTOPEN, DENY(EPERM)),
	/* Landlock (to ABI 8) does not govern connect(2) to a path, and of TCP only the port. */
	ANY(WITH_UNIX_OR_TCP, connect, ASK),
	/* A datagram socket may send to any path, whatever it is paired with. */
	ONLY(socketpair, 0, AF_UNIX),
	RULE(ALWAYS, socketpair, IF, 1, TYPE, SOCK_DGRAM, DENY(EPERM)),
	RULE(ALWAYS, socketpair, IF, 1, TYPE, SOCK_RAW, DENY(EPERM)),
	/* Buffers stay as small as they are counted; no filters, no pinned pages. */
	VALUE(setsockopt, 2, SO_SNDBUF, PRETEND_DONE),
	VALUE(setsockopt, 2, SO_RCVBUF, PRETEND_DONE),
	VALUE(setsockopt, 2, SO_SNDBUFFORCE, DENY(EPERM)),
	VALUE(setsockopt, 2, SO_RCVBUFFORCE, DENY(EPERM)),
	VALUE(setsockopt, 2, SO_ATTACH_FILTER, DENY(EPERM)),
	VALUE(setsockopt, 2, 50 /* SO_ATTACH_BPF */, DENY(EPERM)),
	VALUE(setsockopt, 2, 51 /* SO_ATTACH_REUSEPORT_CBPF */, DENY(EPERM)),
	VALUE(setsockopt, 2, 52 /* SO_ATTACH_REUSEPORT_EBPF */, DENY(EPERM)),
	VALUE(setsockopt, 2, 60 /* SO_ZEROCOPY */, DENY(EPERM)),
};
const struct rules network_rules = { rules, COUNT(rules) };

/* ---- connect(2), by the supervisor ---- */

/* The kernel doubles it, and both directions together stay near what usage.c counts. */
enum { TCP_BUFFER = 64 * 1024 };

union address {
	/* First, as the largest: only the first member is sure to be zeroed. */
	char bytes[sizeof(struct sockaddr_un) + 1]; /* With the zero after a path that fills it. */
	struct sockaddr_un path;
	struct sockaddr_in port;
};

/*
 * Holds what a unix socket's path leads to, so that it leads nowhere else meanwhile, and puts it in
 * the path's place. Returns -1 and an errno.
 */
static int hold_unix_socket(struct sockaddr_un *to)
{
	int is_unix = opt.unix_sockets && to->sun_family == AF_UNIX;
	int place = is_unix ? find_writable_place(to->sun_path) : -1;
	size_t length = place < 0 ? 0 : strlen(opt.writable.at[place]);
	if (place < 0 || to->sun_path[length] != '/') {
		errno = EPERM;
		return -1;
	}
	const uint64_t beneath_without_links = 8 | 4; /* RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS */
	const uint64_t how[] = { O_PATH | O_CLOEXEC, 0, beneath_without_links };
	int fd = (int)syscall(__NR_openat2, open_place_fd(place), to->sun_path + length + 1, how,
	                      sizeof how);
	if (fd >= 0) snprintf(to->sun_path, sizeof to->sun_path, "/proc/self/fd/%d", fd);
	return fd;
}

/* Family, port and address: all that the kernel reads of it. */
static int is_allowed_port(const union address *to)
{
	if (opt.tcp_port == NONE) return 0;
	const struct sockaddr_in only = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)opt.tcp_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	return !memcmp(to, &only, offsetof(struct sockaddr_in, sin_zero));
}

/* A socket of ours that is connected, or begins to be; -1 and an errno. */
static int open_connected(const union address *to, int tcp)
{
	/* A full backlog must not stop the supervisor. */
	int fd = socket(to->path.sun_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) return -1;
	const int size = TCP_BUFFER;
	if (tcp) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	}
	errno = 0;
	socklen_t length = tcp ? sizeof to->port : sizeof to->path;
	if (!connect(fd, (const struct sockaddr *)to, length)) return fd;
	if (tcp && errno == EINPROGRESS) return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Puts our socket in the place of the caller's. Returns 0, or -1. */
static int replace_socket(int listener, const struct seccomp_notif *call, int fd)
{
	struct seccomp_notif_addfd added = {
		.id = call->id,
		.flags = SECCOMP_ADDFD_FLAG_SETFD,
		.srcfd = (uint32_t)fd,
		.newfd = (uint32_t)call->data.args[0],
		.newfd_flags = O_CLOEXEC,
	};
	return notify_ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &added) < 0 ? -1 : 0;
}

int connect_for(int listener, const struct seccomp_notif *call)
{
	union address to = { .bytes = { 0 } };
	uint64_t id = call->id;
	size_t size = MIN(call->data.args[2], sizeof to.path);
	if (read_caller(call, call->data.args[1], &to, size) != (ssize_t)size ||
	    notify_ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id))
		return EPERM;
	int tcp = is_allowed_port(&to);
	int held = tcp ? -1 : hold_unix_socket(&to.path);
	if (!tcp && held < 0) return errno;
	int fd = open_connected(&to, tcp), error = errno;
	if (fd >= 0) {
		/* TCP stays non-blocking: it is only for programs that do not block either. */
		int is_blocking = !tcp && fcntl(fd, F_SETFL, 0) == 0;
		if ((!tcp && !is_blocking) || replace_socket(listener, call, fd)) error = EPERM;
		close(fd);
	}
	if (held >= 0) close(held);
	return error;
}
