/** Raw streams of audio frames (MPEG layers II and III, ADTS, AC-3). A sync word is short, so several frames must follow each other. */
import { has, u8 } from '../../looks/bytes.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { frameAt } from '../../looks/sound-frames.ts';
import { asFormat } from '../verdict.ts';

/** Frames in a row that are required: where a frame should begin, and after a search. */
const IN_PLACE = 2;
const SEARCHED = 4;

export function frames({ head, tail, size }: Sample): Detected | undefined {
  const start = pastTag(head);
  if (start >= head.length && start < size && has(head, 0, 'ID3')) return searched(tail);
  const audio = pastZeros(head, start);
  if (has(head, audio, 'fLaC') && audio > 0) return asFormat('flac');
  const found = chain(head, audio, IN_PLACE, size <= head.length);
  // Some taggers add padding that the tag's size does not include.
  return found ?? (start > 0 ? searched(head.subarray(audio)) : undefined);
}

/** Skips ID3v2 tags, whose size is four times seven bits. A tag may repeat, and may contain a cover larger than the head. */
function pastTag(head: Uint8Array): number {
  let at = 0;
  while (has(head, at, 'ID3')) {
    const size = [6, 7, 8, 9].reduce((sum, i) => sum * 128 + (u8(head, at + i) & 0x7f), 0);
    if (head.length < at + 10) break;
    at += 10 + size + ((u8(head, at + 5) & 0x10) !== 0 ? 10 : 0);
  }
  return at;
}

function pastZeros(head: Uint8Array, from: number): number {
  let at = from;
  while (head[at] === 0) at++;
  // Without a tag, a file that begins with zeros is no audio.
  return from === 0 ? 0 : at;
}

function searched(bytes: Uint8Array): Detected | undefined {
  for (let at = 0; at < bytes.length; at++) {
    const found = chain(bytes, at, SEARCHED, false);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @param ends whether the bytes end at the end of the file, where fewer frames suffice */
function chain(bytes: Uint8Array, from: number, wanted: number, ends: boolean): Detected | undefined {
  const first = frameAt(bytes, from);
  if (first === undefined) return undefined;
  let at = from + first.length;
  for (let seen = 1; seen < wanted; seen++) {
    // After the last frame comes nothing, or an ID3v1 tag.
    if (ends && (at === bytes.length || has(bytes, at, 'TAG'))) break;
    const next = frameAt(bytes, at);
    if (next?.format !== first.format) return undefined;
    at += next.length;
  }
  return asFormat(first.format);
}
