/*
 * Usage: what the process tree uses, sampled from /proc, and what the kernel counts of it.
 *
 * Stops, together with the refusals in the filter: a tree that takes more memory than its share, as
 * many processes or as one, also where no resident set shows it (page tables, swap, sockets, pipes,
 * mappings, watches, a process whose first thread has ended); files without a name, which no
 * measurement of the folder finds, held by a descriptor or by a mapping only; and processor time
 * spread over processes.
 *
 * In a cgroup (cgroup.c) the kernel counts all memory, its own objects too, and only the rest is
 * sampled. Elsewhere a sample adds up what can be seen, and what has no size is limited by number.
 *
 * Needs: /proc; any kernel. Without /proc the launcher refuses to start.
 *
 * What it cannot see: descriptors on their way between two processes, which the kernel bounds by
 * RLIMIT_NOFILE; processor time of short-lived children whose parent ignores SIGCHLD, which the
 * kernel forgets: the wall clock ends those.
 */
#include "launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	PIPE_PAGES = 16,             /* Of a pipe; larger ones are refused. */
	USUAL_SOCKET = 212992,       /* net.core.wmem_default where it cannot be read. */
	BACKLOG = 8,                 /* A listener's unaccepted connections, and itself. */
	/* Between two samples of what costs more; longer where it would take a larger share. */
	SHORTEST_MS = 200,
	SHARE = 32,
	LONGEST_MS = 1000,
	INODES = 1 << 16,            /* Twice the descriptors of most trees. */
	/* Of the whole tree. Browsers have some 10,000 mappings and 100 watches. */
	MOST_MAPPINGS = 1 << 16,
	MOST_WATCHES = 1 << 16,
	/* What the kernel keeps for each, at most. */
	TASK_BYTES = 32 * 1024,
	DESCRIPTOR_BYTES = 1024,
	MAPPING_BYTES = 512,
	WATCH_BYTES = 256,
	MOST_MEMBERS = 256,          /* A larger tree is never taken to rest. */
	LITTLE_NS = 5000000,         /* A memory is filled by some 10 GB in a second. */
	/* By then descriptors, mappings and folders were looked at since it last ran. */
	REST_MS = 2 * LONGEST_MS,
	MOST_BEGUN = 4096, /* Of the system between two looks: more are as good as one of the tree. */
	STATUS_BYTES = 64 * 1024,    /* /proc/[pid]/status of a user of some 5,000 groups. */
};

struct usage usage = { .tasks = 1 };
static DIR *processes;

/*
 * The tree as the last sample found it, with the processor time of each of its processes, ns. What
 * has not run since has taken nothing: it takes processor time to fork, to map and to write.
 */
static struct {
	int count, is_whole; /* Whole: there was room for all. */
	clockid_t clock[MOST_MEMBERS];
	uint64_t ran[MOST_MEMBERS];
	/* Process of the system before the sample, and at the last look; 0: not known. */
	uint64_t newest, newest_seen;
	uint64_t moved_at; /* When it was last known to have run, or to have other processes. */
} members;
static uint64_t socket_bytes = USUAL_SOCKET, pipe_bytes = PIPE_PAGES * 4096;

/* As last sampled; the two cost more than the others, and are sampled less often. */
static struct {
	uint64_t next, memory, unlinked;
	int watches;
} descriptors;
static struct {
	uint64_t next, unlinked;
	int count;
} mappings;

/* ---- reading /proc ---- */

static ssize_t read_file(int at, const char *path, char *room, size_t size)
{
	int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return -1;
	ssize_t length = read(fd, room, size - 1);
	close(fd);
	room[MAX(length, 0)] = 0;
	return length;
}

/* As every line of /proc/[pid]/status begins, so that the process's name cannot pass for one. */
#define RESIDENT "\nVmRSS:"

