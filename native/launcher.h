/* What the parts of the launcher share. Each .c file is one, with the attacks that it stops. */
#ifndef LAUNCHER_H
#define LAUNCHER_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define NONE UINT64_MAX /* No limit, or not given. */

enum {
	MOST = 256,        /* Of each option that may be given more than once. */
	OWN_FAILURE = 125, /* Exit code: the program could not be confined. */
};

/* As on the command line; see `options` in launcher.c. Bytes, seconds where _s, ms where _ms. */
struct options {
	const char *rw[MOST], *ro[MOST], *env[MOST], *cwd[MOST], *calls[MOST];
	int rws, ros, envs, cwds, callss;
	int unix_sockets, without_landlock, check, record;
	int rw_fd[MOST]; /* Filled by prepare_landlock: each place of `rw`, held open. */
	uint64_t uid, data, memory, disk, cpu_s, file_size, tasks, files, wall_ms;
	uint64_t report, landlock, parent, tcp;
};
extern struct options opt;

/* launcher.c */
_Noreturn void fail(int cause, const char *sentence, ...) __attribute__((format(printf, 2, 3)));
uint64_t now_ms(void);

/* files.c */
void prepare_landlock(int abi);
void restrict_files(void);
int place_of(const char *path);

/* calls.c */
int confine_calls(int abi);
const char *name_of_call(int number);
int may_pass_descriptors(void);

/* limits.c */
void drop_privilege(void);
void set_limits(void);

/* usage.c */
struct usage {
	uint64_t tasks;    /* Processes and threads. */
	uint64_t memory;   /* Bytes; of sockets and pipes what they may hold. */
	uint64_t unlinked; /* Bytes of files that have no name any more. */
	uint64_t peak;     /* Of memory. */
	uint64_t cpu_ms, at;
};
extern struct usage seen;
void prepare_usage(void);
void look(pid_t group);
uint64_t ms_of_reaped(void);

/* stand-in.c */
void answer(int listener, pid_t group);

/* supervisor.c */
void prepare_signals(sigset_t *blocked);
const char *supervise(pid_t main, int listening, const sigset_t *blocked);
int end_tree(pid_t main);
#endif
