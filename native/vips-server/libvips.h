/*
 * The functions of libvips and GLib that operations.c calls, found in sharp's libvips-cpp.so at the
 * start: that package has no headers, and another build of libvips may have other structures, so
 * nothing here looks into one. Their contracts: libvips.org/API/current and docs.gtk.org/gobject.
 */
#ifndef LIBVIPS_H
#define LIBVIPS_H
#include <stddef.h>

typedef struct VipsImage VipsImage;
typedef struct VipsObject VipsObject;
typedef struct VipsArea VipsArea;
typedef size_t GType;
/* As gobject's, which says that one of zeros holds nothing. */
typedef struct GValue { GType type; unsigned long long data[2]; } GValue;

/* Result, name, parameters. */
#define LIBVIPS_FUNCTIONS(FUNCTION)                                                               \
	FUNCTION(int, vips_init, (const char *))                                                      \
	FUNCTION(const char *, vips_version_string, (void))                                           \
	FUNCTION(void, vips_concurrency_set, (int))                                                   \
	FUNCTION(void, vips_cache_set_max, (int))                                                     \
	FUNCTION(const char *, vips_error_buffer, (void))                                             \
	FUNCTION(void, vips_error_clear, (void))                                                      \
	FUNCTION(VipsObject *, vips_operation_new, (const char *))                                    \
	FUNCTION(int, vips_object_set_argument_from_string,                                           \
	         (VipsObject *, const char *, const char *))                                          \
	FUNCTION(int, vips_object_build, (VipsObject *))                                              \
	FUNCTION(void, vips_object_unref_outputs, (VipsObject *))                                     \
	FUNCTION(VipsArea *, vips_array_image_new, (VipsImage **, int))                               \
	FUNCTION(void, vips_area_unref, (VipsArea *))                                                 \
	FUNCTION(int, vips_copy, (VipsImage *, VipsImage **, ...))                                    \
	FUNCTION(VipsImage *, vips_image_copy_memory, (VipsImage *))                                  \
	FUNCTION(int, vips_image_get_width, (const VipsImage *))                                      \
	FUNCTION(int, vips_image_get_height, (const VipsImage *))                                     \
	FUNCTION(int, vips_image_get_page_height, (VipsImage *))                                      \
	FUNCTION(int, vips_image_get_bands, (const VipsImage *))                                      \
	FUNCTION(int, vips_image_get_format, (const VipsImage *))                                     \
	FUNCTION(int, vips_image_get_interpretation, (const VipsImage *))                             \
	FUNCTION(int, vips_image_hasalpha, (VipsImage *))                                             \
	FUNCTION(int, vips_image_is_sequential, (VipsImage *))                                        \
	FUNCTION(GType, vips_image_get_typeof, (const VipsImage *, const char *))                     \
	FUNCTION(int, vips_image_get_as_string, (const VipsImage *, const char *, char **))           \
	FUNCTION(void, vips_image_set_int, (VipsImage *, const char *, int))                          \
	FUNCTION(char **, vips_image_get_fields, (const VipsImage *))                                 \
	FUNCTION(int, vips_image_get, (const VipsImage *, const char *, GValue *))                    \
	FUNCTION(void, vips_image_set, (VipsImage *, const char *, GValue *))                         \
	FUNCTION(int, vips_image_remove, (VipsImage *, const char *))                                 \
	FUNCTION(const char *, vips_enum_nick, (GType, int))                                          \
	FUNCTION(GType, vips_band_format_get_type, (void))                                            \
	FUNCTION(GType, vips_interpretation_get_type, (void))                                         \
	FUNCTION(void, g_object_get, (void *, const char *, ...))                                     \
	FUNCTION(void, g_object_set, (void *, const char *, ...))                                     \
	FUNCTION(void, g_object_unref, (void *))                                                      \
	FUNCTION(void, g_value_unset, (GValue *))                                                     \
	FUNCTION(void, g_strfreev, (char **))                                                         \
	FUNCTION(void, g_free, (void *))

#define DECLARE(result, name, parameters) result(*name) parameters;
extern struct libvips {
	LIBVIPS_FUNCTIONS(DECLARE)
} libvips;
#undef DECLARE

#endif
