/*
 * A hostile program: tries one thing that a confined converter must not be able to do.
 *
 *   probe ACTION [arguments...]
 *
 * Exits 0 when it could, 1 when the system refused (and prints the error's name), 2 when it was asked nonsense.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int count;
static char **words;
static const char *word(int i) { return i < count ? words[i] : (exit(2), ""); }
static long number(int i) { return strtol(word(i), NULL, 0); }

static int verdict(long result)
{
	if (result >= 0) return 0;
	printf("%s\n", strerrorname_np(errno));
	return 1;
}

static int opening(const char *path, int flags)
{
	char byte;
	int fd = open(path, flags, 0600);
	if (fd >= 0 && (flags & O_ACCMODE) == O_RDONLY && read(fd, &byte, 1) < 0 && errno != EISDIR) return verdict(-1);
	return verdict(fd);
}

/* "@name" is an abstract address. */
static struct sockaddr_un address(const char *name, socklen_t *size)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	strncpy(to.sun_path, name, sizeof to.sun_path - 1);
	*size = offsetof(struct sockaddr_un, sun_path) + strlen(name) + (*name != '@');
	if (*name == '@') to.sun_path[0] = 0;
	return to;
}

static int connecting(const char *name)
{
	socklen_t size;
	struct sockaddr_un to = address(name, &size);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char byte = 0;
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, size)) return verdict(-1);
	return verdict(read(fd, &byte, 1) == 1 && byte == 'x' ? 0 : -1);
}

static int binding(const char *name, int type)
{
	socklen_t size;
	struct sockaddr_un to = address(name, &size);
	int fd = socket(AF_UNIX, type, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, size) || (type == SOCK_STREAM && listen(fd, 4))) exit(verdict(-1));
	if (*name != '@') chmod(name, 0777);
	return fd;
}

/* Greets whoever connects, until killed. */
static int serving(int from)
{
	int fds[8], n = 0;
	for (int i = from; i < count && n < 8; i++) fds[n++] = binding(words[i], strstr(words[i], "datagram") ? SOCK_DGRAM : SOCK_STREAM);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < n; i++) {
		if (fork()) continue;
		for (int fd; (fd = accept(fds[i], NULL, NULL)) >= 0 && write(fd, "x", 1) == 1;) close(fd);
		return 1;
	}
	for (;;) pause();
}

static int sending_from_pair(const char *name)
{
	socklen_t size;
	struct sockaddr_un to = address(name, &size);
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) return verdict(-1);
	return verdict(sendto(pair[0], "x", 1, 0, (struct sockaddr *)&to, size));
}

/* Over a socket in our own folder, both ends ours. */
static int talking_within(const char *name)
{
	int listener = binding(name, SOCK_STREAM);
	if (fork()) return connecting(name);
	int fd = accept(listener, NULL, NULL);
	exit(write(fd, "x", 1) != 1);
}

static void touch(size_t bytes, int flags)
{
	/* In pieces, so that a refusal of one leaves the others. */
	for (size_t piece = 4 << 20, done = 0; done < bytes; done += piece) {
		char *place = mmap(NULL, piece, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
		if (place == MAP_FAILED) break;
		memset(place, 1, piece);
	}
}

/* Shared pages that are dropped from our own set as soon as they are full: they stay where they are. */
static void touch_and_drop(size_t bytes)
{
	for (size_t piece = 4 << 20, done = 0; done < bytes; done += piece) {
		char *place = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (place == MAP_FAILED) exit(verdict(-1));
		memset(place, 1, piece);
		madvise(place, piece, MADV_DONTNEED);
	}
}

/* Fills sockets that nobody reads, in as many processes as it takes. */
static int filling_sockets(long bytes)
{
	static char block[65536];
	for (int pair[2]; bytes > 0;) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
			if (errno != EMFILE) return verdict(-1);
			pid_t child = fork();
			if (child) break;
			for (int fd = 3; fd < 4096; fd++) close(fd);
			continue;
		}
		for (int end = 0; end < 2; end++)
			for (ssize_t n; (n = send(pair[end], block, sizeof block, MSG_DONTWAIT)) > 0;) bytes -= n;
	}
	for (;;) pause();
}

