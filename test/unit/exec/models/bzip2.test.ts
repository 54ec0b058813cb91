/** bzip2, against what the program of Debian packs. */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { bunzip2 } from '../../../../src/exec/models/conversion/bzip2.ts';

const packed = (content: Buffer, level = 9): Buffer =>
  spawnSync('/bin/bzip2', [`-${level}`, '-c'], { input: content, maxBuffer: 1 << 28 }).stdout;
/** No two runs of it are alike. */
const noise = (length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  for (let i = 0, state = 7; i < length; i++) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    bytes[i] = state >> 16;
  }
  return bytes;
};

it.each([
  ['nothing', Buffer.alloc(0)],
  ['one byte', Buffer.from('a')],
  ['four equal bytes', Buffer.from('aaaa')],
  ['runs that end, and begin again', Buffer.from(`${'a'.repeat(4)}${'b'.repeat(5)}${'a'.repeat(259)}${'a'.repeat(300)}`)],
  ['zeros of several blocks', Buffer.alloc(2_500_000)],
  ['noise of several blocks', noise(400_000)],
  ['a text', Buffer.from('To be, or not to be, that is the question. '.repeat(5000))],
])('reads %s as bzip2 wrote it', (_, content) => {
  for (const level of [1, 9]) expect(bunzip2(packed(content, level), 1 << 23).equals(content)).toBe(true);
});

it('refuses what is larger than its bound, damaged, or cut', () => {
  const whole = packed(noise(50_000), 1);
  expect(() => bunzip2(whole, 49_999)).toThrow('at most 49999 bytes');
  expect(() => bunzip2(whole.subarray(0, -9), 1 << 20)).toThrow(RangeError);
  expect(() => bunzip2(Buffer.from('BZh9 no block of it'), 1 << 20)).toThrow(RangeError);
  expect(() => bunzip2(Buffer.from('PK'), 1 << 20)).toThrow(RangeError);
});
