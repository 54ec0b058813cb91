/** Names of attached files as they may be in an archive: without folders and what misleads, and each once. */
import { asFileOfWindows } from '../../archives/archive/names.ts';

/** Bytes: file systems allow 255, with a number. */
const MOST_BYTES = 200;
/** Characters of a long name that are read. */
const LOOKED_AT = 1024;

/** @returns takes the name of each file, in the order of the archive */
export function namesInArchive(): (sent: string) => string {
  const taken = new Map<string, number>();
  return (sent) => {
    const name = cleaned(sent);
    const [, base = name, end = ''] = /^(.+)(\.[A-Za-z0-9]{1,10})$/.exec(name) ?? [];
    let found = name;
    for (let number = taken.get(fold(name)) ?? 1; taken.has(fold(found)); taken.set(fold(name), number))
      found = `${base}-${++number}${end}`;
    taken.set(fold(found), 1);
    return found;
  };
}

/** Some file systems ignore case and the form of letters; a letter in another case may have another form (Unicode 16, 5.18.4 and 3.13.5). */
const fold = (name: string): string => name.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC');

function cleaned(sent: string): string {
  const last = sent.slice(Math.max(sent.lastIndexOf('/'), sent.lastIndexOf('\\')) + 1);
  const short = last.length > LOOKED_AT ? `${last.slice(0, LOOKED_AT)}${last.slice(-20)}` : last;
  // Controls, direction overrides, lone surrogates, and what Windows forbids.
  const plain = short.normalize('NFC').replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<>:"|?*]/gu, '_');
  const name = cut(withoutEnds(plain));
  return name === '' ? 'file' : asFileOfWindows(name);
}

function withoutEnds(name: string): string {
  let [from, to] = [0, name.length];
  while (from < to && /[\s.]/.test(name.charAt(from))) from++;
  while (to > from && /[\s.]/.test(name.charAt(to - 1))) to--;
  return name.slice(from, to);
}

/** To what a file system takes, with its extension. */
function cut(name: string): string {
  if (Buffer.byteLength(name) <= MOST_BYTES) return name;
  const end = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? '';
  let kept = '';
  let size = end.length;
  for (const character of name) {
    size += Buffer.byteLength(character);
    if (size > MOST_BYTES) break;
    kept += character;
  }
  return `${kept.trimEnd()}${end}`;
}
