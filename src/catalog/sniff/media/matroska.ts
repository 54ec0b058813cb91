/** Matroska and WebM, by document type and by whether any track is video (RFC 8794, RFC 9559). */
import { has, latin1, u8 } from '../../looks/bytes.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { asFormat, UNKNOWN } from '../verdict.ts';

const DOC_TYPE = 0x4282;
const SEGMENT = 0x1853_8067;
const TRACKS = 0x1654_ae6b;
const TRACK_ENTRY = 0xae;
const TRACK_TYPE = 0x83;
const VIDEO = 1;
const AUDIO = 2;
/** Level-1 elements before the tracks, and tracks, are few; long runs of tiny elements are not followed. */
const MOST_ELEMENTS = 2000;

export function matroska({ head }: Sample): Detected | undefined {
  if (!has(head, 0, '\x1a\x45\xdf\xa3')) return undefined;
  const header = elements(head, 0, head.length)[0];
  if (header === undefined) return UNKNOWN;
  const docType = elements(head, header.from, header.to).find(({ id }) => id === DOC_TYPE);
  const name = docType === undefined ? 'matroska' : textOf(head, docType);
  if (name !== 'webm' && name !== 'matroska') return UNKNOWN;
  const types = trackTypes(head, header.to);
  if (types.includes(AUDIO) && !types.includes(VIDEO)) return asFormat('mka');
  return asFormat(name === 'webm' ? 'webm' : 'mkv');
}

/** A string ends with its element, or at a NUL (RFC 8794, 7.4); all document types are shorter than this. */
const LONGEST_TEXT = 64;

const textOf = (head: Uint8Array, { from, to }: Element): string =>
  latin1(head, from, Math.min(to - from, LONGEST_TEXT)).split('\0', 1)[0] ?? '';

/** Empty if the tracks lie outside the head. */
function trackTypes(head: Uint8Array, from: number): readonly number[] {
  const segment = elements(head, from, head.length).find(({ id }) => id === SEGMENT);
  const tracks = segment && elements(head, segment.from, segment.to).find(({ id }) => id === TRACKS);
  if (tracks === undefined) return [];
  return elements(head, tracks.from, tracks.to)
    .filter(({ id }) => id === TRACK_ENTRY)
    .flatMap((entry) => elements(head, entry.from, entry.to).filter(({ id }) => id === TRACK_TYPE))
    .map(({ from }) => u8(head, from));
}

interface Element {
  readonly id: number;
  readonly from: number;
  readonly to: number;
}

/** The elements between two offsets; unknown and excessive sizes are cut to the range. */
function elements(bytes: Uint8Array, from: number, to: number): readonly Element[] {
  const found: Element[] = [];
  let at = from;
  while (at < to && found.length < MOST_ELEMENTS) {
    const id = variableInteger(bytes, at, 4, true);
    const size = id && variableInteger(bytes, at + id.length, 8, false);
    if (id === undefined || size === undefined) break;
    const start = at + id.length + size.length;
    const end = size.value === undefined ? to : Math.min(to, start + size.value);
    if (end < start) break;
    found.push({ id: id.value ?? 0, from: start, to: end });
    at = end;
  }
  return found;
}

/** RFC 8794, section 4. @param marked whether the length marker belongs to the value, as in ids. value undefined: "size unknown" */
function variableInteger(
  bytes: Uint8Array,
  at: number,
  longest: number,
  marked: boolean,
): { length: number; value: number | undefined } | undefined {
  const first = u8(bytes, at);
  const length = Math.clz32(first) - 23;
  if (!(first > 0) || length > longest || at + length > bytes.length) return undefined;
  let value = marked ? first : first & (0xff >> length);
  let ones = (first | (0xff << (8 - length))) === -1 || (first & (0xff >> length)) === 0xff >> length;
  for (let i = 1; i < length; i++) {
    const byte = u8(bytes, at + i);
    ones &&= byte === 0xff;
    value = value * 256 + byte;
  }
  return { length, value: ones && !marked ? undefined : value };
}
