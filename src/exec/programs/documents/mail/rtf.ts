/** The text of a message that Outlook stored as compressed RTF ([MS-OXRTFCP]): HTML or plain text inside the RTF ([MS-OXRTFEX]), or RTF itself. */
import { pipeline } from 'node:stream/promises';
import { decompressRTF } from '@kenjiuno/decompressrtf';
import { deEncapsulateSync, Tokenize } from 'rtf-stream-parser';
import { ToPlainText } from 'rtf-stream-parser/dist/src/ToPlainText.js';
import { beyond } from '../../data/values/value.ts';

/** Compressed; each two bytes may stand for seventeen. */
const MOST_BYTES = 8 << 20;
/** The library looks through all that a group is in. */
const MOST_LEVELS = 200;
const HEADER_BYTES = 16;

export interface RtfText {
  readonly html?: string;
  readonly text?: string;
}

/** @param decode takes bytes and the number of a code page @returns undefined where it is damaged @throws FileRefused */
export async function textInRtf(compressed: Uint8Array, decode: (bytes: Buffer, page: number) => string): Promise<RtfText | undefined> {
  if (compressed.length > MOST_BYTES) throw beyond('bytes of compressed RTF', MOST_BYTES, compressed.length);
  const options = {
    decode: (bytes: Buffer, page: string) => decode(bytes, Number(page.replace('cp', ''))),
    replaceSymbolFontChars: true,
    warn: () => {},
  };
  const rtf = unpacked(compressed);
  if (rtf === undefined) return undefined;
  try {
    const { mode, text } = deEncapsulateSync(rtf, options);
    return { [mode]: String(text) };
  } catch {
    // It holds no other text.
  }
  const words: string[] = [];
  try {
    await pipeline(
      [Buffer.from(withoutPictures(rtf.toString('latin1')), 'latin1')],
      new Tokenize(),
      new ToPlainText(options),
      async (pieces: AsyncIterable<string>) => {
        for await (const piece of pieces) words.push(piece);
      },
    );
  } catch {
    return undefined;
  }
  return { text: words.join('') };
}

/** Marks groups that hold no text as optional: the library leaves out only those. */
const withoutPictures = (rtf: string): string => rtf.replace(/\{\\(?=(?:pict|info|stylesheet|object|header|footer)[a-z]?\b)/g, '{\\*\\');

/** @returns undefined for what is none */
function unpacked(compressed: Uint8Array): Buffer | undefined {
  if (compressed.length < HEADER_BYTES) return undefined;
  const bytes = Buffer.from(compressed);
  // The library would go on behind the end.
  bytes.writeUInt32LE(Math.min(bytes.readUInt32LE(0), bytes.length - 4), 0);
  try {
    // Control words that the tokenizer would complain about, each time, are left out.
    const rtf = withoutData(
      Buffer.from(decompressRTF([...bytes]))
        .toString('latin1')
        .replace(/\\\\|\\'(?![0-9a-f]{2})|\\bin\d{8,}/gi, (found) => (found === '\\\\' ? found : '')),
    );
    requireFlat(rtf);
    return Buffer.from(rtf, 'latin1');
  } catch (error) {
    if (error instanceof Error && error.message === 'Either COMPRESSED or UNCOMPRESSED') return undefined;
    throw error;
  }
}

/** Without binary data: it is no text, and its braces are no groups. An empty group keeps apart what was around it. */
function withoutData(rtf: string): string {
  const next = /\\bin(\d+) ?|\\./gs;
  const pieces: string[] = [];
  let from = 0;
  for (let found = next.exec(rtf); found !== null; found = next.exec(rtf)) {
    if (found[1] === undefined) continue;
    pieces.push(rtf.slice(from, found.index));
    from = next.lastIndex += Number(found[1]);
  }
  return [...pieces, rtf.slice(from)].join('{}');
}

function requireFlat(rtf: string): void {
  let level = 0;
  for (const [found] of rtf.matchAll(/\\[\\{}]|[{}]/g)) {
    level = Math.max(0, level + (found === '{' ? 1 : found === '}' ? -1 : 0));
    if (level > MOST_LEVELS) throw beyond('groups in each other', MOST_LEVELS);
  }
}
