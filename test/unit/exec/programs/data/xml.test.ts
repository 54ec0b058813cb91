/** Names that XML does not allow, and what becomes of two that become one. */
import { expect, it } from 'vitest';
import { type Datum, fieldsFrom } from '../../../../../src/exec/programs/data/values/value.ts';
import { xml } from '../../../../../src/exec/programs/data/values/xml.ts';

const written = (value: Datum) => xml.write(value).text.split('\n').slice(1).join('').replaceAll(/>\s+</g, '><');
const RENAMED = ['Names that XML does not allow were changed.'];
const secondsOf = (work: () => void): number => {
  const { user } = process.cpuUsage();
  work();
  return (process.cpuUsage().user - user) / 1e6;
};

it('keeps all elements whose names become one, in their order', () => {
  const value = { r: { 'a b': [1, 2], a_b: 3, c: 0, 'a:b': { d: 4 } } };
  expect(written(value)).toBe('<r><a_b>1</a_b><a_b>2</a_b><a_b>3</a_b><a_b><d>4</d></a_b><c>0</c></r>');
});

it('keeps all attributes whose names become one, with a number', () => {
  const value = { r: { '@a b': 1, '@a_b-2': 2, '@a/b': 3, '@a_b': 4, x: null } };
  expect(written(value)).toBe('<r a_b="1" a_b-2="2" a_b-3="3" a_b-4="4"><x/></r>');
  expect(xml.write(value).warnings).toEqual(RENAMED);
});

it('takes a prefix for declared only inside of what declares it', () => {
  const value = { r: { a: { '@xmlns:p': 'urn:p', b: { 'p:c': 1 } }, d: { 'p:c': 2 } } };
  expect(written(value)).toBe('<r><a xmlns:p="urn:p"><b><p:c>1</p:c></b></a><d><p_c>2</p_c></d></r>');
});

it('writes many names that become one in time that grows with them', () => {
  // Characters for private use are in no name.
  const same = (before: string) =>
    fieldsFrom(Array.from({ length: 50_000 }, (_, at) => [`${before}${String.fromCodePoint(0xf0000 + at)}`, at] as const));
  for (const before of ['a', '@a']) expect(secondsOf(() => xml.write({ r: same(before) }))).toBeLessThan(5);
});

it('declares prefixes for many elements in time that grows with them', () => {
  const outer = Array.from({ length: 3_000 }, (_, at) => [`@xmlns:p${at}`, 'urn:p'] as const);
  const inner = Array.from({ length: 3_000 }, () => ({ '@xmlns:q': 'urn:q', 'p7:x': 1 }));
  expect(secondsOf(() => xml.write({ r: fieldsFrom([...outer, ['e', inner]]) }))).toBeLessThan(1.5);
});
