/*
 * What the parts of the picture server share.
 */
#ifndef SERVER_H
#define SERVER_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <sys/resource.h>

enum { LONGEST_LINE = 64 * 1024 }; /* Bytes, of either side. */

/* Ends this process with a sentence on stderr; `error` is an errno, or 0. */
_Noreturn void fail(int error, const char *sentence);

/* ---- libvips.c ---- */

/* Loads libvips without starting a thread. Ends the process where it cannot. */
void load_libvips(const char *path);
const char *libvips_version(void);

/* ---- confine.c: in the child ---- */

/*
 * Leaves this process, for good, one folder to write to, no way to start another process, and no
 * way to signal its parent. Ends the process where it cannot.
 */
void confine_to(const char *folder);
/* Bytes that such a process may hold; RLIM_INFINITY without a limit. */
rlim_t most_memory(void);

/* ---- operations.c: in the child ---- */

/*
 * Carries out the operations of one line, and leaves the reply, without its line end, in `reply`.
 * Changes the line.
 */
void carry_out(char *line, char *reply, size_t size);
/* Decodes %XX in place. */
char *decode(char *word);

#endif
