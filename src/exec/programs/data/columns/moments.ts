/** Days and moments as text (ISO 8601), as tables without types have them. */
const DAY = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const MOMENT = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z?$/;
const DAY_MS = 86_400_000;

/** Whether its month has the day. */
const exists = (text: string): boolean => {
  const at = Date.parse(`${text.slice(0, 10)}T00:00:00Z`);
  return new Date(at).toISOString().startsWith(text.slice(0, 10));
};
export const isDay = (text: string): boolean => DAY.test(text) && exists(text);
export const isMoment = (text: string): boolean => MOMENT.test(text) && exists(text);

/** @returns days since 1970 */
export const dayOf = (text: string): number => Math.round(Date.parse(`${text}T00:00:00Z`) / DAY_MS);

/** @returns microseconds since 1970, in the text's own zone, which is UTC where it says so */
export function microsOf(text: string): bigint {
  const [whole = '', fraction = ''] = text.replace('Z', '').split('.');
  return BigInt(Date.parse(`${whole.replace(' ', 'T')}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}
