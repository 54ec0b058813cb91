/** Formats by what the rows of their tables say: bytes at the beginning of a file, then headers that must be plausible. */

import type { Signature } from '../formats/format.ts';
import { formats } from '../formats.ts';
import { has } from '../looks/bytes.ts';
import type { Detected, Sample } from '../looks/sample.ts';
import { asFormat } from './verdict.ts';

const partsOf = (signature: Signature) => (typeof signature === 'string' ? ([[0, signature]] as const) : signature);
const bytesOf = (parts: ReturnType<typeof partsOf>): number => parts.reduce((sum, [, bytes]) => sum + bytes.length, 0);

/** Long ones before short ones, which a longer one may begin with. */
const SIGNATURES = [...formats.values()]
  .flatMap(({ id, signatures = [] }) => signatures.map((signature) => ({ id, parts: partsOf(signature) })))
  .toSorted((one, other) => bytesOf(other.parts) - bytesOf(one.parts));

/** They exclude each other, since they are all in the first bytes: a GIF with an appended page is a GIF. */
export function bySignature({ head }: Sample): Detected | undefined {
  const found = SIGNATURES.find(({ parts }) => parts.every(([at, bytes]) => has(head, at, bytes)));
  return found && asFormat(found.id);
}

const LOOKS = [...formats.values()].flatMap(({ id, looks }) => (looks === undefined ? [] : [{ id, looks }]));

export function byHeader(sample: Sample): Detected | undefined {
  const found = LOOKS.find(({ looks }) => looks(sample));
  return found && asFormat(found.id);
}
