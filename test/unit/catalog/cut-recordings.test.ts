/** Whether the end of a recording is missing, told from bytes written by hand: whole files with odd lengths, and others with many tags. */
import { describe, expect, it } from 'vitest';
import { cutOffIn } from '../../../src/catalog/planning/recordings/cut.ts';

/** @returns also how often the file was read */
function looked(format: string, bytes: Uint8Array) {
  let reads = 0;
  const file = {
    size: bytes.length,
    read(at: number, length: number) {
      reads++;
      return bytes.subarray(at, at + length);
    },
    byte: (at: number) => bytes[at],
  };
  return { isCut: cutOffIn(format, file)['cutOff'] === true, reads };
}

const text = (name: string) => Buffer.from(name, 'latin1');
function number(write: 'writeUInt32LE' | 'writeUInt32BE', value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes[write](value);
  return bytes;
}
const little = (name: string, length: number, content = length) =>
  Buffer.concat([text(name), number('writeUInt32LE', length), Buffer.alloc(content, 0x41)]);
const large = (name: string, length: number, content = length) =>
  Buffer.concat([text(name), number('writeUInt32BE', length), Buffer.alloc(content, 0x41)]);
/** The length of its head is part of it. */
const long = (name: string, length: number, content = length) =>
  Buffer.concat([text(name), Buffer.alloc(12), number('writeUInt32LE', 24 + length), Buffer.alloc(4), Buffer.alloc(content, 0x41)]);
const PAD = Buffer.alloc(1);

const wav = (...parts: readonly Buffer[]) => Buffer.concat([text('RIFF'), Buffer.alloc(4), text('WAVE'), little('fmt ', 16), ...parts]);
const avi = (...parts: readonly Buffer[]) => Buffer.concat([text('RIFF'), Buffer.alloc(4), text('AVI '), ...parts]);
const aiff = (...parts: readonly Buffer[]) => Buffer.concat([text('FORM'), Buffer.alloc(4), text('AIFF'), large('COMM', 18), ...parts]);
const w64 = (...parts: readonly Buffer[]) => Buffer.concat([Buffer.alloc(40), long('fmt ', 16), ...parts]);

describe('a recording', () => {
  it.each<[says: string, format: string, bytes: Buffer, isCut: boolean]>([
    ['of an even length is whole', 'wav', wav(little('data', 100)), false],
    ['of an odd length is whole with its last byte', 'wav', wav(little('data', 101), PAD), false],
    ['of an odd length is whole without it', 'wav', wav(little('data', 101)), false],
    ['of an odd length is whole with words behind it', 'wav', wav(little('data', 101), PAD, little('LIST', 60)), false],
    ['is whole where words behind it are not', 'wav', wav(little('data', 101), PAD, little('LIST', 61, 30)), false],
    ['has words of an odd length before it', 'wav', wav(little('LIST', 61), PAD, little('data', 101)), false],
    ['with such words is cut', 'wav', wav(little('LIST', 61), PAD, little('data', 101, 100)), true],
    ['without its last sample is cut', 'wav', wav(little('data', 101, 100)), true],
    ['is whole where a last part of an odd length has no byte behind it', 'avi', avi(little('LIST', 80), little('idx1', 33)), false],
    ['is cut in its last part', 'avi', avi(little('LIST', 80), little('idx1', 33, 32)), true],
    ['of an odd length is whole with words behind it', 'aiff', aiff(large('SSND', 101), PAD, large('NAME', 60)), false],
    ['is whole where words behind it are not', 'aiff', aiff(large('SSND', 101), PAD, large('NAME', 61, 3)), false],
    ['without its last sample is cut', 'aiff', aiff(large('SSND', 101, 100)), true],
    ['of an odd length is whole with words behind it', 'w64', w64(long('data', 101), Buffer.alloc(3), long('list', 64)), false],
    ['without its last sample is cut', 'w64', w64(long('data', 101, 100)), true],
  ])('%s: %s', (_, format, bytes, isCut) => {
    expect(looked(format, bytes).isCut).toBe(isCut);
  });

  it.each(['mp3', 'flac'])('with empty tags without end is read a few times, as %s', (format) => {
    const tags = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1')));
    const { isCut, reads } = looked(format, tags);
    expect(isCut).toBe(false);
    expect(reads).toBeLessThan(40);
  });
});
