/** The objects of a PDF, found by their marks and not by its table, which may be damaged: of those with one number the last counts. (ISO 32000-1, 7.3.10, 7.5.7) */
import { Unmeasured, unpacked } from '../bytes.ts';
import { type PdfDictionary, type PdfReference, type PdfString, type PdfValue, valueIn } from './pdf-values.ts';

/** All streams of objects together, unpacked. */
const MOST_UNPACKED = 16 << 20;

export interface PdfObjects {
  readonly root: PdfDictionary;
  readonly info: PdfDictionary;
  /** Follows references. */
  get(value: PdfValue | undefined): PdfValue | undefined;
  dictionary(value: PdfValue | undefined): PdfDictionary;
  list(value: PdfValue | undefined): readonly PdfValue[];
  /** Dictionaries of all streams, with the numbers of their objects. */
  readonly streams: readonly (readonly [number, PdfDictionary])[];
}

const isDictionary = (value: PdfValue | undefined): value is PdfDictionary => value instanceof Map;
export const isPdfString = (value: PdfValue | undefined): value is PdfString =>
  typeof value === 'object' && value !== null && 'text' in value;
const isReference = (value: PdfValue | undefined): value is PdfReference =>
  typeof value === 'object' && value !== null && 'object' in value;
export const referenceOf = (value: PdfValue | undefined): number | undefined => (isReference(value) ? value.object : undefined);

/** @throws Unmeasured where it is encrypted, or has no root */
export function objectsIn(bytes: Buffer): PdfObjects {
  const text = bytes.toString('latin1');
  const [places, streams, packed] = [new Map<number, Place>(), new Map<number, PdfDictionary>(), [] as Stream[]];
  const written = new Map<number, number>();
  const trailers: PdfDictionary[] = [];
  for (const { number, at, stops, dictionary } of objectsOf(text)) {
    places.set(number, [text, at, stops]);
    written.set(number, at);
    streams.delete(number);
    if (dictionary === undefined) continue;
    streams.set(number, dictionary);
    if (dictionary.get('Type') === '/ObjStm') packed.push({ dictionary, at: stops });
    if (dictionary.get('Type') === '/XRef') trailers.push(dictionary);
  }
  for (let at = text.indexOf('trailer'); at >= 0 && trailers.length < MOST_TRAILERS; at = text.indexOf('trailer', at + 7)) {
    const value = valueIn(text, at + 7, at + MOST_TRAILER);
    if (isDictionary(value)) trailers.push(value);
  }
  if (trailers.some((each) => each.has('Encrypt'))) throw new Unmeasured('encrypted');
  unpack(packed, bytes, (number, at, place) => {
    if (at < (written.get(number) ?? -1)) return;
    places.set(number, place);
    written.set(number, at);
    streams.delete(number);
  });

  const known = new Map<number, PdfValue>();
  let left = MOST_PARSED;
  const get = (value: PdfValue | undefined): PdfValue | undefined => {
    let found = value;
    for (let steps = 0; isReference(found); steps++) {
      if (steps > 8) return undefined;
      const { object } = found;
      const place = places.get(object);
      if (!known.has(object)) {
        if (place !== undefined) left -= place[2] - place[1];
        if (left < 0) throw new Unmeasured('too much of it');
        known.set(object, place === undefined ? null : valueIn(...place));
      }
      found = known.get(object);
    }
    return found;
  };
  const dictionary = (value: PdfValue | undefined): PdfDictionary => {
    const found = get(value);
    return isDictionary(found) ? found : new Map<string, PdfValue>();
  };
  const list = (value: PdfValue | undefined): readonly PdfValue[] => {
    const found = get(value);
    return Array.isArray(found) ? (found as readonly PdfValue[]) : [];
  };
  const last = (key: string) => trailers.findLast((each) => each.has(key))?.get(key);
  const root = dictionary(last('Root'));
  if (!root.has('Pages')) throw new Unmeasured('no root');
  return { root, info: dictionary(last('Info')), get, dictionary, list, streams: [...streams] };
}

