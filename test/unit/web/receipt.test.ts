/** The page has a word for each property that a receipt may name. */
import { expect, it } from 'vitest';
import { allProperties } from '../../../src/catalog/fidelity/receipt.ts';
import { PropertyVerdict } from '../../../src/contracts/api/job.ts';
import { de } from '../../../web/src/words/de.ts';
import { en } from '../../../web/src/words/en.ts';
import { es } from '../../../web/src/words/es.ts';

const names = new Set(allProperties);

it.each([
  ['English', en],
  ['German', de],
  ['Spanish', es],
])('in %s, and for each outcome', (_, words) => {
  const known = Object.keys(words);
  expect([...names].filter((name) => !known.includes(`property_${name}`))).toEqual([]);
  expect(PropertyVerdict.shape.outcome.options.filter((outcome) => !known.includes(`outcome_${outcome}`))).toEqual([]);
  // Nothing is left of what no receipt names.
  const told = known.filter((key) => key.startsWith('property_')).map((key) => key.replace(/^property_|_adapted$/g, ''));
  expect(told.filter((name) => !names.has(name))).toEqual([]);
});
