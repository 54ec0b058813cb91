/** What became of a file's properties, in the page's words. */
import { decimal, hasWord, t } from './words.ts';

/** @param outcome where a property is called otherwise then */
export function propertyName(property: string, outcome?: string): string {
  const [special, key] = [`property_${property}_${outcome}`, `property_${property}`];
  if (hasWord(special)) return t(special);
  // One that this page does not know yet.
  return hasWord(key) ? t(key) : property.replaceAll('_', ' ');
}

export function outcomeName(outcome: string): string {
  const key = `outcome_${outcome}`;
  return hasWord(key) ? t(key) : outcome;
}

/** Numbers with what they count, as the service says it. */
const COUNTED = [
  [/^([\d.]{1,20}) bits a channel$/, 'valueDepth'],
  [/^([\d.]{1,20}) bits$/, 'valueBits'],
  [/^([\d.]{1,20}) px an inch$/, 'valueDensity'],
  [/^([\d.]{1,20}) a second$/, 'valueRate'],
  [/^(\d{1,20}) words$/, 'valueWords'],
  [/^(\d{1,20}) bytes$/, 'valueBytes'],
  [/^(\d{1,20}) that may be run$/, 'valueRunnable'],
] as const;

export function valueText(value: string): string {
  const key = `value_${value.replaceAll(' ', '_')}`;
  if (hasWord(key)) return t(key);
  for (const [pattern, word] of COUNTED) {
    const number = pattern.exec(value)?.[1];
    if (number !== undefined) return t(word, { n: decimal(Number(number)) });
  }
  // Other numbers are in units that every language has: s, Hz, px.
  return value.replace(/^\d{1,15}\.\d{1,5}(?= |$)/, (number) => decimal(Number(number)));
}