/* A line of /proc/[pid]/status, in bytes; 0 where there is none. */
static uint64_t status_bytes(const char *status, const char *name)
{
	const char *line = strstr(status, name);
	return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

static char status[STATUS_BYTES]; /* Of the process or thread that is sampled. */

const char *read_status(const char *path)
{
	return read_file(dirfd(processes), path, status, sizeof status) > 0 ? status : NULL;
}

static DIR *open_folder(const char *path)
{
	int fd = openat(dirfd(processes), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder && fd >= 0) close(fd);
	return folder;
}

/* ---- which inodes were counted in this sample: several processes hold the same ---- */

enum kind { SOCKET = 1, PIPE, UNLINKED, MAPPED };

static struct {
	uint64_t inode;
	uint32_t kind, sample;
} counted[INODES];
static uint32_t this_sample;

static int was_counted(enum kind kind, uint64_t inode, int count_it)
{
	size_t at = (inode * 31 + kind) % INODES;
	for (int tries = 0; tries < INODES / 2; tries++, at = (at + 1) % INODES) {
		if (counted[at].sample != this_sample) {
			if (count_it) {
				counted[at].inode = inode;
				counted[at].kind = kind;
				counted[at].sample = this_sample;
			}
			return 0;
		}
		if (counted[at].inode == inode && counted[at].kind == kind) return 1;
	}
	return 0; /* Full: rather counted twice. */
}

/* ---- descriptors ---- */

/* Files that an epoll descriptor watches: a line each in /proc/[pid]/fdinfo/[fd]. */
static void count_watches(const char *process, const char *fd)
{
	char path[96], line[256];
	snprintf(path, sizeof path, "%s/fdinfo/%.16s", process, fd);
	int info = openat(dirfd(processes), path, O_RDONLY | O_CLOEXEC);
	FILE *file = info < 0 ? NULL : fdopen(info, "r");
	if (!file) return;
	while (descriptors.watches <= MOST_WATCHES && fgets(line, sizeof line, file))
		descriptors.watches += !strncmp(line, "tfd:", 4);
	fclose(file);
}

static void count_descriptor(const struct stat *is)
{
	descriptors.memory += DESCRIPTOR_BYTES;
	if (S_ISSOCK(is->st_mode) && !was_counted(SOCKET, is->st_ino, 1))
		descriptors.memory += socket_bytes;
	else if (S_ISFIFO(is->st_mode) && !was_counted(PIPE, is->st_ino, 1))
		descriptors.memory += pipe_bytes;
	else if (S_ISREG(is->st_mode) && !is->st_nlink && !was_counted(UNLINKED, is->st_ino, 1))
		descriptors.unlinked += (uint64_t)is->st_blocks * 512;
}

/* `process` is [pid] or [pid]/task/[tid]. */
static void sample_descriptors(const char *process)
{
	static const char epoll[] = "anon_inode:[eventpoll]";
	char path[64], kind[sizeof epoll];
	struct stat is;
	snprintf(path, sizeof path, "%s/fd", process);
	DIR *folder = open_folder(path);
	if (!folder) return;
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.' || fstatat(dirfd(folder), entry->d_name, &is, 0)) continue;
		count_descriptor(&is);
		if (is.st_mode & S_IFMT) continue;
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, kind, sizeof kind);
		if (length == sizeof epoll - 1 && !memcmp(kind, epoll, sizeof epoll - 1))
			count_watches(process, entry->d_name);
	}
	closedir(folder);
}

/* ---- mappings ---- */

/* Files of the system may have been replaced since: no user can have made those. */
static int is_of_the_system(const char *path)
{
	for (int i = 0; i < opt.readable.count; i++) {
		size_t n = strlen(opt.readable.at[i]);
		if (!strncmp(path, opt.readable.at[i], n) && path[n] == '/') return 1;
	}
	return 0;
}

