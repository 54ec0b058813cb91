/** Serialises a client's record for the backends. */
import { ClientRecord, NEW_CLIENT } from './record.ts';

export const clientToText = (record: ClientRecord): string => JSON.stringify(record);

/**
 * A record that cannot be read, because it is damaged or of another version, is reset: that admits a few requests too many, while a failure
 * would lock the client out.
 * @param onUnreadable called with the reason
 */
export function clientFromText(key: string, text: string, onUnreadable: (why: Error) => void): ClientRecord {
  try {
    return ClientRecord.parse(JSON.parse(text));
  } catch (cause) {
    onUnreadable(new Error(`the limits of client ${key} cannot be read and are reset`, { cause }));
    return NEW_CLIENT;
  }
}