/* Page tables: one page of zeros read in every 2 MiB is in no resident set. */
static int filling_page_tables(long bytes)
{
	size_t reach = (size_t)bytes / 4096 << 21;
	volatile char *place = mmap(NULL, reach, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (place == MAP_FAILED) return verdict(-1);
	for (size_t at = 0; at < reach; at += 2 << 20) (void)place[at];
	for (;;) pause();
}

/* Files of which only a descriptor, or only a mapping, is left. */
static int filling_unlinked(long files, long bytes, int mapped)
{
	static char block[65536];
	for (long i = 0; i < files; i++) {
		int fd = open("nameless", O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd < 0) return verdict(-1);
		for (long done = 0; done < bytes; done += sizeof block) if (write(fd, block, sizeof block) < 0) return verdict(-1);
		if (mapped && mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) return verdict(-1);
		if (mapped) close(fd);
		unlink("nameless");
	}
	for (;;) pause();
}

/* ---- data renamed behind a count ---- */

enum { ROOMS = 10, DECOYS = 100 };

/* Rooms in the order in which whoever lists the folder reads them. */
static void make_rooms(char rooms[ROOMS][8])
{
	char path[64];
	int n = 0;
	for (int room = 0; room < ROOMS; room++) {
		snprintf(path, sizeof path, "room-%d", room);
		if (mkdir(path, 0700)) exit(verdict(-1));
		for (int decoy = 0; decoy < DECOYS; decoy++) {
			snprintf(path, sizeof path, "room-%d/decoy-%d", room, decoy);
			close(open(path, O_WRONLY | O_CREAT, 0600));
		}
	}
	DIR *here = opendir(".");
	for (struct dirent *entry; (entry = readdir(here)) && n < ROOMS;)
		if (!strncmp(entry->d_name, "room-", 5)) strcpy(rooms[n++], entry->d_name);
	closedir(here);
}

static struct timespec read_at(const char *folder)
{
	struct stat is;
	return stat(folder, &is) ? (struct timespec){ 0, 0 } : is.st_atim;
}

static int is_later(struct timespec a, struct timespec b)
{
	return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* A child fills a folder, by its descriptor, wherever it is moved. */
static void keep_filling(const char *folder, long files, long bytes)
{
	static char block[65536];
	char name[32];
	int at = open(folder, O_RDONLY | O_DIRECTORY);
	if (at < 0) exit(verdict(-1));
	if (fork()) return;
	for (long i = 0; i < files; i++) {
		snprintf(name, sizeof name, "data-%ld", i);
		int fd = openat(at, name, O_WRONLY | O_CREAT, 0600);
		for (long done = 0; done < bytes; done += sizeof block)
			if (write(fd, block, sizeof block) < 0) _exit(1);
		close(fd);
	}
	for (;;) pause();
}

/* The kernel continues us, whoever stops us. */
static void continue_for_ever(void)
{
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
	const struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL)) exit(verdict(-1));
}

/*
 * The data waits in the last room. As soon as the first was read it goes there, and back once the last was read too: whoever adds up room by
 * room never meets it. "blindly" watches nothing and renames without pause.
 */
static int renaming_behind(long files, long bytes, const char *how)
{
	char rooms[ROOMS][8], last[32], first[32];
	make_rooms(rooms);
	snprintf(first, sizeof first, "%s/data", rooms[0]);
	snprintf(last, sizeof last, "%s/data", rooms[ROOMS - 1]);
	if (mkdir(last, 0700)) return verdict(-1);
	keep_filling(last, files, bytes);
	if (!strcmp(how, "continued")) continue_for_ever();
	int blindly = !strcmp(how, "blindly");
	for (struct timespec seen = read_at(rooms[0]);;) {
		while (!blindly && !is_later(read_at(rooms[0]), seen)) ;
		struct timespec met = read_at(rooms[ROOMS - 1]);
		/* Where it may not, all stays where it is. */
		if (rename(last, first)) for (;;) pause();
		while (!blindly && !is_later(read_at(rooms[ROOMS - 1]), met)) ;
		seen = read_at(rooms[0]);
		if (rename(first, last)) return verdict(-1);
	}
}

/* ---- objects of the kernel's ---- */

