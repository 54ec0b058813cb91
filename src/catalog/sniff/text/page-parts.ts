/** What a page loads from elsewhere, and whether it has scripts: converters of HTML files get the file alone. */
import type { EngineWarning } from '../../engine.ts';
import { formatOf } from '../../formats.ts';
import { latin1 } from '../../looks/bytes.ts';
import type { Sample } from '../../looks/sample.ts';

/** Size of the beginning of a page: its head and its first pictures, bytes. */
const LOOKED_AT = 64 * 1024;
/** Length of one tag, characters; that of an inline picture is longer, and loads nothing. */
const MOST_TAG = 500;

/** Tags that load something. */
const LOADS: Readonly<Record<string, string>> = {
  img: 'images',
  source: 'images',
  video: 'video',
  link: 'style sheets',
  iframe: 'frames',
};

/** Results that show a page as it looks. */
const LOOKS: readonly string[] = ['pdf', 'png', 'docx', 'odt', 'epub', 'rtf', 'fb2'];

/** @param source, target canonical ids */
export function unloaded(sample: Pick<Sample, 'head'>, source: string, target: string): EngineWarning[] {
  if (source !== 'html' || !(LOOKS.includes(target) || formatOf(target).family === 'image')) return [];
  const { scripts, loads } = partsOf(latin1(sample.head, 0, Math.min(sample.head.length, LOOKED_AT)));
  if (!scripts && loads.length === 0) return [];
  const says = [
    ...(loads.length === 0 ? [] : [`${loads.join(', ')} that the page refers to were not loaded`]),
    ...(scripts ? ['its scripts were not run'] : []),
  ].join(', and ');
  const advice = 'Include them in the file as data: URIs, or print a page on the web with the tool webpage-to-pdf.';
  return [{ code: 'not_loaded', message: `${says.charAt(0).toUpperCase()}${says.slice(1)}. ${advice}` }];
}

function partsOf(page: string): { readonly scripts: boolean; readonly loads: readonly string[] } {
  const loads = new Set<string>();
  let scripts = false;
  for (let at = page.indexOf('<'); at >= 0; at = page.indexOf('<', at + 1)) {
    const name = /^[a-z]{1,8}(?![a-z0-9-])/.exec(page.slice(at + 1, at + 10).toLowerCase())?.[0] ?? '';
    if (name !== 'script' && !Object.hasOwn(LOADS, name)) continue;
    const end = page.slice(at, at + MOST_TAG).indexOf('>');
    const tag = page.slice(at, end < 0 ? at + MOST_TAG : at + end).toLowerCase();
    if (name === 'script') {
      // Data for search engines runs nowhere.
      scripts ||= !/type\s{0,5}=\s{0,5}["']?application\/(?:ld\+)?json/.test(tag);
      continue;
    }
    if (name === 'link' && !tag.includes('stylesheet')) continue;
    const value = /\s(?:src|href)\s{0,5}=\s{0,5}["']?([^"'\s]{1,10})/.exec(tag)?.[1];
    if (value !== undefined && !value.startsWith('data:') && !value.startsWith('#')) loads.add(LOADS[name] ?? '');
  }
  return { scripts, loads: [...loads] };
}
