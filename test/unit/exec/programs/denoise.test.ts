/** Sound as spectra, and what the model of `noise-reduction` is told of them. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { filesOfTar } from '../../../../src/exec/models/conversion/tar.ts';
import { bandOfBin, FeatureExtractor, LOUDNESSES, LOW_BINS } from '../../../../src/exec/programs/sound/denoise/features.ts';
import { filtered } from '../../../../src/exec/programs/sound/denoise/model.ts';
import {
  addSamples,
  BINS,
  emptySpectrum,
  HEARD_RATE,
  HOP,
  SIZE,
  spectrumOf,
} from '../../../../src/exec/programs/sound/denoise/spectrum.ts';

const tone = (hertz: number, count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.sin((2 * Math.PI * hertz * i) / HEARD_RATE) / 2);

describe('spectra', () => {
  it('become the samples again where frames overlap', () => {
    const sound = tone(440, 10 * HOP).map((sample, i) => sample + ((i * 7919) % 101) / 400);
    const again = new Float32Array(sound.length);
    for (let at = 0; at + SIZE <= sound.length; at += HOP) addSamples(spectrumOf(sound.subarray(at, at + SIZE)), again, at);
    const apart = sound.subarray(HOP, -HOP).map((sample, i) => Math.abs(sample - (again[HOP + i] as number)));
    expect(Math.max(...apart)).toBeLessThan(1e-6);
  });

  it('have a tone in its bin, as large as the transform of its definition', () => {
    const samples = tone(1000, SIZE);
    const { real, imaginary } = spectrumOf(samples);
    const sizes = Array.from({ length: BINS }, (_, k) => Math.hypot(real[k] as number, imaginary[k] as number));
    expect(sizes.indexOf(Math.max(...sizes))).toBe(20);
    const [sum, windowed] = [
      [0, 0] as [number, number],
      (i: number) => Math.sin((Math.PI / 2) * Math.sin((Math.PI * (i + 0.5)) / SIZE) ** 2),
    ];
    for (const [i, sample] of samples.entries()) {
      sum[0] += (sample * windowed(i) * Math.cos((2 * Math.PI * i * 20) / SIZE)) / SIZE;
      sum[1] -= (sample * windowed(i) * Math.sin((2 * Math.PI * i * 20) / SIZE)) / SIZE;
    }
    expect(real[20]).toBeCloseTo(sum[0], 6);
    expect(imaginary[20]).toBeCloseTo(sum[1], 6);
  });
});

describe('bands', () => {
  it('widen as hearing does, from two bins on, and have every bin', () => {
    const widths = Array.from({ length: LOUDNESSES }, (_, band) => bandOfBin.reduce((count, each) => count + (each === band ? 1 : 0), 0));
    expect(widths.slice(0, 14)).toEqual([...Array(13).fill(2), 5]);
    expect(widths.slice(13)).toEqual(widths.slice(13).toSorted((a, b) => a - b));
    expect(widths.reduce((sum, width) => sum + width)).toBe(BINS);
  });

  it('are told against the last second: what goes on is nothing after it, what begins is loud', () => {
    const extractor = new FeatureExtractor();
    const steady = spectrumOf(tone(3000, SIZE));
    const heard = Array.from({ length: 600 }, () => extractor.extract(steady).loudness[bandOfBin[60] as number] as number);
    expect(heard[0]).toBeGreaterThan(0.5);
    expect(Math.abs(heard.at(-1) as number)).toBeLessThan(0.01);
  });
});

describe('filters', () => {
  it('make a lower bin of five frames, and scale a higher one by its band', () => {
    const frames = Array.from({ length: 5 }, (_, t) => {
      const spectrum = emptySpectrum();
      spectrum.real[3] = t + 1;
      spectrum.imaginary[200] = 10;
      return spectrum;
    });
    const gains = new Float32Array(LOUDNESSES).fill(0.25);
    const filters = new Float32Array(LOW_BINS * 10);
    // Bin 3 takes a tenth of each frame from two before to two after, the last turned by a quarter of a circle.
    for (let i = 0; i < 5; i++) filters[(3 * 5 + i) * 2 + (i === 4 ? 1 : 0)] = 0.1;
    const { real, imaginary } = filtered(frames, { gains, filters }, 2, 0);
    expect(real[3]).toBeCloseTo(1, 5);
    expect(imaginary[3]).toBeCloseTo(0.5, 5);
    expect([real[200], imaginary[200]]).toEqual([0, 2.5]);
    // At the end, frames that are not there are silent.
    expect(filtered(frames.slice(0, 3), { gains, filters }, 2, 0).real[3]).toBeCloseTo(0.6, 5);
  });
});

describe('the archive of a model', () => {
  const entry = (name: string, type: string, content: string): Buffer => {
    const header = Buffer.alloc(512);
    header.write(name);
    header.write(content.length.toString(8).padStart(11, '0'), 124);
    header.write(type, 156);
    return Buffer.concat([header, Buffer.from(content), Buffer.alloc((512 - (content.length % 512)) % 512)]);
  };
  const packed = (...entries: readonly Buffer[]) => gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]));

  it('has files by their last name, and nothing else', () => {
    const archive = packed(
      entry('tmp/', '5', ''),
      entry('tmp/enc.onnx', '0', 'x'.repeat(700)),
      entry('a/link', '2', ''),
      entry('../..', '0', 'y'),
    );
    const files = filesOfTar(archive);
    expect(Object.keys(files)).toEqual(['enc.onnx']);
    expect(Buffer.concat(files['enc.onnx'] ?? []).toString()).toBe('x'.repeat(700));
  });

  it('is refused where it ends too early', () => {
    expect(() => filesOfTar(gzipSync(entry('enc.onnx', '0', 'x'.repeat(700)).subarray(0, 800)))).toThrow('expected 700 bytes of enc.onnx');
  });
});
