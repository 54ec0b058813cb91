/** A client's record as the text that a backend keeps. */
import { ClientRecord, NEW_CLIENT } from './record.ts';

export const toText = (record: ClientRecord): string => JSON.stringify(record);

/**
 * A record that cannot be read, damaged or of another version, is a client that begins anew: it costs a few requests too many, where a failure
 * would lock the client out.
 * @param unreadable is told why
 */
export function fromText(key: string, text: string, unreadable: (why: Error) => void): ClientRecord {
  try {
    return ClientRecord.parse(JSON.parse(text));
  } catch (cause) {
    unreadable(new Error(`the limits of client ${key} cannot be read, and begin anew`, { cause }));
    return NEW_CLIENT;
  }
}
