/** The most that one file may have, whatever reads it. Programs of `exec/programs` import this, too; one in Python repeats a bound, and a test compares it. */

/** Pixels of one picture, page or frame. */
export const MAX_PIXELS = 100_000_000;
/** Pixels of all pages or frames of a file together: 2,000 sheets of A4 at 300 dpi have 17,400 million. */
export const MAX_PIXELS_TOGETHER = 20_000_000_000;
/** Longest side of a WebP, px (RFC 9649, 2.7: 14 bits). */
export const WEBP_MAX_SIDE = 16_383;
/** The longest side that is derived from another, px: every target can have it. */
export const MAX_SIDE = WEBP_MAX_SIDE;
/** Pages of a document. No selection of pages reaches further. */
export const MAX_PAGES = 2000;
/** Words of a page that Poppler puts into the order in which they are read, in 14 s where each is a line by itself: it takes the square of their number. */
export const MAX_ORDERED_WORDS = 20_000;
/** Frames of an animation, or pictures of an icon. */
export const MAX_FRAMES = 1000;
/** Length of a recording, s. */
export const MAX_SECONDS = 6 * 3600;
/** Length of a recording that a tool takes noise out of, s. */
export const MAX_RECORDING_SECONDS = 90 * 60;
/** Length of a recording that a tool takes vocals out of, s. */
export const MAX_SONG_SECONDS = 60 * 60;
/** Samples that are worked on in one file: no file of a conversion may have more than 1 GiB. */
export const MAX_SOUND_BYTES = 1_050_000_000;
/** Pixels of a photo that an AI tool works on. */
export const MAX_PHOTO_PIXELS = 16_000_000;
/** Files and folders in an archive. */
export const MAX_ENTRIES = 100_000;
/** Files of an archive, and folders that are named before them: each name could have two thousand. */
export const MAX_NODES = 2 * MAX_ENTRIES;
/** Files in one request, unless a tool says otherwise or an operator sets `api.maxBatchFiles`. */
export const MAX_FILES = 20;