/*
 * A line of /proc/[pid]/maps: from-to rights offset device inode path, and " (deleted)" after it.
 * How large the file is cannot be seen, only how much of it is mapped. That is all of it where
 * processes share memory so, and then they pass descriptors of it; of processes that cannot do
 * that, each such file counts as large as a file may be.
 */
static void count_mapping(const char *line)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(line);
	unsigned long from, to, offset, inode;
	int path;
	if (length < sizeof deleted || strcmp(line + length - sizeof deleted + 1, deleted)) return;
	if (sscanf(line, "%lx-%lx %*s %lx %*s %lu %n", &from, &to, &offset, &inode, &path) != 4) return;
	if (is_of_the_system(line + path) || was_counted(UNLINKED, inode, 0)) return;
	if (was_counted(MAPPED, inode, 1)) return;
	uint64_t mapped = offset + to - from, most = opt.file_size == NONE ? mapped : opt.file_size;
	mappings.unlinked += may_send_descriptors() ? mapped : MAX(mapped, most);
}

/* Returns how many there are: none where its first thread has ended. */
static int sample_mappings(const char *process)
{
	char path[64];
	int lines = 0;
	static char *line;
	static size_t room;
	snprintf(path, sizeof path, "%s/maps", process);
	int fd = openat(dirfd(processes), path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) return 0;
	for (ssize_t length; mappings.count <= MOST_MAPPINGS; lines++, mappings.count++) {
		if ((length = getline(&line, &room, file)) <= 0) break;
		if (line[length - 1] == '\n') line[length - 1] = 0;
		count_mapping(line);
	}
	fclose(file);
	return lines;
}

/* ---- a process, and all of them ---- */

/* Where the first thread has ended its /proc/[pid] is empty, and a living one's is not. */
static int find_living_thread(pid_t pid, char *process, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "%d/task", pid);
	DIR *threads = open_folder(path);
	if (!threads) return 0;
	int found = 0;
	for (struct dirent *entry; !found && (entry = readdir(threads));) {
		if (entry->d_name[0] == '.') continue;
		snprintf(process, size, "%d/task/%.16s", pid, entry->d_name);
		snprintf(path, sizeof path, "%s/status", process);
		found = read_file(dirfd(processes), path, status, sizeof status) > 0 &&
		        strstr(status, RESIDENT);
	}
	closedir(threads);
	return found;
}

/* Adds its memory and threads, and names it in `process` for what follows. Returns its ticks. */
static uint64_t sample_process(pid_t pid, char *process, size_t size)
{
	char path[64], line[1024];
	unsigned long user, system, childrens_user, childrens_system, threads;
	snprintf(path, sizeof path, "%d/stat", pid);
	ssize_t read = read_file(dirfd(processes), path, line, sizeof line);
	char *after = read > 0 ? strrchr(line, ')') : NULL;
	/* proc(5): state to flags, four faults, utime to cstime, priority, nice, num_threads. */
	const char *fields = " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu %lu %lu %*s %*s %lu";
	if (!after || sscanf(after + 1, fields, &user, &system, &childrens_user, &childrens_system,
	                     &threads) != 5)
		return 0;
	usage.tasks += threads;
	snprintf(process, size, "%d", pid);
	snprintf(path, sizeof path, "%d/status", pid);
	ssize_t length = read_file(dirfd(processes), path, status, sizeof status);
	if (threads > 1 && (length < 0 || !strstr(status, RESIDENT)))
		length = find_living_thread(pid, process, size) ? 1 : -1;
	if (length > 0)
		usage.memory += status_bytes(status, RESIDENT) + status_bytes(status, "\nVmPTE:") +
		                status_bytes(status, "\nVmSwap:");
	return user + system + childrens_user + childrens_system;
}

