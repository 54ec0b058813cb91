/*
 * Finds libvips' functions, and makes the library ready before anything is forked.
 *
 * Nothing here may start a thread: a fork takes only the thread that calls it along. What is made
 * ready needs none: the types of the operations, and the list of the fonts.
 */
#include "libvips.h"

#include "server.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct libvips libvips;

/* Those that most conversions use: each child would register their types again. */
static const char *const common[] = {
	"jpegload", "pngload", "webpload", "jpegsave", "pngsave", "webpsave", "gifload", "tiffload",
	"heifload", "resize", "reduceh", "reducev", "shrinkh", "shrinkv", "colourspace", "icc_transform",
	"icc_import", "icc_export", "flatten", "premultiply", "unpremultiply", "cast", "copy", "flip",
	"rot", "extract_area", "sequential", "linecache", "tilecache",
};

void load_libvips(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) fail(0, dlerror());
	/* POSIX has dlsym(3) return functions as pointers to objects. */
#define FIND(result, name, parameters)                                       \
	{                                                                        \
		void *found = dlsym(library, #name);                                 \
		if (!found) fail(0, "libvips has no " #name);                        \
		memcpy(&libvips.name, &found, sizeof found);                         \
	}
	LIBVIPS_FUNCTIONS(FIND)
#undef FIND
	/* Warnings are for a terminal. */
	setenv("VIPS_WARNING", "0", 1);
	if (libvips.vips_init("vips-server")) fail(0, libvips.vips_error_buffer());
	/* One picture at a time, and a server for each core: more threads cost more than they gain. */
	libvips.vips_concurrency_set(1);
	libvips.vips_cache_set_max(0);
	for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
		VipsObject *operation = libvips.vips_operation_new(common[i]);
		if (operation) libvips.g_object_unref(operation);
	}
	libvips.vips_error_clear();
}

const char *libvips_version(void) { return libvips.vips_version_string(); }
