/** Detects a file's format by its bytes; its name and `from_format` only decide where the bytes cannot. */
import { conversionFailed, Failure } from '../../errors.ts';
import { formatByExtension, formatByName, formats } from '../formats.ts';
import { has } from '../looks/bytes.ts';
import { isText } from '../looks/charset.ts';
import type { Detected, Sample, Sniffer } from '../looks/sample.ts';
import { media } from './media/media.ts';
import { ole } from './packages/ole.ts';
import { packed } from './packages/packed.ts';
import { zip } from './packages/zip.ts';
import { pdf } from './pdf.ts';
import { raw } from './raw.ts';
import { recognised } from './refused/named.ts';
import { refused } from './refused/refused.ts';
import { byHeader, bySignature } from './table.ts';
import { TEXT_KINDS, text } from './text/text.ts';
import { tga } from './tga.ts';
import { UNKNOWN } from './verdict.ts';

/**
 * In order: the first that recognises the file decides, also for a file that is valid as two formats. First the files that are never opened, and camera raw, which begins like TIFF;
 * then signatures and headers, which the rows of the formats have, and containers, whose content decides; then text, which has none of these, and what is
 * only named, as a text may begin with its letters; last TGA, which is only a guess.
 */
const SNIFFERS: readonly Sniffer[] = [refused, raw, bySignature, byHeader, media, zip, packed, ole, pdf, text, recognised, tga];

export function detect(sample: Sample): Detected {
  for (const sniffer of SNIFFERS) {
    const found = sniffer(sample);
    if (found !== undefined) return found;
  }
  return UNKNOWN;
}

/**
 * @param filename as the client sent it; decides only within a tie
 * @param fromFormat the client's choice among the members of a tie, as an extension
 * @throws Failure `NO_FILE` for an empty file, `UNSUPPORTED_MIME` for content that cannot be converted, `CONVERSION_FAILED` for what ends too early, `INVALID_OPTION` if `fromFormat`
 * contradicts the content
 */
export function resolveSource(sample: Sample, filename: string, fromFormat?: string): { readonly format: string } {
  if (sample.size === 0) throw new Failure('NO_FILE', { says: 'The file is empty: send one with content in the field "file".' });
  const detected = detect(sample);
  if (detected.kind === 'unknown') throw unsupported('unknown', 'The service does not support this file type.');
  if (detected.kind === 'refused') throw unsupported(detected.what, `The service does not open files of this type: ${detected.what}.`);
  if (detected.kind === 'cut') throw cutOff(detected.format);
  const allowed = detected.kind === 'tie' ? detected.among : [detected.format];
  if (fromFormat !== undefined) return { format: asTold(fromFormat, allowed) };
  if (detected.kind === 'format') return { format: detected.format };
  const named = formatByName(filename)?.id;
  return { format: named !== undefined && allowed.includes(named) ? named : detected.otherwise };
}

/** Whether a converter's output has the requested format. Any text matches the text kinds, even an empty one, since prose has no signs. */
export function matches(sample: Sample, format: string): boolean {
  const beginning = formats.get(format)?.writtenAs;
  if (beginning !== undefined) return has(sample.head, 0, beginning);
  const detected = detect(sample);
  if (detected.kind === 'format' && (detected.format === format || formats.get(detected.format)?.also?.includes(format))) return true;
  if (detected.kind === 'tie' && detected.among.includes(format)) return true;
  return format !== 'html' && TEXT_KINDS.includes(format) && isText(sample);
}

function asTold(fromFormat: string, allowed: readonly string[]): string {
  const told = formatByExtension(fromFormat)?.id;
  if (told !== undefined && allowed.includes(told)) return told;
  const says = `The option "from_format" is "${fromFormat}", which contradicts the file's content; expected ${allowed.join(' or ')}.`;
  throw new Failure('INVALID_OPTION', { says, details: { option: 'from_format', received: fromFormat, allowed } });
}

const cutOff = (format: string): Failure =>
  conversionFailed('corrupt_input', {
    says: `The file is damaged: it begins as a ${format} file, and ends too early. It was probably not copied or downloaded whole.`,
    details: { detected: format, ends_early: true },
  });

const accepted: readonly string[] = [...new Set([...formats.values()].map(({ family }) => family))];

const unsupported = (detected: string, says: string): Failure => new Failure('UNSUPPORTED_MIME', { says, details: { detected, accepted } });
