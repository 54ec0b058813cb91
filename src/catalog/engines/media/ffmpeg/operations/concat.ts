/** Reads several of our own MOV files as one input (FFmpeg's concat demuxer). */

/** Arguments of the input: standard input has the list of files. */
export const LIST_INPUT = [
  ...['-protocol_whitelist', 'file,pipe', '-format_whitelist', 'concat,mov', '-f', 'concat', '-safe', '0', '-i', 'pipe:0'],
] as const;

/** The list, quoted for FFmpeg's parser (ffmpeg-utils, "Quoting and escaping"). @param paths absolute */
export const concatList = (paths: readonly string[]): string =>
  paths.map((path) => `file 'file:${path.replaceAll("'", "'\\''")}'\n`).join('');
