/*
 * Carries out the operations that the other side has planned, one line of them at a time:
 *
 *   0=jpegload filename=%2Fjob%2Finput.jpg access=sequential ; info 0
 *   1=resize in@0 scale=0.5 ; 2=flatten in@1 background=255%20255%20255
 *   pngsave in@2 filename=%2Fjob%2Foutput%2Fresult.png
 *
 * Words are separated by spaces, operations by a word `;`. An operation is named as libvips names
 * it, after the number under which its image is kept. `name=value` sets a property from its text,
 * as the command `vips` does; `name@1` sets it to a kept image, `name@@1,2` to several. In words,
 * %XX is a byte. There are four operations more:
 *
 *   info 0             what is known of an image: the reply to the line
 *   1=memory in@0      all its pixels: what was read in sequence can be read at random
 *   1=meta in@0 a=7 b= the same image with the field `a` set to an integer and without `b`;
 *                      `c@2` copies all fields of image 2 whose names begin with `c`
 *   drop 0             forgets an image
 *
 * The reply is `ok` with what `info` found, or `error` with libvips' own words. The rest of a line
 * is left out once one of its operations has failed.
 */
#include "server.h"

#include "libvips.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IMAGES = 4096, MOST_WORDS = 64 };
static VipsImage *images[MOST_IMAGES];
static const char *problem; /* Of this file's own; libvips keeps its own words. */

/* ---- words ---- */

static int digit(char c)
{
	if (c >= '0' && c <= '9') return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *decode(char *word)
{
	char *to = word;
	for (char *from = word; *from; from++, to++) {
		int high = *from == '%' ? digit(from[1]) : -1, low = high < 0 ? -1 : digit(from[2]);
		*to = low < 0 ? *from : (char)(high << 4 | low);
		if (low >= 0) from += 2;
	}
	*to = 0;
	return word;
}

/* Returns the place of image `number`, or NULL. `end` gets what follows the number. */
static VipsImage **place_of(const char *number, char **end)
{
	unsigned long place = strtoul(number, end, 10);
	if (*end != number && place < MOST_IMAGES) return &images[place];
	problem = "no such image";
	return NULL;
}

static VipsImage *image_of(const char *number, char **end)
{
	VipsImage **place = place_of(number, end);
	if (place && *place) return *place;
	problem = "no such image";
	return NULL;
}

static void keep(VipsImage **place, VipsImage *image)
{
	if (*place) libvips.g_object_unref(*place);
	*place = image;
}

/* ---- properties ---- */

static int set_images(VipsObject *operation, const char *name, char *numbers)
{
	VipsImage *list[MOST_IMAGES];
	int count = 0;
	for (char *end = numbers; count < MOST_IMAGES; numbers = end + 1) {
		if (!(list[count++] = image_of(numbers, &end))) return -1;
		if (*end != ',') break;
	}
	VipsArea *array = libvips.vips_array_image_new(list, count);
	libvips.g_object_set(operation, name, array, NULL);
	libvips.vips_area_unref(array);
	return 0;
}

static int set_property(VipsObject *operation, char *word)
{
	char *value = word + strcspn(word, "=@"), *end;
	char kind = *value;
	if (kind) *value++ = 0;
	if (kind == '=')
		return libvips.vips_object_set_argument_from_string(operation, word, decode(value));
	if (kind == '@' && *value == '@') return set_images(operation, word, value + 1);
	VipsImage *image = kind == '@' ? image_of(value, &end) : NULL;
	if (!image) return -1;
	libvips.g_object_set(operation, word, image, NULL);
	return 0;
}

/* ---- operations ---- */

static int run_operation(char **words, int count, VipsImage **result)
{
	VipsObject *operation = libvips.vips_operation_new(words[0]);
	if (!operation) return -1;
	int failed = 0;
	for (int i = 1; i < count && !failed; i++) failed = set_property(operation, words[i]);
	failed = failed || libvips.vips_object_build(operation);
	VipsImage *image = NULL;
	if (!failed && result) libvips.g_object_get(operation, "out", &image, NULL);
	libvips.vips_object_unref_outputs(operation);
	libvips.g_object_unref(operation);
	if (image) keep(result, image);
	return failed;
}

static VipsImage *input_of(char **words, int count)
{
	char *end;
	if (count > 1 && !strncmp(words[1], "in@", 3)) return image_of(words[1] + 3, &end);
	problem = "an image is missing";
	return NULL;
}

static int copy_to_memory(char **words, int count, VipsImage **result)
{
	VipsImage *image = input_of(words, count), *copy;
	if (!image || !(copy = libvips.vips_image_copy_memory(image))) return -1;
	keep(result, copy);
	return 0;
}

static int copy_fields(VipsImage *to, const char *beginning, const char *number)
{
	char *end;
	VipsImage *from = image_of(number, &end);
	if (!from) return -1;
	char **names = libvips.vips_image_get_fields(from);
	for (char **name = names; *name; name++) {
		GValue value = { 0, { 0, 0 } };
		if (strncmp(*name, beginning, strlen(beginning)) || libvips.vips_image_get(from, *name, &value)) continue;
		libvips.vips_image_set(to, *name, &value);
		libvips.g_value_unset(&value);
	}
	libvips.g_strfreev(names);
	return 0;
}

static int set_fields(char **words, int count, VipsImage **result)
{
	VipsImage *image = input_of(words, count), *copy;
	if (!image || libvips.vips_copy(image, &copy, NULL)) return -1;
	for (int i = 2; i < count; i++) {
		char *value = words[i] + strcspn(words[i], "=@"), kind = *value;
		if (kind) *value++ = 0;
		if (kind == '@') {
			if (!copy_fields(copy, words[i], value)) continue;
			libvips.g_object_unref(copy);
			return -1;
		}
		if (*value)
			libvips.vips_image_set_int(copy, words[i], atoi(value));
		else
			libvips.vips_image_remove(copy, words[i]);
	}
	keep(result, copy);
	return 0;
}

/* Fields that decide how a picture is converted: of some their value, of others whether there are. */
static const struct {
	const char *name;
	int with_value;
} fields[] = {
	{ "orientation", 1 },      { "n-pages", 1 },           { "page-height", 1 },
	{ "heif-primary", 1 },     { "heif-compression", 1 },  { "icc-profile-data", 0 },
	{ "gainmap", 0 },          { "gainmap-data", 0 },      { "delay", 0 },
	{ "loop", 0 },
};

static int describe(const char *number, char *reply, size_t size)
{
	char *end;
	VipsImage *image = image_of(number, &end);
	if (!image) return -1;
	int length = snprintf(
		reply, size, "ok width=%d height=%d bands=%d format=%s space=%s alpha=%d sequential=%d page=%d",
		libvips.vips_image_get_width(image), libvips.vips_image_get_height(image),
		libvips.vips_image_get_bands(image),
		libvips.vips_enum_nick(libvips.vips_band_format_get_type(), libvips.vips_image_get_format(image)),
		libvips.vips_enum_nick(libvips.vips_interpretation_get_type(),
		                       libvips.vips_image_get_interpretation(image)),
		libvips.vips_image_hasalpha(image), !!libvips.vips_image_is_sequential(image),
		libvips.vips_image_get_page_height(image));
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		char *value = NULL;
		if (!libvips.vips_image_get_typeof(image, fields[i].name)) continue;
		if (fields[i].with_value && libvips.vips_image_get_as_string(image, fields[i].name, &value)) continue;
		if ((size_t)length < size)
			length += snprintf(reply + length, size - (size_t)length, " %s=%.40s", fields[i].name,
			                   value ? value : "1");
		libvips.g_free(value);
	}
	return 0;
}

