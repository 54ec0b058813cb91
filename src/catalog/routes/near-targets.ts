/** The targets that a client may have meant, or may take instead of one that cannot be had. */
import { formatByExtension, formats } from '../formats.ts';
import { distance, nearest } from '../nearest.ts';

/** What most people convert to, the most usual first. */
const USUAL = ['pdf', 'jpg', 'png', 'docx', 'mp3', 'mp4', 'txt', 'webp', 'xlsx', 'html', 'csv', 'epub', 'wav', 'gif', 'zip', 'md'];

const rank = (id: string): number => (USUAL.includes(id) ? USUAL.indexOf(id) : USUAL.length);

/**
 * @param asked an extension
 * @returns at most `most` of the targets: those that are written much alike, then those of the asked format's family, then the most usual
 */
export function nearTargets(targets: readonly string[], asked: string, most: number): readonly string[] {
  const alike = nearest(asked, targets, most).filter((id) => isMistyped(asked, id));
  const family = formatByExtension(asked)?.family;
  const others = targets
    .filter((id) => !alike.includes(id))
    .toSorted((a, b) => Number(formats.get(b)?.family === family) - Number(formats.get(a)?.family === family) || rank(a) - rank(b));
  return [...alike, ...others].slice(0, most);
}

/** In so short a name, one letter may differ. */
const isMistyped = (asked: string, id: string): boolean =>
  formatByExtension(asked) === undefined && (id.startsWith(asked) || asked.startsWith(id) || distance(asked.slice(0, 16), id) <= 1);
