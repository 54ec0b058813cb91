/** The name of an attached file without the folders that a sender may put before it. */
import { seenName } from '../../../../catalog/names.ts';

/** Characters of a long name that are read: its beginning, and its end, for the extension. */
const [LOOKED_AT, END] = [1000, 20] as const;

/** @returns a name for `entryNames`, which makes it fit */
export function attachedName(sent: string): string {
  const last = sent.slice(Math.max(sent.lastIndexOf('/'), sent.lastIndexOf('\\')) + 1);
  const name = seenName(last.length > LOOKED_AT ? `${last.slice(0, LOOKED_AT)}${last.slice(-END)}` : last, '_');
  return /[^\s.]/.test(name) ? name : 'file';
}
