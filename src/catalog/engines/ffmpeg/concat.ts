/** Parts that we made ourselves, in MOV, read one after the other as one input (FFmpeg's concat demuxer). */

/** Arguments of the input: the list of the parts comes on standard input. */
export const LIST_INPUT = [
  ...['-protocol_whitelist', 'file,pipe', '-format_whitelist', 'concat,mov', '-f', 'concat', '-safe', '0', '-i', 'pipe:0'],
] as const;

/** The list, quoted as its parser reads it (ffmpeg-utils, "Quoting and escaping"). @param paths absolute */
export const listOf = (paths: readonly string[]): string => paths.map((path) => `file 'file:${path.replaceAll("'", "'\\''")}'\n`).join('');