const MOST_TRAILERS = 100;
const MOST_TRAILER = 64 << 10;
/** Characters of one object that has no end, and of all that are looked at. */
const MOST_OBJECT = 4 << 20;
const MOST_PARSED = 64 << 20;
/** The text that has the object, and where it begins and ends there. */
type Place = readonly [text: string, at: number, stops: number];
interface FoundObject {
  readonly number: number;
  /** Where its value begins and ends; where the bytes of its stream begin. */
  readonly at: number;
  readonly stops: number;
  /** Set for a stream. */
  readonly dictionary: PdfDictionary | undefined;
}

function* objectsOf(text: string): Generator<FoundObject> {
  const [ends, streams] = [seeker(text, 'endobj'), seeker(text, 'stream')];
  for (let mark = text.indexOf('obj'), next = 0; mark >= 0; mark = text.indexOf('obj', next)) {
    const [at, number] = [mark + 3, numberBefore(text, mark)];
    next = at;
    if (number === undefined) continue;
    const [stops, stream] = [ends(at), streams(at)];
    const isStream = stream < stops && text.startsWith('>>', lastInk(text, stream) - 1);
    if (!isStream) {
      yield { number, at, stops: Math.min(stops, at + MOST_OBJECT, text.length), dictionary: undefined };
      if (stops < text.length) next = stops + 6;
      continue;
    }
    const value = valueIn(text, at, stream);
    const dictionary = isDictionary(value) ? value : undefined;
    const begins = stream + (text[stream + 6] === '\r' ? 8 : 7);
    yield { number, at, stops: begins, dictionary };
    const length = dictionary?.get('Length');
    const told = typeof length === 'number' ? begins + length : -1;
    const isTold = told >= 0 && text.slice(told, told + 12).includes('endstream');
    const found = isTold ? told : text.indexOf('endstream', begins);
    if (found < 0) return;
    next = found;
  }
}

/** Before `obj` stand the number of the object and that of its generation. */
function numberBefore(text: string, mark: number): number | undefined {
  const [generation, number] = text
    .slice(Math.max(0, mark - 24), mark)
    .split(/[\s\0]+/)
    .filter(Boolean)
    .toReversed();
  const digits = /\d{1,10}$/.exec(number ?? '')?.[0];
  return digits === undefined || !/^\d{1,5}$/.test(generation ?? '') ? undefined : Number(digits);
}

/** Finds the next place of a word, for places that only grow: the end of the text where there is none. */
function seeker(text: string, word: string): (from: number) => number {
  let next = -1;
  return (from) => {
    if (next < from) {
      const found = text.indexOf(word, from);
      next = found < 0 ? text.length : found;
    }
    return next;
  };
}

function lastInk(text: string, before: number): number {
  let at = before - 1;
  while (at > 0 && before - at < 16 && /\s/.test(text[at] ?? '')) at--;
  return at;
}

interface Stream {
  readonly dictionary: PdfDictionary;
  readonly at: number;
}

/** Objects in streams, which older files do not have. @param onObject gets each with where its stream is in the file: of two with one number the later counts */
function unpack(packed: readonly Stream[], bytes: Buffer, onObject: (number: number, at: number, place: Place) => void): void {
  let left = MOST_UNPACKED;
  for (const { dictionary, at: from } of packed) {
    const filter = dictionary.get('Filter');
    const isFlate = filter === '/FlateDecode' || (Array.isArray(filter) && filter.length === 1 && filter[0] === '/FlateDecode');
    const [count, first] = [Number(dictionary.get('N')), Number(dictionary.get('First'))];
    if (!isFlate || !(count >= 0) || dictionary.has('DecodeParms')) throw new Unmeasured('another filter');
    const end = bytes.indexOf('endstream', from, 'latin1');
    const inner = unpacked(bytes.subarray(from, end < 0 ? undefined : end), 'zlib', left);
    left -= inner.length;
    const text = inner.toString('latin1');
    const numbers = text.slice(0, first).split(/\s/).filter(Boolean).map(Number);
    for (let index = 0; index + 1 < Math.min(numbers.length, 2 * count); index += 2) {
      const at = first + (numbers[index + 1] ?? 0);
      onObject(numbers[index] ?? -1, from, [text, at, Math.min(first + (numbers[index + 3] ?? inner.length), inner.length)]);
    }
  }
}
