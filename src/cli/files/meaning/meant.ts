/** What a mistyped word of the command line was probably meant as. */
import { formats } from '../../../catalog/formats.ts';
import { distance, nearest } from '../../../catalog/nearest.ts';
import { meantName } from '../../../catalog/options/meant.ts';

/** What other programs call flags of ours. */
const OTHER_FLAGS: Readonly<Record<string, readonly string[]>> = {
  to: ['format', 'target', 'output-format', 'to-format', 'type'],
  from: ['input-format', 'from-format'],
  out: ['output', 'output-dir', 'outdir', 'dest', 'destination', 'directory', 'd'],
  name: ['template', 'rename', 'filename'],
  recursive: ['recurse', 'R'],
  force: ['overwrite', 'yes', 'y'],
  'skip-existing': ['no-clobber', 'no-overwrite', 'ignore-existing', 'skip'],
  'dry-run': ['simulate', 'what-if', 'preview', 'plan'],
  jobs: ['parallel', 'threads', 'workers', 'concurrency', 'p'],
  quiet: ['silent', 's'],
  'img-resize-w': ['width', 'w', 'resize'],
  'img-resize-h': ['height', 'h'],
};

/** @param known flags, without dashes @returns the end of a sentence; empty where none is near */
export function meantFlag(sent: string, known: readonly string[]): string {
  const meant =
    known.find((flag) => OTHER_FLAGS[flag]?.includes(sent)) ??
    meantName(
      sent,
      known.map((flag) => flag.replaceAll('-', '_')),
    )?.replaceAll('_', '-');
  return meant === undefined ? '' : didYouMean([`--${meant}`]);
}

/** @param sent an extension */
export const meantFormat = (sent: string): string => didYouMean(closest(sent, [...formats.keys()]).map((id) => `"${id}"`));

/** One part of a word with a dash is enough: `merge` is near `merge-pdf`. @param shown how a known word is written on the command line */
export function meantWord(sent: string, known: readonly string[], shown: (one: string) => string = (one) => one): string {
  const word = sent.toLowerCase().replaceAll('_', '-');
  const parts = word === '' ? [] : known.filter((one) => one.startsWith(word) || one.split('-').includes(word));
  return didYouMean((parts.length > 0 ? parts.slice(0, 3) : closest(word, known)).map((one) => `"${shown(one)}"`));
}

/** One letter of a short name, two of a longer one. */
const closest = (sent: string, known: readonly string[]): readonly string[] =>
  nearest(sent, known, 3).filter((one) => distance(one, sent.toLowerCase().slice(0, 40)) <= (one.length > 4 ? 2 : 1));

function didYouMean(words: readonly string[]): string {
  const [last, ...others] = words.toReversed();
  return last === undefined ? '' : `; did you mean ${[...(others.length > 0 ? [others.reverse().join(', ')] : []), last].join(' or ')}?`;
}
