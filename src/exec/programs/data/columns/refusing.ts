/** What a library throws is said in our words. */
import { beyond, FileRefused } from '../values/value.ts';
import { damaged } from './raw.ts';

/** @throws FileRefused for whatever a library throws; what says that memory is short is thrown on */
export function refusing<Result>(library: () => Result): Result {
  try {
    return library();
  } catch (error) {
    if (error instanceof FileRefused) throw error;
    const message = error instanceof Error ? error.message : String(error);
    if (/memory|allocation failed|Invalid (?:string|typed array) length/i.test(message)) throw error;
    if (/maximum call stack/i.test(message)) throw beyond('levels', 200);
    if (/cannot create a (?:buffer|string) (?:larger|longer)/i.test(message)) throw beyond('bytes of a block', 256 << 20);
    throw damaged();
  }
}
