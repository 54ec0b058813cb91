/*
 * Stands in for Chromium, as a browser one of whose renderers has been taken over by its page.
 *
 *   taken-over-renderer CHILD    the browser: starts two renderers by the program CHILD, as Chromium does. CHILD runs this
 *                                program again, with --type=renderer.
 *
 * The first renderer waits. The second tries to reach the browser, the first one, and the files of both. What it could do
 * goes to standard output, a line for each: NAME yes, or NAME and an errno.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...)
{
	char *made;
	va_list values;
	va_start(values, format);
	if (vasprintf(&made, format, values) < 0) abort();
	va_end(values);
	return made;
}

static void told(const char *name, int could)
{
	printf("%s %s\n", name, could ? "yes" : strerrorname_np(errno));
	fflush(stdout);
}

static int may_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd >= 0) close(fd);
	return fd >= 0;
}

/* ---- the renderer: other processes ---- */

/* To open a file of a process, or to learn where it leads. */
static int may_follow(pid_t pid, const char *name)
{
	char *path = text("/proc/%d/%s", pid, name), found[256];
	if (may_open(path, O_RDONLY)) return 1;
	int error = errno, leads = readlink(path, found, sizeof found) > 0;
	/* It is no link. */
	if (errno == EINVAL) errno = error;
	return leads;
}

static int may_reach_memory(pid_t pid, long call)
{
	/* Nothing is mapped there: who is told so was let through. */
	struct iovec here = { &(char){ 0 }, 1 }, there = { (void *)(uintptr_t)4096, 1 };
	return syscall(call, pid, &here, 1, &there, 1, 0) == 1 || errno == EFAULT;
}

static void reach_process(const char *who, pid_t pid)
{
	cpu_set_t every;
	memset(&every, 0xff, sizeof every);
#define TRY(what, could) told(text("%s %s", who, what), could)
	TRY("signal", !kill(pid, 0));
	TRY("signal-thread", !syscall(SYS_tkill, pid, 0));
	TRY("signal-thread-of", !syscall(SYS_tgkill, pid, pid, 0));
	TRY("signal-queued", !sigqueue(pid, 0, (union sigval){ 0 }));
	TRY("handle", syscall(SYS_pidfd_open, pid, 0) >= 0);
	TRY("trace", !ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	TRY("memory-read", may_reach_memory(pid, SYS_process_vm_readv));
	TRY("memory-written", may_reach_memory(pid, SYS_process_vm_writev));
	TRY("compared", syscall(SYS_kcmp, pid, getpid(), 1, 0, 0) >= 0);
	TRY("limits", !prlimit(pid, RLIMIT_CORE, NULL, &(struct rlimit){ 0 }));
	TRY("priority", !setpriority(PRIO_PROCESS, (id_t)pid, 19));
	TRY("affinity", !sched_setaffinity(pid, sizeof every, &every));
	const char *const files[] = { "mem", "maps", "environ", "cmdline", "status", "fd/1", "exe", "cwd", "root/etc/localtime" };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) TRY(files[i], may_follow(pid, files[i]));
}

/* ---- the renderer: files ---- */

static int may_list(const char *path)
{
	DIR *folder = opendir(path);
	int found = folder && readdir(folder);
	if (folder) closedir(folder);
	return found;
}

static void reach_files(const char *home, const char *other, const char *own)
{
	const struct {
		const char *name, *folder, *file;
	} files[] = { { "job", text("%s/job", home), "input.html" }, { "profile", text("%s/profile", home), "Cookies" }, { "other", other, "shared" } };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		told(text("%s listed", files[i].name), may_list(files[i].folder));
		told(text("%s read", files[i].name), may_open(text("%s/%s", files[i].folder, files[i].file), O_RDONLY));
		told(text("%s changed", files[i].name), may_open(text("%s/%s", files[i].folder, files[i].file), O_WRONLY));
		told(text("%s added", files[i].name), may_open(text("%s/left", files[i].folder), O_WRONLY | O_CREAT));
		told(text("%s removed", files[i].name), !unlink(text("%s/%s", files[i].folder, files[i].file)));
	}
	told("home listed", may_list(home));
	told("home added", may_open(text("%s/left", home), O_WRONLY | O_CREAT));
	told("settings read", may_open("/etc/passwd", O_RDONLY));
	told("processes listed", may_list("/proc"));
	told("tmp added", may_open("/tmp/filemill-left", O_WRONLY | O_CREAT));
	told("own added", may_open(text("%s/left", own), O_RDWR | O_CREAT));
	told("own moved", !rename(text("%s/left", own), text("%s/moved", home)));
}

static const char *option(char **words, const char *name)
{
	for (; *words; words++)
		if (!strncmp(*words, name, strlen(name))) return *words + strlen(name);
	return NULL;
}

static int be_renderer(char **words)
{
	const char *own = getenv("TMPDIR"), *home = option(words, "--home="), *other = option(words, "--other=");
	if (!other) {
		if (!may_open(text("%s/shared", own), O_WRONLY | O_CREAT)) return 1;
		for (;;) pause();
	}
	reach_process("browser", getppid());
	reach_process("other", atoi(option(words, "--pid=")));
	told("signal-all", !kill(-1, 0));
	told("signal-group", !kill(0, 0));
	told("signal-itself", !kill(getpid(), 0));
	reach_files(home, other, own);
	pid_t forked = fork();
	if (!forked) for (;;) pause();
	told("fork", forked > 0);
	told("socket", socket(AF_INET, SOCK_STREAM, 0) >= 0);
	told("filter", !syscall(SYS_seccomp, 1, 0, NULL) || errno == EFAULT);
	return 0;
}

/* ---- the browser ---- */

static void make(const char *folder, const char *file)
{
	if (mkdir(folder, 0700) || !may_open(text("%s/%s", folder, file), O_WRONLY | O_CREAT)) abort();
}

static pid_t start(const char *child, char **words)
{
	pid_t pid = fork();
	if (pid) return pid;
	execv(child, words);
	perror(child);
	_exit(1);
}

/* Of the first renderer, once it has a file there. Where CHILD made none, the folder of all. */
static char *folder_of(pid_t pid, const char *home)
{
	char *wanted = text("renderer-%d-", pid);
	for (int tries = 0; tries < 1000; tries++, usleep(10000)) {
		char *path = text("%s", home);
		DIR *folder = opendir(home);
		for (struct dirent *entry; folder && (entry = readdir(folder));)
			if (!strncmp(entry->d_name, wanted, strlen(wanted))) path = text("%s/%s", home, entry->d_name);
		if (folder) closedir(folder);
		if (!access(text("%s/shared", path), F_OK)) return path;
	}
	abort();
}

int main(int count, char **words)
{
	char is_renderer[] = "--type=renderer", *home = getenv("HOME");
	if (option(words, is_renderer)) return be_renderer(words);
	if (count < 2 || !home) return 1;
	make(text("%s/job", home), "input.html");
	make(text("%s/profile", home), "Cookies");
	pid_t first = start(words[1], (char *[]){ words[1], is_renderer, NULL });
	char *other = text("--other=%s", folder_of(first, home));
	char *asked[] = { words[1], is_renderer, text("--home=%s", home), other, text("--pid=%d", first), NULL };
	int status;
	pid_t second = start(words[1], asked);
	if (waitpid(second, &status, 0) != second) return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
