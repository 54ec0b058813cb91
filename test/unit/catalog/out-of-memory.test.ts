/** Lack of memory is never the file's fault: what programs say of it, by engine, and what an encoder needs before it starts. */
import { describe, expect, it } from 'vitest';
import { withinMemory } from '../../../src/catalog/engines/pictures/libvips/memory.ts';
import { type ImageRequest, refusalFor } from '../../../src/catalog/engines/pictures/libvips/request.ts';
import { TARGETS } from '../../../src/catalog/engines/pictures/libvips/targets.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { requireMemory } from '../../../src/catalog/planning/encoders.ts';
import { answerOf } from '../../../src/judge/answer.ts';

/** As the programs print it, behind what they say of the file. */
const WORDS: readonly (readonly [by: string, words: string])[] = [
  ['libheif, of libaom', 'Encoder plugin generated an error: Unspecified: Failed to allocate frame buffer'],
  ['libheif', 'Memory allocation error: Unspecified'],
  ['x265', 'x265 [error]: malloc of size 786432000 failed\nCould not encode HEIF/AVIF file'],
  ['libavif', 'ERROR: Failed to encode image: Out of memory'],
  ['libjxl', 'JxlEncoderProcessOutput failed. std::bad_alloc'],
  ['OpenJPEG', 'convert: Not enough memory to encode tile'],
  ['libjpeg', 'Insufficient memory (case 4)'],
  ['LibRaw', 'photo.nef: Unsufficient memory'],
  ['ImageMagick', 'convert-im6.q16: cache resources exhausted `/job/in.png` @ error/cache.c/OpenPixelCache/4095.'],
  ['glibc', 'cannot allocate memory'],
  ['glib', 'GLib-ERROR **: gmem.c:136: failed to allocate 4294967296 bytes'],
  ['Rust', 'memory allocation of 8589934592 bytes failed'],
  ['Python', 'Traceback (most recent call last):\nMemoryError'],
  ['Node', 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'],
  ['Node, of a buffer', 'RangeError: Array buffer allocation failed'],
  ['Ghostscript', 'Error: /VMerror in --showpage--'],
  ['FFmpeg', 'Error while filtering: Cannot allocate memory'],
  ['libarchive', "Can't allocate memory for PPMd"],
];
const loaded = { engines: new Map(engines.map((engine) => [engine.id, engine])), tools: new Map() };
const reasonOf = (engine: string, output: string) => answerOf(loaded, { ask: 'reason', engine, output, code: 1 });

describe('a program that gets no memory', () => {
  it.each(WORDS)('is understood in the words of %s, whatever engine runs it', (_by, words) => {
    const blamed = engines.filter(({ id }) => {
      const answer = reasonOf(id, `the file cannot be read\n${words}\n`);
      return answer.is !== 'value' || answer.value === undefined || answer.value === 'corrupt_input';
    });
    expect(blamed.map(({ id }) => id)).toEqual([]);
    expect(refusalFor(`heifsave: ${words}`).answer.reason).toBe('memory');
  });

  it.each([
    'Memory allocation error: Security limit exceeded: 4294967296 bytes of iloc',
    'unexpected end of file',
    'memory.png: bad header',
  ])('is not what says: %s', (words) => {
    expect(reasonOf('heif', words)).not.toMatchObject({ value: 'memory' });
    expect(refusalFor(words).answer.reason).toBe('corrupt_input');
  });
});

describe('an encoder', () => {
  const request = { target: 'avif', memoryBytes: 2 * 1024 ** 3 } as ImageRequest;
  const planned = (target: string, width: number, height: number, memoryBytes = 2 * 1024 ** 3) => {
    const encoder = TARGETS[target];
    if (encoder === undefined) throw new Error(target);
    return withinMemory({ ...request, target, memoryBytes }, encoder, { width, height });
  };

  it('has all colours of 24 megapixels, half their resolution at 50, and refuses 100 with figures', () => {
    expect(planned('avif', 6000, 4000)).toEqual({ request, warnings: [] });
    const large = planned('avif', 8160, 6120);
    expect(large.request.halved).toBe(true);
    expect(large.warnings).toMatchObject([{ code: 'lossy' }]);
    expect(TARGETS['avif']?.encode(large.request, false).properties).toMatchObject({ 'subsample-mode': 'on' });
    const refused = () => planned('avif', 12_000, 8333);
    expect(refused).toThrow(/^The result would have 99996000 pixels, and the memory of a conversion is enough for 7\d{7} in AVIF: /);
    expect(refused).toThrow(
      expect.objectContaining({
        answer: expect.objectContaining({
          reason: 'memory',
          details: { limit: 'pixels of avif', max: expect.any(Number), received: 99_996_000 },
        }),
      }),
    );
    expect(planned('avif', 12_000, 8333, 8 * 1024 ** 3)).toMatchObject({ warnings: [] });
  });

  it('takes a third more where there is opacity', () => {
    const encoder = TARGETS['avif'];
    if (encoder === undefined) throw new Error('avif');
    const size = { width: 7600, height: 5500 };
    expect(withinMemory(request, encoder, size).request.halved).toBeUndefined();
    expect(withinMemory(request, encoder, { ...size, alpha: true }).request.halved).toBe(true);
    expect(() => withinMemory(request, encoder, { width: 8160, height: 7000, alpha: true })).toThrow(/ 5\d{7} in AVIF: /);
  });

  it.each([
    ['jpg', 'heic', 'heif'],
    ['bmp', 'jp2', 'imagemagick'],
    ['png', 'jxl', 'jxl'],
    ['jpg', 'jxl', 'jxl'],
  ])(
    'of another program, from %s to %s, is refused with figures before it starts, and only where it is too little',
    (source, target, id) => {
      const engine = engines.find((each) => each.id === id);
      const frame = { width: 10_000, height: 10_000, alpha: false, upright: true, onItsSide: false, profile: false, shallow: true };
      const task = { source, target, options: {}, input: '/in', output: '/out', scratch: '/scratch', passwordFile: undefined };
      const needs = engine?.plan({ ...task, facts: { frames: [frame] } }).needs;
      expect(needs).toMatchObject({ target, pixels: 100_000_000 });
      expect(() => requireMemory(needs, 1024 ** 3)).toThrow(
        expect.objectContaining({
          code: 'CONVERSION_FAILED',
          details: { reason: 'memory', limit: `pixels of ${target}`, max: expect.any(Number), received: 100_000_000 },
        }),
      );
      expect(() => requireMemory(needs, 8 * 1024 ** 3)).not.toThrow();
    },
  );

  it.each([
    [4_032, 3_024, false],
    [8_160, 6_120, true],
  ])('of %i × %i px towards HEIC is encoded in the time of a job: with the faster preset, %s', (width, height, fast) => {
    const frame = { width, height, alpha: false, upright: true, onItsSide: false, profile: false, shallow: true };
    const task = { source: 'jpg', target: 'heic', options: {}, input: '/in', output: '/out', scratch: '/scratch', passwordFile: undefined };
    const { steps } = engines.find(({ id }) => id === 'heif')?.plan({ ...task, facts: { frames: [frame] } }) ?? { steps: [] };
    const encoding = steps.at(-1);
    expect(encoding !== undefined && 'args' in encoding && encoding.args.includes('preset=fast')).toBe(fast);
  });

  it('without such a need is not asked', () => expect(planned('webp', 12_000, 8333, 1)).toMatchObject({ warnings: [] }));
});