/* Whether all of its threads have ended, and it waits for its parent to take note. */
int is_zombie(pid_t pid)
{
	char path[64], line[1024], state;
	unsigned long threads;
	snprintf(path, sizeof path, "%d/stat", pid);
	char *after = read_file(dirfd(processes), path, line, sizeof line) > 0 ? strrchr(line, ')') : 0;
	/* proc(5): ppid to nice are between. */
	const char *fields = " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu";
	if (!after || sscanf(after + 1, fields, &state, &threads) != 2) return 1;
	return (state == 'Z' || state == 'X') && threads <= 1;
}

uint64_t reaped_cpu_ms(void)
{
	struct rusage all;
	getrusage(RUSAGE_CHILDREN, &all);
	usage.peak = MAX(usage.peak, (uint64_t)all.ru_maxrss * 1024);
	return (uint64_t)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(all.ru_utime.tv_usec + all.ru_stime.tv_usec) / 1000;
}

/* After all descriptors, so that what these hold is not counted again. */
static void sample_all_mappings(pid_t group)
{
	char process[48];
	rewinddir(processes);
	for (struct dirent *entry; (entry = readdir(processes));) {
		pid_t pid = atoi(entry->d_name);
		if (pid <= 0 || getpgid(pid) != group) continue;
		snprintf(process, sizeof process, "%d", pid);
		if (!sample_mappings(process) &&
		    find_living_thread(pid, process, sizeof process))
			sample_mappings(process);
	}
}

static uint64_t pause_after(uint64_t took_ms)
{
	return MIN(LONGEST_MS, MAX(SHORTEST_MS, SHARE * took_ms));
}

/* ---- whether it runs ---- */

/* Processor time of all its threads, as exact as the kernel knows it; NONE: it has ended. */
static uint64_t time_run(clockid_t clock)
{
	struct timespec ran;
	if (clock_gettime(clock, &ran)) return NONE;
	return (uint64_t)ran.tv_sec * 1000000000 + (uint64_t)ran.tv_nsec;
}

/* The number of the last process or thread that began anywhere (proc(5), loadavg). */
static uint64_t newest_process(void)
{
	char text[128];
	if (read_file(dirfd(processes), "loadavg", text, sizeof text) <= 0) return 0;
	const char *last = strrchr(text, ' ');
	return last ? strtoull(last, NULL, 10) : 0;
}

/* Whether a process or thread of the tree has begun after that number; a machine starts others. */
static int has_begun(pid_t group, uint64_t after, uint64_t newest)
{
	if (!after || newest < after || newest - after > MOST_BEGUN) return 1;
	for (uint64_t pid = after + 1; pid <= newest; pid++)
		if (getpgid((pid_t)pid) == group) return 1;
	return 0;
}

/*
 * Whether it has run, or has other processes, so that a sample is due. A browser's timers are no
 * reason: what runs so little and starts nothing cannot take much.
 */
static int has_moved(pid_t group, uint64_t ran, uint64_t newest)
{
	return ran > LITTLE_NS || (ran && has_begun(group, members.newest, newest));
}

/* Returns what it has run since the last sample, NONE where it was not part of that, or ended. */
static uint64_t note_member(pid_t pid, int at)
{
	clockid_t clock = 0;
	if (at >= MOST_MEMBERS || clock_getcpuclockid(pid, &clock)) {
		members.is_whole = 0;
		return NONE;
	}
	uint64_t ran = time_run(clock), before = members.ran[at];
	int is_known = at < members.count && members.clock[at] == clock && before <= ran;
	members.clock[at] = clock;
	members.ran[at] = ran;
	return is_known ? ran - before : NONE;
}

/*
 * A process that was forked while /proc was read is missing from that sample, and newer than what
 * was noted before it: the tree has moved, and several samples in a row have to agree on rest.
 */
