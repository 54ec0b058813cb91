/*
 * Folders: what lies in the places that the tree may write.
 *
 * Stops: a tree that fills the disk, with large files or with many, also one that sees by access
 * times where the count is, and renames its data behind it.
 *
 * A count is true if no folder changed from its begin to its end: whatever is renamed, linked or
 * removed changes the folder that it was in, and no program can set that time back. Two counts in a
 * row that are not true have the tree stopped for the next. A tree that goes on all the same (it
 * can have timers send it SIGCONT) is ended.
 *
 * Needs: any kernel, and /proc. Times of change are as exact as the kernel's tick (4 ms; finer from
 * 6.13); a folder that changed in the tick in which the count began is taken for changed.
 */
#include "launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	LOOK_MS = 500,      /* Between two counts, */
	SHARE = 4,          /* and at least this many times what the last one took. */
	SMALLEST = 4096,    /* Of a file, however empty: it has an inode and a name. */
	DEEPEST = 128,      /* Folders within folders; each is held open meanwhile. */
	STOP_MS = 500,      /* For a tree to stop. */
	TRUST = 2,          /* Counts in a row that may be untrue before the tree is stopped, */
	PATIENCE = 5,       /* and before it is ended. */
	MOST_THREADS = 4096,
};

/* ---- counting ---- */

struct look {
	struct timespec began;
	uint64_t bytes, most, took_ms;
	int changed; /* Some names may have been counted nowhere. */
};

static int is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static void count_folder(struct look *look, int at, const char *name, int depth);

static void count_entry(struct look *look, int folder, const char *name, int depth)
{
	struct stat is;
	/* Gone: then its folder has changed. */
	if (fstatat(folder, name, &is, AT_SYMLINK_NOFOLLOW)) return;
	look->bytes += MAX((uint64_t)is.st_blocks * 512, SMALLEST);
	/* What others closed to us they closed to the program too. */
	if (!S_ISDIR(is.st_mode) || (is.st_uid != geteuid() && faccessat(folder, name, R_OK, 0)))
		return;
	count_folder(look, folder, name, depth + 1);
}

static void count_folder(struct look *look, int at, const char *name, int depth)
{
	struct stat is;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder && errno != ENOENT && errno != ENOTDIR) look->bytes = NONE;
	if (!folder && fd >= 0) close(fd);
	if (!folder) return;
	if (depth > DEEPEST) look->bytes = NONE;
	for (struct dirent *entry; look->bytes <= look->most && (entry = readdir(folder));)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			count_entry(look, fd, entry->d_name, depth);
	/* After all that lies below, so that nothing went from there to where we were already. */
	if (fstat(fd, &is) || !is_before(&is.st_ctim, &look->began)) look->changed = 1;
	closedir(folder);
}

/* Ends early above `most` bytes. */
static struct look count_places(uint64_t most)
{
	struct look look = { .most = most };
	struct stat is;
	uint64_t began = now_ms();
	clock_gettime(CLOCK_REALTIME_COARSE, &look.began);
	for (int i = 0; i < opt.writable.count; i++)
		if (!fstat(open_place_fd(i), &is) && S_ISDIR(is.st_mode))
			count_folder(&look, open_place_fd(i), ".", 0);
	look.took_ms = now_ms() - began;
	return look;
}

/* ---- stopping the tree ---- */

struct thread {
	pid_t process, id;
	uint64_t switches; /* How often it gave up a processor: unchanged while it is stopped. */
	char state;
};

/* Returns 0 where it has ended. */
static int read_thread(struct thread *thread)
{
	static const char *const counts[] = { "\nvoluntary_ctxt_switches:",
	                                      "\nnonvoluntary_ctxt_switches:" };
	char path[64];
	snprintf(path, sizeof path, "%d/task/%d/status", thread->process, thread->id);
	const char *status = read_status(path), *line = status ? strstr(status, "\nState:") : NULL;
	if (!line || sscanf(line, "\nState: %c", &thread->state) != 1) return 0;
	thread->switches = 0;
	for (size_t i = 0; i < COUNT(counts); i++)
		if ((line = strstr(status, counts[i])))
			thread->switches += strtoull(line + strlen(counts[i]), NULL, 10);
	return 1;
}

static struct thread threads[MOST_THREADS];
static int thread_count;

static void note_thread(pid_t process, pid_t id)
{
	if (thread_count == MOST_THREADS) return;
	threads[thread_count] = (struct thread){ .process = process, .id = id };
	thread_count += read_thread(&threads[thread_count]);
}

/* Uninterruptible (D), it is in the middle of one call, and stops after that. */
static int is_still(const struct thread *thread) { return !!strchr("TtDZX", thread->state); }

static int all_are_still(pid_t group)
{
	thread_count = 0;
	for_each_thread(group, note_thread);
	for (int i = 0; i < thread_count; i++)
		if (!is_still(&threads[i])) return 0;
	return thread_count < MOST_THREADS;
}

/* Whether one that was stopped has run: only itself could have made it. */
static int any_has_run(void)
{
	for (int i = 0; i < thread_count; i++) {
		struct thread now = threads[i];
		if (threads[i].state == 'T' && read_thread(&now) && now.switches != threads[i].switches)
			return 1;
	}
	return 0;
}

static struct look count_stopped(pid_t group, uint64_t most)
{
	uint64_t until = now_ms() + STOP_MS;
	int still;
	/* Again and again: one that was late to stop may have had another go on. */
	do {
		kill(-group, SIGSTOP);
		usleep(1000);
		still = all_are_still(group);
	} while (!still && now_ms() < until);
	struct look look = count_places(most);
	look.changed = !still || any_has_run();
	kill(-group, SIGCONT);
	return look;
}

/* ---- when ---- */

static uint64_t next_look;
static int untrue; /* Counts in a row. */

int is_disk_exceeded(pid_t group)
{
	uint64_t unlinked = usage.unlinked;
	if (opt.disk == NONE) return 0;
	if (unlinked > opt.disk) return 1;
	if (now_ms() < next_look) return 0;
	int stopped = untrue >= TRUST;
	struct look look = stopped ? count_stopped(group, opt.disk - unlinked)
	                           : count_places(opt.disk - unlinked);
	untrue = look.changed ? untrue + 1 : 0;
	/* What is renamed ahead of a count is counted twice: such a count is no proof either. */
	int fuller = look.bytes > opt.disk - unlinked;
	if (fuller && look.changed && !stopped && look.bytes != NONE) {
		untrue = MAX(untrue, TRUST);
		fuller = 0;
	}
	uint64_t pause = look.changed ? 0 : LOOK_MS;
	next_look = now_ms() + MAX(pause, SHARE * look.took_ms);
	return fuller || untrue >= PATIENCE;
}

int is_disk_exceeded_at_end(void)
{
	return opt.disk != NONE && count_places(opt.disk).bytes > opt.disk;
}
