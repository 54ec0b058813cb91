/** Parses points in time of a recording. */

/** Seconds from `12.5` or `HH:MM:SS(.mmm)`. @returns NaN if the text is neither */
export function seconds(text: string): number {
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text)) return Number(text);
  const match = /^(\d{1,2}):([0-5]\d):([0-5]\d(?:\.\d{1,3})?)$/.exec(text);
  return match === null ? Number.NaN : Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3]);
}