static int drop(const char *number)
{
	char *end;
	VipsImage **place = place_of(number, &end);
	if (!place) return -1;
	keep(place, NULL);
	return 0;
}

static int run(char **words, int count, char *reply, size_t size)
{
	if (!strcmp(words[0], "info")) return count == 2 ? describe(words[1], reply, size) : -1;
	if (!strcmp(words[0], "drop")) return count == 2 ? drop(words[1]) : -1;
	VipsImage **result = NULL;
	char *end;
	if (strchr(words[0], '=')) {
		result = place_of(words[0], &end);
		if (!result || *end != '=') return -1;
		words[0] = end + 1;
	}
	if (result && !strcmp(words[0], "memory")) return copy_to_memory(words, count, result);
	if (result && !strcmp(words[0], "meta")) return set_fields(words, count, result);
	return run_operation(words, count, result);
}

void carry_out(char *line, char *reply, size_t size)
{
	snprintf(reply, size, "ok");
	problem = "an operation is malformed";
	libvips.vips_error_clear();
	char *rest = NULL;
	for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *words[MOST_WORDS];
		int count = 0;
		for (; word && strcmp(word, ";") && count < MOST_WORDS; word = strtok_r(NULL, " ", &rest))
			words[count++] = word;
		if (count && count < MOST_WORDS && !run(words, count, reply, size)) continue;
		const char *said = libvips.vips_error_buffer();
		snprintf(reply, size, "error %.2000s", *said ? said : problem);
		return;
	}
}
