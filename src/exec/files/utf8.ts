/** Whether a file is text in UTF-8: a stream of its bytes is decoded, and nothing of it kept. */
import { createReadStream } from 'node:fs';

/** UTF-16 has zeros, and ISO-2022 escapes, which text in UTF-8 hardly has. */
export async function isUtf8Text(path: string): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of createReadStream(path)) {
      if ((chunk as Buffer).includes(0) || (chunk as Buffer).includes(0x1b)) return false;
      decoder.decode(chunk as Buffer, { stream: true });
    }
    decoder.decode();
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}
