/*
 * A tmpfile() that obeys TMPDIR: the C library's knows only /tmp, where a confined program may not write, and FontForge does not look whether it
 * was given a file. FontForge is started with this library loaded first.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Without a file there is nothing that the program could do: it ends here, and says why, rather than at a null pointer. */
static FILE *give_up(void)
{
	perror("own-tmpfile: no temporary file");
	_exit(1);
}

FILE *tmpfile(void);
FILE *tmpfile(void)
{
	const char *folder = getenv("TMPDIR");
	if (!folder) return give_up();
	int descriptor = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	if (descriptor < 0) {
		/* Some file systems have no nameless files. */
		char path[4096];
		int length = snprintf(path, sizeof path, "%s/tmpXXXXXX", folder);
		if (length < 0 || (size_t)length >= sizeof path) return give_up();
		descriptor = mkostemp(path, O_CLOEXEC);
		if (descriptor < 0) return give_up();
		unlink(path);
	}
	FILE *file = fdopen(descriptor, "w+");
	return file ? file : give_up();
}

FILE *tmpfile64(void);
FILE *tmpfile64(void)
{
	return tmpfile();
}