int is_at_rest(pid_t group)
{
	uint64_t ran = 0;
	if (!members.is_whole || now_ms() < members.moved_at + REST_MS) return 0;
	for (int at = 0; at < members.count; at++) {
		uint64_t now = time_run(members.clock[at]);
		if (now == NONE || now < members.ran[at]) return 0;
		ran += now - members.ran[at];
	}
	uint64_t newest = ran ? newest_process() : 0;
	if (ran && has_moved(group, ran, newest)) return 0;
	/* One that is about to begin has its number already: each is looked for twice. */
	if (ran) members.newest = members.newest_seen, members.newest_seen = newest;
	return 1;
}

/* setsid and setpgid are refused, so the tree is one process group. */
void sample_usage(pid_t group)
{
	uint64_t ticks = 0, started = now_ms(), by_kernel = cgroup_memory();
	int at_mappings = started >= mappings.next;
	/* Before mappings, so that what descriptors hold is not counted again. */
	int at_descriptors = at_mappings || started >= descriptors.next;
	usage.tasks = usage.memory = 0;
	this_sample++;
	if (at_descriptors) descriptors.memory = descriptors.unlinked = 0, descriptors.watches = 0;
	if (at_mappings) mappings.unlinked = 0, mappings.count = 0;
	rewinddir(processes);
	members.is_whole = 1;
	uint64_t newest = newest_process(), ran = 0;
	int count = 0;
	for (struct dirent *entry; (entry = readdir(processes));) {
		char process[48] = "";
		pid_t pid = atoi(entry->d_name);
		if (pid <= 0 || getpgid(pid) != group) continue;
		uint64_t has_run = note_member(pid, count++);
		ran = has_run == NONE ? NONE / 2 : MIN(ran + has_run, NONE / 2);
		ticks += sample_process(pid, process, sizeof process);
		if (at_descriptors && *process) sample_descriptors(process);
	}
	if (count != members.count || has_moved(group, ran, newest_process()))
		members.moved_at = now_ms();
	members.count = MIN(count, MOST_MEMBERS);
	members.newest = members.newest_seen = newest;
	uint64_t now = now_ms();
	if (at_descriptors) descriptors.next = now + pause_after(now - started);
	if (at_mappings) {
		sample_all_mappings(group);
		mappings.next = now_ms() + pause_after(now_ms() - now);
	}
	usage.cpu_ms = reaped_cpu_ms() + ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
	usage.memory += descriptors.memory + usage.tasks * TASK_BYTES +
	                (uint64_t)mappings.count * MAPPING_BYTES +
	                (uint64_t)descriptors.watches * WATCH_BYTES;
	usage.too_many = mappings.count > MOST_MAPPINGS || descriptors.watches > MOST_WATCHES;
	usage.unlinked = descriptors.unlinked + mappings.unlinked;
	usage.sampled_at = now_ms();
	if (by_kernel != NONE) usage.memory = by_kernel;
	usage.peak = MAX(usage.peak, usage.memory);
}

void for_each_thread(pid_t group, void (*visit)(pid_t process, pid_t thread))
{
	char path[64];
	rewinddir(processes);
	for (struct dirent *entry; (entry = readdir(processes));) {
		pid_t pid = atoi(entry->d_name);
		if (pid <= 0 || getpgid(pid) != group) continue;
		snprintf(path, sizeof path, "%d/task", pid);
		DIR *threads = open_folder(path);
		if (!threads) continue;
		for (struct dirent *thread; (thread = readdir(threads));)
			if (atoi(thread->d_name) > 0) visit(pid, atoi(thread->d_name));
		closedir(threads);
	}
}

/* Before the change of user and the confinement. */
void prepare_usage(void)
{
	char text[32];
	processes = opendir("/proc");
	if (!processes) fail(errno, "cannot open /proc");
	if (read_file(dirfd(processes), "sys/net/core/wmem_default", text, sizeof text) > 0)
		socket_bytes = MAX(strtoull(text, NULL, 10), 4096);
	if (opt.unix_sockets) socket_bytes *= BACKLOG;
	pipe_bytes = PIPE_PAGES * (uint64_t)sysconf(_SC_PAGESIZE);
}
