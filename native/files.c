/*
 * Files: Landlock, and the file calls that Landlock leaves open.
 *
 * Stops: reading or writing anything outside the places given by --rw and --ro, but for the devices
 * given by --device, also through links, /proc/self/root, and descriptors of folders; executing
 * what was written; links, FIFOs and devices that the collector of the output could follow or hang
 * on; files that no measurement of the folder finds. Landlock's ruleset also refuses TCP a second
 * time, and signals and abstract sockets to programs outside.
 *
 * Needs: Linux 5.13 (ABI 1); each right names its ABI. Without Landlock the launcher refuses to
 * start unless told --without-landlock, and files are then not confined. ABI 2 (5.19) renames
 * between folders, refused below; ABI 3 (6.2) truncation, refused by seccomp below; ABI 4 (6.7) TCP
 * by port, by seccomp alone below; ABI 5 (6.10) controls of devices, which seccomp refuses too;
 * ABI 6 (6.12) signals and abstract sockets, refused by seccomp below.
 *
 * The constants of Landlock are ours: headers are older than kernels.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

enum {
	EXECUTE = 1 << 0,
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5,
	MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9,
	ABI_1 = (1 << 13) - 1,
	REFER = 1 << 13,     /* ABI 2: renaming and linking between folders */
	TRUNCATE = 1 << 14,  /* ABI 3 */
	IOCTL_DEV = 1 << 15, /* ABI 5: controls of devices */

	FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
	READ_ONLY = EXECUTE | READ_FILE | READ_DIR,
	/* No symlinks, FIFOs or devices, and nothing written can be executed. */
	READ_WRITE = WRITE_FILE | READ_FILE | READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR |
	             MAKE_REG | REFER | TRUNCATE,
	DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV,
};

enum { BIND_AND_CONNECT_TCP = 3 /* ABI 4 */, ABSTRACT_SOCKETS_AND_SIGNALS = 3 /* ABI 6 */ };

/* ---- Landlock ---- */

static uint64_t handled;
static int ruleset = -1;
static int place_fds[MAX_VALUES]; /* Each --rw place, held open. */

/* Returns the descriptor of the place, or -1 where it does not exist. */
static int add_rule(const char *path, uint64_t rights)
{
	struct stat is;
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &is)) return -1;
	if (!S_ISDIR(is.st_mode)) rights &= FOR_FILES;
	struct {
		uint64_t allowed;
		int32_t fd;
	} __attribute__((packed)) rule = { rights & handled, fd };
	if (ruleset >= 0 && syscall(__NR_landlock_add_rule, ruleset, 1 /* PATH_BENEATH */, &rule, 0))
		fail(errno, "cannot allow %s", path);
	return fd;
}

/* A mistaken name must not open an ordinary file for writing, or a disk. */
static void add_device(const char *path)
{
	struct stat is;
	int fd = add_rule(path, DEVICE);
	if (fd < 0) fail(errno, "cannot open %s", path);
	if (fstat(fd, &is) || !S_ISCHR(is.st_mode)) fail(0, "%s is no character device", path);
	close(fd);
}

/* These name the program itself only once it is there. */
static int is_of_self(const char *path) { return !strncmp(path, "/proc/self", 10); }

static void create_ruleset(int abi)
{
	handled = ABI_1;
	if (abi >= 2) handled |= REFER;
	if (abi >= 3) handled |= TRUNCATE;
	if (abi >= 5) handled |= IOCTL_DEV;
	struct {
		uint64_t fs, net, scoped;
	} all = {
		handled,
		abi >= 4 ? BIND_AND_CONNECT_TCP : 0,
		abi >= 6 ? ABSTRACT_SOCKETS_AND_SIGNALS : 0,
	};
	size_t known = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	ruleset = (int)syscall(__NR_landlock_create_ruleset, &all, known, 0);
	if (ruleset < 0) fail(errno, "cannot make a Landlock ruleset");
}

/* Before the change of user, who may not pass through every folder above. */
void prepare_landlock(int abi)
{
	if (abi)
		create_ruleset(abi);
	else if (!opt.without_landlock)
		fail(0, "this kernel has no Landlock to confine files; "
		        "enable it (lsm=landlock) or say --without-landlock");
	const uint64_t rights = READ_WRITE | (opt.unix_sockets ? MAKE_SOCK : 0);
	for (int i = 0; i < opt.writable.count; i++) {
		place_fds[i] = add_rule(opt.writable.at[i], rights);
		if (place_fds[i] < 0) fail(errno, "cannot open %s", opt.writable.at[i]);
	}
	for (int i = 0; i < opt.readable.count; i++)
		if (!is_of_self(opt.readable.at[i])) close(add_rule(opt.readable.at[i], READ_ONLY));
	for (int i = 0; i < opt.devices.count; i++) add_device(opt.devices.at[i]);
}

/*
 * What was opened of /proc/self stays open in the supervisor, whose descriptors are ours: the
 * kernel forgets inodes of /proc that no process holds, and the rules with them.
 */
