/*
 * Files, by Landlock. (Linux 5.13; each right names the ABI that it needs.)
 *
 * Stops: reading or writing anything outside the places given by --rw and --ro, also through links,
 * /proc/self/root, and descriptors of folders; executing what was written; links, FIFOs and devices
 * that whoever collects the output could follow or hang on. From ABI 4 (Linux 6.7) also TCP beside
 * the filter's own refusal, from ABI 6 (Linux 6.12) signals and abstract sockets to other programs.
 *
 * The constants are ours: headers are older than kernels.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
};

enum { BIND_AND_CONNECT_TCP = 3 /* ABI 4 */, ABSTRACT_SOCKETS_AND_SIGNALS = 3 /* ABI 6 */ };

static uint64_t handled;
static int ruleset = -1;

/* Returns the descriptor of the place, or -1 where it does not exist. */
static int allow(const char *path, uint64_t rights)
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

/* These name the program itself only once it is there. */
static int is_of_self(const char *path) { return !strncmp(path, "/proc/self", 10); }

static void make_ruleset(int abi)
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
	ruleset = syscall(__NR_landlock_create_ruleset, &all, known, 0);
	if (ruleset < 0) fail(errno, "cannot make a Landlock ruleset");
}

/* Before the change of user, who may not pass through every folder above. */
void prepare_landlock(int abi)
{
	if (abi)
		make_ruleset(abi);
	else if (!opt.without_landlock)
		fail(0, "this kernel has no Landlock to confine files; "
		        "enable it (lsm=landlock) or say --without-landlock");
	for (int i = 0; i < opt.rws; i++) {
		opt.rw_fd[i] = allow(opt.rw[i], READ_WRITE | (opt.unix_sockets ? MAKE_SOCK : 0));
		if (opt.rw_fd[i] < 0) fail(errno, "cannot open %s", opt.rw[i]);
	}
	for (int i = 0; i < opt.ros; i++)
		if (!is_of_self(opt.ro[i])) close(allow(opt.ro[i], READ_ONLY));
}

/*
 * In the child. What was opened of /proc/self stays open in the supervisor, whose descriptors are
 * ours: the kernel forgets inodes of /proc that nobody holds, and the rules with them.
 */
void restrict_files(void)
{
	for (int i = 0; i < opt.ros; i++)
		if (is_of_self(opt.ro[i])) allow(opt.ro[i], READ_ONLY);
	if (ruleset >= 0 && syscall(__NR_landlock_restrict_self, ruleset, 0))
		fail(errno, "cannot restrict with Landlock");
}

/* The index of the writable place that is or holds `path`, or -1. */
int place_of(const char *path)
{
	for (int i = 0; i < opt.rws; i++) {
		size_t n = strlen(opt.rw[i]);
		if (!strncmp(path, opt.rw[i], n) && (path[n] == '/' || !path[n])) return i;
	}
	return -1;
}