/* Each second page has other rights, so that none merge. */
static int mapping(long each)
{
	char *place = mmap(NULL, each * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (place == MAP_FAILED) return -1;
	for (long page = 0; page < each; page += 2) if (mprotect(place + page * 4096, 4096, PROT_READ)) return -1;
	return 0;
}

/* Of each of so many pipes, by each epoll descriptor. */
static int watching(long epolls, long pipes)
{
	int watched[1024], pair[2];
	for (long i = 0; i < pipes; i++) {
		if (pipe(pair)) return -1;
		watched[i] = pair[0];
	}
	for (long i = 0; i < epolls; i++) {
		int epoll = epoll_create1(0);
		struct epoll_event event = { .events = EPOLLIN };
		for (long j = 0; j < pipes; j++) if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, watched[j], &event)) return -1;
	}
	return 0;
}

/* Of each second byte, so that none merge. */
static int locking(long each)
{
	int fd = open("locked", O_RDWR | O_CREAT, 0600);
	for (long i = 0; i < each; i++) {
		struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (long)getpid() * 2 * each + 2 * i, .l_len = 1 };
		if (fd < 0 || fcntl(fd, F_SETLK, &byte)) return -1;
	}
	return 0;
}

static int in_many(long processes, int (*make)(long, long), long a, long b)
{
	while (--processes > 0 && fork()) ;
	if (make(a, b)) return verdict(-1);
	for (;;) pause();
}

static int make_mappings(long each, long none) { return none + mapping(each); }
static int make_locks(long each, long none) { return none + locking(each); }

static void *hog(void *bytes) { touch((size_t)bytes, MAP_PRIVATE); for (;;) pause(); return NULL; }

static void *idle(void *nothing) { for (;;) pause(); return nothing; }

static int spinning(int processes)
{
	while (--processes > 0 && fork()) ;
	for (volatile unsigned long n = 0;; n++) if (n == UINT64_MAX) return 0;
}

static int filling(const char *path, long bytes)
{
	static char block[65536];
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	for (; fd >= 0 && bytes > 0; bytes -= sizeof block) if (write(fd, block, sizeof block) < 0) return verdict(-1);
	return verdict(fd);
}

static int many_files(long files)
{
	char path[32];
	for (long i = 0; i < files; i++) {
		snprintf(path, sizeof path, "file-%ld", i);
		int fd = open(path, O_WRONLY | O_CREAT, 0600);
		if (fd < 0 || write(fd, "x", 1) < 0) return verdict(-1);
		close(fd);
	}
	for (;;) pause();
}

/* Escapes its parent, its group and its session as far as it may, deaf to signals, and outlives its first process. */
static int tree(void)
{
	int ready[2];
	char byte;
	if (pipe(ready)) return 2;
	for (int way = 0; way < 3; way++) {
		if (fork()) continue;
		if (way == 1) setpgid(0, 0);
		if (way == 2) setsid();
		if (fork()) _exit(0);
		for (int s = 1; s < NSIG; s++) signal(s, SIG_IGN);
		if (write(ready[1], "x", 1) != 1) _exit(2);
		for (;;) pause();
	}
	for (int way = 0; way < 3; way++) if (read(ready[0], &byte, 1) != 1) return 2;
	puts("ready");
	fflush(stdout);
	return 0;
}

static int clone3_into(uint64_t flags)
{
	struct clone_args how = { .flags = flags, .exit_signal = SIGCHLD };
	long child = syscall(__NR_clone3, &how, sizeof how);
	if (!child) _exit(0);
	return verdict(child);
}

/* Has the kernel send a signal because bytes arrived on a socket of ours. */
static int signalling_by_descriptor(int other, int signal)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 2;
	if (fcntl(pair[0], F_SETOWN, other) || fcntl(pair[0], F_SETSIG, signal) || fcntl(pair[0], F_SETFL, O_ASYNC)) return verdict(-1);
	return verdict(write(pair[1], "x", 1));
}

