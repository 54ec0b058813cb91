/** Recognises files that make their reader open other files or run code: playlists, scripts, PostScript. They are never opened. */

import { decode } from '../../looks/charset.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { rootOf } from '../../looks/xml.ts';
import { asRefused as refuse } from '../verdict.ts';
import { executable } from './executable.ts';

/** Enough for a sign at the beginning, after blanks. */
const BEGINNING = 4096;

/** How such files begin, after blanks. Sources: FFmpeg's demuxers and ImageMagick's coders that read text. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/^#!\s{0,4}\//, 'script'],
  [/^<\?php\b/i, 'script'],
  [/^@echo off\b/i, 'script'],
  [/^#EXTM3U/i, 'playlist'],
  [/^#EXT-X-/i, 'playlist'],
  [/^\[playlist\]/i, 'playlist'],
  [/^\[reference\]/i, 'playlist'],
  [/^RTSPtext/i, 'playlist'],
  [/^ffconcat version/i, 'concat script'],
  [/^;FFMETADATA/i, 'media metadata script'],
  [/^v=0\r?\n[a-z]=/i, 'session description'],
  [/^\[(?:InternetShortcut|Desktop Entry)\]/i, 'shortcut'],
  // Type 1 fonts are parsed and never run.
  [/^\x04?%!(?:PS(?!-AdobeFont-1)|FontType(?!1-)|\s)/, 'PostScript program'],
  // It may hold Python objects, which FontForge restores.
  [/^SplineFontDB:/, 'FontForge source'],
  [/^\x1b%-12345X/, 'printer job'],
  [/^(?:push (?:graphic-context|pattern|defs|clip-path)|viewbox \d)/i, 'drawing script'],
  [/^id=(?:ImageMagick|MagickCache|MagickPixelCache)/i, 'image script'],
];

/** Roots of XML files that are scripts for their reader. */
const ROOTS: Readonly<Record<string, string>> = {
  mpd: 'playlist',
  smoothstreamingmedia: 'playlist',
  asx: 'playlist',
  playlist: 'playlist',
  smil: 'playlist',
  image: 'image script',
  msl: 'image script',
  group: 'image script',
};

export function refused(sample: Sample): Detected | undefined {
  return executable(sample) ?? dosPostScript(sample.head) ?? scripts(sample.head);
}

/** EPS with a preview: a binary header before the program (Adobe TN 5002). */
const dosPostScript = (head: Uint8Array): Detected | undefined =>
  head[0] === 0xc5 && head[1] === 0xd0 && head[2] === 0xd3 && head[3] === 0xc6 ? refuse('PostScript program') : undefined;

function scripts(head: Uint8Array): Detected | undefined {
  const start = decode(head.subarray(0, BEGINNING)).trimStart();
  const sign = SIGNS.find(([pattern]) => pattern.test(start));
  if (sign !== undefined) return refuse(sign[1]);
  if (!start.startsWith('<')) return undefined;
  const what = ROOTS[rootOf(decode(head))?.name.toLowerCase() ?? ''];
  return what === undefined ? undefined : refuse(what);
}