void restrict_with_landlock(void)
{
	for (int i = 0; i < opt.readable.count; i++)
		if (is_of_self(opt.readable.at[i])) add_rule(opt.readable.at[i], READ_ONLY);
	/* NVIDIA's driver (570) names its threads, and gives up where it may not. */
	if (opt.devices.count) add_rule("/proc/self/task", READ_FILE | WRITE_FILE);
	if (ruleset >= 0 && syscall(__NR_landlock_restrict_self, ruleset, 0))
		fail(errno, "cannot restrict with Landlock");
}

int find_writable_place(const char *path)
{
	for (int i = 0; i < opt.writable.count; i++) {
		size_t n = strlen(opt.writable.at[i]);
		if (!strncmp(path, opt.writable.at[i], n) && (path[n] == '/' || !path[n])) return i;
	}
	return -1;
}

int open_place_fd(int place) { return place_fds[place]; }

/* ---- seccomp: what Landlock leaves open ---- */

enum { TMPFILE = 020000000 /* O_TMPFILE without O_DIRECTORY */ };

static const struct rule rules[] = {
	/* A file that never had a name is in no measurement of the folder. */
	RULE(ALWAYS, openat, IF, 2, TMPFILE, TMPFILE, DENY(EOPNOTSUPP)),
	X86_ONLY(RULE(ALWAYS, open, IF, 1, TMPFILE, TMPFILE, DENY(EOPNOTSUPP)),)
	/* Access mode 3 opens for neither reading nor writing, so Landlock asks for no right. */
	RULE(ALWAYS, openat, IF, 2, O_ACCMODE, O_ACCMODE, DENY(EPERM)),
	X86_ONLY(RULE(ALWAYS, open, IF, 1, O_ACCMODE, O_ACCMODE, DENY(EPERM)),)
	/* Truncation, by path or by opening without the right to write. */
	ANY(LANDLOCK_BELOW_3, truncate, DENY(EPERM)),
	RULE(LANDLOCK_BELOW_3, openat, IF, 2, O_ACCMODE | O_TRUNC, O_TRUNC, DENY(EPERM)),
	X86_ONLY(RULE(LANDLOCK_BELOW_3, open, IF, 1, O_ACCMODE | O_TRUNC, O_TRUNC, DENY(EPERM)),)
	/* A folder that its owner cannot enter could not be measured or removed. */
	RULE(ALWAYS, mkdirat, UNLESS, 2, 0700, 0700, DENY(EPERM)),
	X86_ONLY(RULE(ALWAYS, mkdir, UNLESS, 1, 0700, 0700, DENY(EPERM)),)
	/* Landlock does not govern access(2). LibreOffice takes /tmp for its sockets if it can. */
	RULE(WITH_UNIX, faccessat, IF, 2, W_OK, W_OK, ASK),
	X86_ONLY(RULE(WITH_UNIX, access, IF, 1, W_OK, W_OK, ASK),)
	/* Pipes of a megabyte. */
	VALUE(fcntl, 1, 1031 /* F_SETPIPE_SZ */, DENY(EPERM)),
	/*
	 * Locks of parts of a file have no limit in number, and are in no count, not even a cgroup's.
	 * A converter has its folder to itself. flock(2) remains: one for each open file.
	 */
	VALUE(fcntl, 1, F_SETLK, PRETEND_DONE),
	VALUE(fcntl, 1, F_SETLKW, PRETEND_DONE),
	VALUE(fcntl, 1, F_OFD_SETLK, PRETEND_DONE),
	VALUE(fcntl, 1, F_OFD_SETLKW, PRETEND_DONE),
	/* They stop others who open; notices of folders. */
	VALUE(fcntl, 1, F_SETLEASE, DENY(EPERM)),
	VALUE(fcntl, 1, F_NOTIFY, DENY(EPERM)),
	/* Signals that the kernel sends because of a descriptor. */
	RULE(LANDLOCK_BELOW_6, fcntl, IF, 1, ALL_BITS, F_SETOWN, DENY(EPERM)),
	RULE(LANDLOCK_BELOW_6, fcntl, IF, 1, ALL_BITS, F_SETSIG, DENY(EPERM)),
	RULE(LANDLOCK_BELOW_6, fcntl, IF, 1, ALL_BITS, F_SETOWN_EX, DENY(EPERM)),
	/* Is it a terminal, how much is there to read, do not block, clone this file: no more. */
	VALUE(ioctl, 1, TCGETS, PERMIT),
	VALUE(ioctl, 1, TIOCGWINSZ, PERMIT),
	VALUE(ioctl, 1, TIOCGPGRP, PERMIT),
	VALUE(ioctl, 1, FIONREAD, PERMIT),
	VALUE(ioctl, 1, FIONBIO, PERMIT),
	VALUE(ioctl, 1, FIOCLEX, PERMIT),
	VALUE(ioctl, 1, FIONCLEX, PERMIT),
	VALUE(ioctl, 1, FICLONE, PERMIT),
	VALUE(ioctl, 1, FICLONERANGE, PERMIT),
	ANY(ALWAYS, ioctl, DENY(ENOTTY)),
};
const struct rules file_rules = { rules, COUNT(rules) };

/* For programs that ask before they choose a folder: no more than good advice. */
int check_access(const struct seccomp_notif *call)
{
	char path[4097] = "";
	read_caller(call, call->data.args[call->data.nr == __NR_faccessat], path, sizeof path - 1);
	return path[0] == '/' && find_writable_place(path) < 0 ? EACCES : 0;
}