int main(int argc, char **argv)
{
	count = argc - 2;
	words = argv + 2;
	const char *action = argc > 1 ? argv[1] : "";
	char room[4096] = "";
	struct iovec here = { room, 8 }, there = { (void *)main, 8 };
#define IF(name) if (!strcmp(action, name))
	IF("socket") return verdict(socket(number(0), number(1), 0));
	IF("pair") { int pair[2]; return verdict(socketpair(AF_UNIX, number(0), 0, pair)); }
	IF("connect") return connecting(word(0));
	IF("bind") return binding(word(0), SOCK_STREAM) < 0;
	IF("serve") return serving(0);
	IF("send-from-pair") return sending_from_pair(word(0));
	IF("talk-within") return talking_within(word(0));

	IF("read") return opening(word(0), O_RDONLY);
	IF("list") { DIR *d = opendir(word(0)); return verdict(d ? 0 : -1); }
	IF("write") return opening(word(0), O_WRONLY);
	IF("create") return opening(word(0), O_WRONLY | O_CREAT);
	IF("truncate") return verdict(truncate(word(0), 0));
	IF("truncate-by-reading") return opening(word(0), O_RDONLY | O_TRUNC);
	IF("truncate-by-neither") return opening(word(0), O_ACCMODE | O_TRUNC);
	IF("remove") return verdict(unlink(word(0)));
	IF("link") return verdict(link(word(0), word(1)));
	IF("symlink") return verdict(symlink(word(0), word(1)));
	IF("fifo") return verdict(mkfifo(word(0), 0600));
	IF("chmod") return verdict(chmod(word(0), number(1)));
	IF("watch") { int fd = inotify_init1(0); return verdict(fd < 0 ? fd : inotify_add_watch(fd, word(0), IN_ALL_EVENTS)); }
	IF("execute") { execl(word(0), word(0), "nothing", NULL); return verdict(-1); }
	IF("move") { if (mkdir("a", 0700) || mkdir("b", 0700) || opening("a/x", O_WRONLY | O_CREAT)) return verdict(-1); return verdict(rename("a/x", "b/x")); }

	IF("kill") return verdict(kill(number(0), 0));
	IF("kill-parent") return verdict(kill(getppid(), 0));
	IF("tgkill") return verdict(syscall(__NR_tgkill, number(0), number(0), 0));
	IF("tkill") return verdict(syscall(__NR_tkill, number(0), 0));
	IF("sigqueue") return verdict(sigqueue(number(0), SIGURG, (union sigval){ 0 }));
	IF("pidfd-signal") return verdict(syscall(__NR_pidfd_send_signal, syscall(__NR_pidfd_open, number(0), 0), SIGURG, NULL, 0));
	IF("signal-by-descriptor") return signalling_by_descriptor(number(0), SIGKILL);
	IF("kill-child") { pid_t child = fork(); if (!child) for (;;) pause(); return verdict(kill(child, SIGKILL)); }
	IF("abort") abort();
	IF("limit-other") { struct rlimit none = { 4096, 4096 }; return verdict(prlimit(number(0), RLIMIT_NOFILE, &none, NULL)); }
	IF("slow-other") return verdict(setpriority(PRIO_PROCESS, number(0), 19));
	IF("slow-user") return verdict(setpriority(PRIO_USER, 0, 1));
	IF("trace") return verdict(ptrace(PTRACE_SEIZE, number(0), 0, 0));
	IF("read-memory") return verdict(process_vm_readv(number(0), &here, 1, &there, 1, 0));

	IF("clone") { long child = syscall(__NR_clone, number(0) | SIGCHLD, 0, 0, 0, 0); if (!child) _exit(0); return verdict(child); }
	IF("clone3") return clone3_into(number(0));
	IF("unshare") return verdict(unshare(number(0)));
	IF("setsid") { pid_t child = fork(); if (!child) exit(verdict(setsid())); int status; waitpid(child, &status, 0); return WEXITSTATUS(status); }
	IF("setpgid") { pid_t child = fork(); if (!child) exit(verdict(setpgid(0, 0))); int status; waitpid(child, &status, 0); return WEXITSTATUS(status); }
	IF("io-uring") { char params[256] = { 0 }; return verdict(syscall(__NR_io_uring_setup, 4, params)); }
	IF("x32") return verdict(syscall(0x40000000 | __NR_getpid));
	IF("i386") {
#ifdef __x86_64__
		long result;
		__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); /* getpid of i386 */
		return result < 0;
#endif
	}
	IF("memfd") return verdict(memfd_create("x", 0));
	IF("shared-memory-segment") { int id = shmget(IPC_PRIVATE, 4096, 0600); if (id >= 0) shmctl(id, IPC_RMID, NULL); return verdict(id); }
	IF("semaphore-by-number") { return verdict(semctl(number(0), 0, IPC_STAT, room)); }
	IF("segment-by-number") { return verdict(shmctl(number(0), IPC_STAT, (struct shmid_ds *)room)); }
	IF("remove-segment") { return verdict(shmctl(number(0), IPC_RMID, NULL)); }
	IF("read-queue-by-number") return verdict(msgrcv(number(0), room, 8, 0, IPC_NOWAIT | MSG_COPY) < 0 && errno != ENOMSG ? -1 : 0);
	IF("send-to-queue-by-number") { *(long *)room = 1; return verdict(msgsnd(number(0), room, 8, IPC_NOWAIT)); }
	IF("queue-by-number") { return verdict(msgctl(number(0), IPC_STAT, (struct msqid_ds *)room)); }
	IF("serve-ipc") {
		int queue = msgget(IPC_PRIVATE, 0666), segment = shmget(IPC_PRIVATE, 4096, 0666), set = semget(IPC_PRIVATE, 1, 0666);
		printf("%d %d %d\n", queue, segment, set);
		fflush(stdout);
		while (read(0, room, 1) > 0) ;
		return msgctl(queue, IPC_RMID, NULL) | shmctl(segment, IPC_RMID, NULL) | semctl(set, 0, IPC_RMID);
	}
	IF("aio-context") { unsigned long context = 0; return verdict(syscall(__NR_io_setup, 1, &context)); }
	IF("nameless-file") return verdict(open(".", O_TMPFILE | O_RDWR, 0600));
	IF("reserve") { int fd = open("reserved", O_RDWR | O_CREAT, 0600); long result = fallocate(fd, 0, 0, 1 << 20); int why = errno; unlink("reserved"); errno = why; return verdict(result); }
	IF("openat2") { uint64_t how[3] = { O_RDONLY, 0, 0 }; return verdict(syscall(__NR_openat2, AT_FDCWD, "/usr/bin/env", how, sizeof how)); }
	IF("filter") { struct { unsigned short length; void *code; } none = { 1, room }; memcpy(room, "\x06\0\0\0\0\0\xff\x7f", 8); prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); return verdict(syscall(__NR_seccomp, 1, 0, &none)); }
	IF("prctl") return verdict(prctl(number(0), number(1), 0, 0, 0));
	IF("ioctl") { int pair[2]; if (pipe(pair)) return 2; return verdict(ioctl(pair[0], number(0), room)); }
	IF("control") { int fd = open(word(0), O_RDWR); return verdict(fd < 0 ? fd : ioctl(fd, number(1), room)); }
	IF("fcntl") { int pair[2]; if (pipe(pair)) return 2; return verdict(fcntl(pair[0], number(0), number(1))); }
	IF("mmap") return verdict(mmap(NULL, 1 << 21, PROT_READ, number(0), -1, 0) == MAP_FAILED ? -1 : 0);
	IF("undumpable") { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); if (prctl(PR_GET_DUMPABLE)) errno = EPERM; return verdict(prctl(PR_GET_DUMPABLE) ? -1 : 0); }
	IF("pages-in-pipe") { int pair[2]; if (pipe(pair)) return 2; struct iovec page = { room, 1 }; return verdict(vmsplice(pair[1], &page, 1, 0)); }
	IF("unheard-of") { return verdict(syscall(number(0), 0, 0, 0, 0, 0, 0)); }
	IF("shared-memory-dropped") { touch_and_drop(number(0)); for (;;) pause(); }
	IF("socket-buffers") return filling_sockets(number(0));
	IF("page-tables") return filling_page_tables(number(0));
	IF("unlinked-files") return filling_unlinked(number(0), number(1), 0);
	IF("mapped-files") return filling_unlinked(number(0), number(1), 1);
	IF("mapped-files-among-many") { if (mapping(number(2))) return verdict(-1); return filling_unlinked(number(0), number(1), 1); }
	IF("rename-behind") return renaming_behind(number(0), number(1), word(2));
	IF("mappings") return in_many(number(0), make_mappings, number(1), 0);
	IF("watches") return in_many(number(0), watching, number(1), number(2));
	IF("locks") return in_many(number(0), make_locks, number(1), 0);
	IF("memory-without-leader") { pthread_t t; pthread_create(&t, NULL, hog, (void *)number(0)); syscall(__NR_exit, 0); }
	IF("key") return verdict(syscall(__NR_add_key, "user", "probe", "x", 1, -3 /* KEY_SPEC_SESSION_KEYRING */));
	IF("bpf") { char attributes[128] = { 0 }; *(uint32_t *)attributes = 1, *(uint32_t *)(attributes + 4) = 4, *(uint32_t *)(attributes + 8) = 8, *(uint32_t *)(attributes + 12) = 1; return verdict(syscall(__NR_bpf, 0, attributes, 32)); }
	IF("mount") return verdict(syscall(__NR_fsopen, "tmpfs", 0));
	IF("chroot") return verdict(chroot("/"));
	IF("personality") return verdict(personality(ADDR_NO_RANDOMIZE));
	IF("become-root") return verdict(setuid(0));

	IF("environment") { for (char **e = environ; *e; e++) puts(*e); return 0; }
	IF("descriptors") { for (int fd = 0; fd < 4096; fd++) if (fcntl(fd, F_GETFD) >= 0) printf("%d\n", fd); return 0; }
	IF("memory") { touch(number(0), MAP_PRIVATE); for (;;) pause(); }
	/* What a line of /proc/[pid]/status says, in the line that says its name. */
	IF("memory-by-name") { prctl(PR_SET_NAME, "VmRSS: VmPTE:"); touch(number(0), MAP_PRIVATE); for (;;) pause(); }
	IF("memory-of-many") { for (long n = number(0); n > 0; n--) if (!fork()) { touch(number(1), MAP_PRIVATE); for (;;) pause(); } for (;;) pause(); }
	IF("forks") { long n = 0; for (pid_t child; n < number(0) && (child = fork()) >= 0; n++) if (!child) for (;;) pause(); printf("%ld\n", n + 1); return 0; }
	IF("forks-or-fails") { for (long n = 1; n < number(0); n++) { pid_t child = fork(); if (child < 0) return verdict(-1); if (!child) for (;;) pause(); } return 0; }
	IF("threads") { pthread_t t; long n = 0; pthread_attr_t small; pthread_attr_init(&small); pthread_attr_setstacksize(&small, 65536); while (n < number(0) && !pthread_create(&t, &small, idle, NULL)) n++; printf("%ld\n", n + 1); fflush(stdout); for (;;) pause(); }
	IF("bomb") for (;;) fork();
	IF("spin") return spinning(number(0));
	IF("memory-after-rest") { sleep(4); touch(number(0), MAP_PRIVATE); for (;;) pause(); }
	IF("memory-of-many-after-rest") { sleep(4); for (long n = number(0); n > 0; n--) if (!fork()) { touch(number(1), MAP_PRIVATE); for (;;) pause(); } for (;;) pause(); }
	IF("sleep") for (;;) pause();
	IF("outlive-parent") { prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0); puts("ready"); fflush(stdout); for (;;) pause(); }
	IF("core-limit") { struct rlimit core; getrlimit(RLIMIT_CORE, &core); printf("%ld %ld\n", (long)core.rlim_cur, (long)core.rlim_max); return 0; }
	IF("fill") return filling(word(0), number(1));
	IF("many-files") return many_files(number(0));
	/* In a folder whose name is no UTF-8, beside a file of such a name. */
	IF("many-files-oddly-named") { if (opening("\xfe", O_WRONLY | O_CREAT) || mkdir("\xff", 0700) || chdir("\xff")) return verdict(-1); return many_files(number(0)); }
	IF("hide-folder") return verdict(mkdir(word(0), number(1)));
	IF("hide-folder-by-umask") { umask(0777); struct stat is; return verdict(mkdir(word(0), 0700) || stat(word(0), &is) || (is.st_mode & 0700) == 0700 ? (errno = EPERM, -1) : 0); }
	IF("dig") { for (long n = number(0); n > 0; n--) if (mkdir("deeper", 0700) || chdir("deeper")) return verdict(-1); for (;;) pause(); }
	IF("flood") { memset(room, 'x', sizeof room); for (;;) if (write(number(0), room, sizeof room) < 0) return 1; }
	IF("tree") return tree();
	IF("tree-and-stay") { if (tree()) return 2; for (;;) pause(); }
	IF("echo") { for (ssize_t n; (n = read(0, room, sizeof room)) > 0;) if (write(1, room, n) != n) return 1; return 0; }
	IF("exit") return number(0);
	return 2;
}
