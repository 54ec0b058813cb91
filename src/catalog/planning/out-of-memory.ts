/** Whether a program says that it got no memory, in whatever words: then the file is not to blame, however the program goes on. */

/**
 * Lower case. glibc's and Rust's allocators, C++, Node, Python, Haskell, Java; libheif, libaom, x265, libvips, libjpeg, libpng, OpenJPEG, LibRaw, jxrlib,
 * ImageMagick, Ghostscript, cairo, libarchive, ONNX Runtime.
 */
export const OUT_OF_MEMORY: readonly string[] = [
  'out of memory',
  'outofmemory',
  'not enough memory',
  'nsufficient memory',
  'memory exhausted',
  'memory error',
  'memoryerror',
  'no memory for',
  'memory allocation',
  'bad_alloc',
  'badalloc',
  'cannot allocate',
  "can't allocate",
  'could not allocate',
  "couldn't allocate",
  'unable to allocate',
  'failed to alloc',
  'allocation failed',
  'allocation failure',
  'malloc failed',
  'malloc of size',
  'heap exhausted',
  'heap overflow',
  'vmerror',
  'cache resources exhausted',
  'unable to extend cache',
  'unable to extend pixel cache',
  'invalid string length',
];
/** libheif says both of a length that no file may have: that is the file's doing. */
const ABSURD = 'security limit exceeded';

/** @param words what the program printed */
export function saysOutOfMemory(words: string): boolean {
  const said = words.toLowerCase();
  return !said.includes(ABSURD) && OUT_OF_MEMORY.some((phrase) => said.includes(phrase));
}
