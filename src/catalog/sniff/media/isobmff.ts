/** ISO base media files (MP4, QuickTime, HEIF, AVIF, 3GP), by brand and, for MP4, by the presence of a video track (ISO 14496-12). */
import { find, has, latin1, u32be } from '../../looks/bytes.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { asFormat, tie, UNKNOWN } from '../verdict.ts';

/** Boxes that begin a QuickTime file without a brand. */
const BARE = ['moov', 'mdat', 'wide', 'free', 'skip', 'pnot'];

/** Each track has two; more are not followed. */
const MOST_HANDLERS = 1000;

const BRANDS: readonly (readonly [RegExp, Detected])[] = [
  [/^avi[fs]$/, asFormat('avif')],
  [/^(?:hei[cxms]|hev[cxms])$/, asFormat('heic')],
  [/^qt {2}$/, asFormat('mov')],
  [/^M4V[ HP]?/, asFormat('m4v')],
  [/^M4[AP] /, tie('m4a', 'm4a')],
  [/^M4B /, tie('m4a', 'm4b')],
  [/^3g2/, asFormat('3g2')],
  [/^3g[prgse][\d.a-z]?/, asFormat('3gp')],
  [/^isml$/, asFormat('ismv')],
  [/^mjp2$/, asFormat('mj2')],
  [/^f4[vp] /, asFormat('f4v')],
  [/^crx $/, asFormat('cr3')],
  // JPEG 2000 uses the same boxes.
  [/^(?:jp2 |jpm |jpx )$/, UNKNOWN],
];

export function isobmff(sample: Sample): Detected | undefined {
  const { head, size } = sample;
  if (has(head, 4, 'ftyp')) return byBrands(sample);
  const length = u32be(head, 0);
  const plausible = length === 0 || length === 1 || (length >= 8 && length <= size);
  return plausible && BARE.some((box) => has(head, 4, box)) ? asFormat('mov') : undefined;
}

function byBrands(sample: Sample): Detected {
  const { head } = sample;
  const major = latin1(head, 8, 4);
  if (major.length < 4) return UNKNOWN;
  const known = BRANDS.find(([pattern]) => pattern.test(major));
  if (known !== undefined) return known[1];
  const length = Math.min(u32be(head, 0), 512);
  const compatible = latin1(head, 16, Math.max(0, length - 16)).match(/.{4}/gs) ?? [];
  // `mif1` and `msf1` only say "HEIF"; the codec is in the list that follows.
  if (/^m[is]f1$/.test(major)) return compatible.some((brand) => /^avi[fs]$/.test(brand)) ? asFormat('avif') : asFormat('heic');
  return isAudioOnly(sample) ? tie('m4a', 'm4a') : asFormat('mp4');
}

/** Whether there is an audio track and no video track, if the sample contains `moov`; otherwise the file counts as video. */
function isAudioOnly({ head, tail, size }: Sample): boolean {
  const within = moovOf(head) ?? (size > head.length ? moovOf(tail) : undefined) ?? [];
  return within.includes('soun') && !within.includes('vide');
}

/** The handler types (`hdlr` boxes) of the movie box; undefined if it is not completely in the sample. */
function moovOf(bytes: Uint8Array): readonly string[] | undefined {
  const at = find(bytes, 'moov');
  if (at < 4 || at - 4 + u32be(bytes, at - 4) > bytes.length || Number.isNaN(u32be(bytes, at - 4))) return undefined;
  const moov = bytes.subarray(at - 4, at - 4 + u32be(bytes, at - 4));
  const handlers: string[] = [];
  for (let hdlr = find(moov, 'hdlr'); hdlr >= 0 && handlers.length < MOST_HANDLERS; hdlr = find(moov, 'hdlr', hdlr + 4))
    handlers.push(latin1(moov, hdlr + 12, 4));
  return handlers;
}
