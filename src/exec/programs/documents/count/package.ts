/** The parts of an office package, which is a ZIP archive. */
import { Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { STORED, zipEntries } from '../../archives/zip.ts';

export interface Part {
  /** XML or HTML, or another package; parts of any other kind are left out. */
  readonly kind: 'text' | 'package';
  read(): AsyncIterable<Buffer>;
}

/** What cannot have markup, by the names that office programs give it: a part of another name is read, whatever it is called. */
const MEDIA = /\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svm|webp|mp[34]|wav|ttf|otf|odttf|bin|rdf)$/i;

/** Nothing for a file that is no archive, such as an encrypted document. */
export function* partsOf(bytes: Buffer): Generator<Part> {
  for (const { name, method, raw } of zipEntries(bytes))
    if (!MEDIA.test(name))
      yield { kind: /\.(?:docx|odt|pptx|odp|docm|dotx)$/i.test(name) ? 'package' : 'text', read: () => unpacked(raw, method) };
}

async function* unpacked(raw: Buffer, method: number): AsyncGenerator<Buffer> {
  if (method === STORED) yield raw;
  else yield* Readable.from([raw]).pipe(createInflateRaw({ chunkSize: 1 << 18 })) as AsyncIterable<Buffer>;
}
