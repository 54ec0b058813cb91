/** Programs around models, each with what could be its worst case: eight times the size takes eight times the time. The models are those that every checkout has. */
import { join } from 'node:path';
import { proveLinear, type Reader } from './growth.ts';

const MODELS = join(import.meta.dirname, '../../../.cache/models');
const model = (id: string): string => `--${id}=${join(MODELS, id)}`;

/** Nothing in it repeats. */
const noise = (bytes: number): Buffer => {
  const result = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at++) result[at] = (Math.imul(at + 1, 2_654_435_761) >>> 13) & 255;
  return result;
};
/** Mono, 16 bits. */
function wave(rate: number, samples: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + 2 * samples, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(2 * rate, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(2 * samples, 40);
  return Buffer.concat([head, noise(2 * samples)]);
}
const photo = (width: number, height: number): Buffer =>
  Buffer.concat([
    Buffer.from(`P7\nWIDTH ${width}\nHEIGHT ${height}\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n`),
    noise(3 * width * height),
  ]);
/** @param models by which it works */
const around = (program: string, models: readonly string[], args: Reader['args'], file: Reader['file'], count: number): Reader => ({
  program,
  args: (input, output) => [...models.map(model), ...args(input, output)],
  file,
  count,
});

const [HEARD_HZ, SPOKEN_HZ, SUNG_HZ] = [48_000, 16_000, 44_100] as const;

proveLinear({
  'denoise: seconds of noise': around(
    'sound/denoise.ts',
    ['deepfilternet3'],
    (input) => [input, '5400'],
    (seconds) => wave(HEARD_HZ, HEARD_HZ * seconds),
    10,
  ),
  // Noise in which words are looked for: it is heard as long as speech, and again where what was found is doubted.
  'speech: seconds of noise': around(
    'sound/speech.ts',
    ['whisper-base'],
    (input, output) => [input, output, 'srt', 'auto', '1'],
    (seconds) => noise(2 * SPOKEN_HZ * seconds),
    15,
  ),
  'speech: seconds without words': around(
    'sound/speech.ts',
    ['whisper-base', 'silero-vad'],
    (input, output) => [input, output, 'srt', 'auto', '1'],
    (seconds) => noise(2 * SPOKEN_HZ * seconds),
    60,
  ),
  'separate: seconds of noise': around(
    'sound/separate.ts',
    [],
    (input, output) => [input, output, `${SUNG_HZ}`],
    (seconds) => noise(4 * SUNG_HZ * seconds),
    10,
  ),
  'enlarge: pixels': around(
    'pictures/enlarge.ts',
    ['realesrgan-x4plus'],
    (input, output) => [input, output, '4'],
    (width) => photo(width, 24),
    24,
  ),
  'matte: pixels': around(
    'pictures/matte.ts',
    ['u2netp'],
    (input, output) => ['cut', input, output],
    (width) => photo(width, 1_000),
    250,
  ),
  'inpaint: pixels of a hole': around(
    'pictures/inpaint.ts',
    ['migan'],
    (input, output) => [input, output, '10', '10', '200', '400'],
    (width) => photo(width, 1_000),
    450,
  ),
});
