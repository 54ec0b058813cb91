/** What a file is, by its bytes; its name or the client's word only settles what bytes cannot. */
import { Failure } from '../../errors.ts';
import { formatByExtension, formatByName, formats } from '../formats.ts';
import { isText } from './charset.ts';
import { image } from './image.ts';
import { media } from './media.ts';
import { ole } from './ole.ts';
import { pdf } from './pdf.ts';
import { refused } from './refused.ts';
import type { Detected, Sample, Sniffer } from './sample.ts';
import { TEXT_KINDS, text } from './text.ts';
import { tga } from './tga.ts';
import { UNKNOWN } from './verdict.ts';
import { zip } from './zip.ts';

/**
 * In order; the first that speaks decides, so a file that is two things at once is what comes first here. What is never opened is
 * looked for before all else; then signatures, which all lie at the first bytes and exclude each other (a GIF with a page behind it
 * is a GIF); then text, which has none; last TGA, which is only likely.
 */
const SNIFFERS: readonly Sniffer[] = [refused, image, media, zip, ole, pdf, text, tga];

export function detect(sample: Sample): Detected {
  for (const sniffer of SNIFFERS) {
    const found = sniffer(sample);
    if (found !== undefined) return found;
  }
  return UNKNOWN;
}

/**
 * @param filename as the client sent it; decides only within a tie
 * @param fromFormat the client's word for a tie's member, as an extension
 * @throws Failure NO_FILE when the file is empty, UNSUPPORTED_MIME when its content is nothing we convert, INVALID_OPTION when
 * `fromFormat` is none of what the content can be
 */
export function resolveSource(sample: Sample, filename: string, fromFormat?: string): { readonly format: string } {
  if (sample.size === 0) throw new Failure('NO_FILE', { says: 'The file is empty: send one with content in the field "file".' });
  const detected = detect(sample);
  if (detected.kind === 'unknown') throw unsupported('unknown', 'The content of this file is of no kind that can be converted.');
  if (detected.kind === 'refused') throw unsupported(detected.what, `The file is of a kind that is never opened: ${detected.what}.`);
  const allowed = detected.kind === 'tie' ? detected.among : [detected.format];
  if (fromFormat !== undefined) return { format: asTold(fromFormat, allowed) };
  if (detected.kind === 'format') return { format: detected.format };
  const named = formatByName(filename)?.id;
  return { format: named !== undefined && allowed.includes(named) ? named : detected.otherwise };
}

/** Formats whose files are also good files of another, where an engine was asked for that other. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  // An Ogg file may hold any of Xiph's audio codecs; `.m4v` is MP4 under another name.
  opus: ['ogg'],
  spx: ['ogg'],
  mp4: ['m4v'],
};

/** Whether a converter's output is what it was asked for. Any text will do for the text kinds, even an empty one: prose has no signs. */
export function matches(sample: Sample, format: string): boolean {
  const detected = detect(sample);
  if (detected.kind === 'format' && (detected.format === format || ALSO[detected.format]?.includes(format))) return true;
  if (detected.kind === 'tie' && detected.among.includes(format)) return true;
  return format !== 'html' && TEXT_KINDS.includes(format) && isText(sample);
}

function asTold(fromFormat: string, allowed: readonly string[]): string {
  const told = formatByExtension(fromFormat)?.id;
  if (told !== undefined && allowed.includes(told)) return told;
  const says = `The option "from_format" contradicts the file's content: it can be ${allowed.join(', ')}.`;
  throw new Failure('INVALID_OPTION', { says, details: { option: 'from_format', received: fromFormat, allowed } });
}

const accepted: readonly string[] = [...new Set([...formats.values()].map(({ family }) => family))];

const unsupported = (detected: string, says: string): Failure => new Failure('UNSUPPORTED_MIME', { says, details: { detected, accepted } });
