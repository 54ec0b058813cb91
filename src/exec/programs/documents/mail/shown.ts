/** Files of a message or a web archive as `data:` URLs in its page. */
import { beyond } from '../../data/values/value.ts';
import type { MailedFile } from './messages.ts';

/** Length of all URLs of a result together, characters: a page may show the same picture a hundred thousand times. */
const MOST_SHOWN = 128 << 20;
const SHOWABLE = /^(?:image|font)\/[a-z0-9.+-]{1,50}$|^application\/(?:x-)?font-[a-z0-9.+-]{1,50}$/i;

/** Takes a file; undefined for what is no picture and no font. */
export type PictureUrls = (file: MailedFile) => string | undefined;

export function picturesOf(): PictureUrls {
  const urls = new Map<MailedFile, string>();
  let written = 0;
  return (file) => {
    if (!SHOWABLE.test(file.type)) return undefined;
    const url = urls.getOrInsertComputed(file, () => `data:${file.type};base64,${file.bytes.toString('base64')}`);
    written += url.length;
    if (written > MOST_SHOWN) throw beyond('bytes of the pictures that a page shows', MOST_SHOWN, written);
    return url;
  };
}

export const isContentId = (reference: string): boolean => /^\s{0,20}cid:/i.test(reference);

/** @param reference a URL `cid:` (RFC 2392) */
export function contentIdOf(reference: string): string {
  const id = reference.trim().slice('cid:'.length);
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
