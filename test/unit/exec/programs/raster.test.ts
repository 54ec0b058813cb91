/** DDS, JPEG-LS, XCF, FITS and CALS as other programs write them, against what other programs read in them. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { CALS } from '../../../../src/catalog/known-good.ts';
import { FileRefused } from '../../../../src/exec/programs/data/values/value.ts';
import { writePng } from '../../../../src/exec/programs/pictures/formats/png.ts';
import { calsHeader, tiffOfCals } from '../../../../src/exec/programs/pictures/raster/cals.ts';
import { decodeDds } from '../../../../src/exec/programs/pictures/raster/dds.ts';
import { decodeFits } from '../../../../src/exec/programs/pictures/raster/fits.ts';
import { decodeJpegLs } from '../../../../src/exec/programs/pictures/raster/jpeg-ls.ts';
import { bc6h, bc7 } from '../../../../src/exec/programs/pictures/raster/partitioned.ts';
import { decodeXcf } from '../../../../src/exec/programs/pictures/raster/xcf.ts';
import { blockDds, ddsOf } from '../../../kit/fixtures/pictures/dds.ts';
import { gimp } from '../../../kit/fixtures/pictures/xcf.ts';

const folder = mkdtempSync(join(tmpdir(), 'filemill-raster-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const refusal = (work: () => unknown): string => {
  try {
    work();
    return 'none';
  } catch (error) {
    return error instanceof FileRefused ? error.reason : String(error);
  }
};

describe('JPEG-LS', () => {
  /** 24 × 10 px by CharLS 2.4: flat for four rows, then what no gradient predicts. The first has the header of SPIFF, as ITU-T T.87 wants it. */
  const SAMPLES = [
    [
      '3 components of 8 bits, sample by sample',
      3,
      8,
      0,
      '/9j/6AAgU1BJRkYAAgAAAwAAAAoAAAAYCggGAQAAASwAAAEs/+gACAAAAAH/2P/3ABEIAAoAGAMBEQACEQADEQD/2gAMAwEAAgADAAACAEAAAC+gPpKt/3wAAAX0AAAF+AAG5mZmZmVVVVVVVVAADQABYAAnGIYRCEQhEIRCOjuiZfYECB2CCD4ggguEIeEIQnCEMGioF1IxzEFUQ7Z9hiwhltAAAwAAAWYAAAFqKECChghe4WMGDxAxIigCAMARQADgAAAr33EAkMCg8wGAkFll1VjZs0bPHhhhtk2ntCBHGMg6fCDOYrlpTJBAju7DcgGWUcxSO6IklIzzcEDlBOQhzgYhwYEK5iuRISgOVLdlcxWRGRttbMntL8MQ4EBAQIMAohgCETJ8oCTBuIzKYjbszdMAQQaajtAAQwiqv/voQME0mRGRDCHBCAvveayUsYYJIcRm/1NQjlWxBCCZMIEEqZCLKO6qq6S2jCCTZylFOLlUCCREQGdTCCGMKKILrhHMGENUgZ7VhiHACDBNZSuTukAAACAExihEcYQRVUQwlVNioIEnUlSLnKboGaWA/9k=',
    ],
    [
      '3 components of 8 bits, one after the other',
      3,
      8,
      0,
      '/9j/9wARCAAKABgDAREAAhEAAxEA/9oACAEBAAAAAPwAAAXyV4AAAL9VVVVXUzeK/TPhZVVU1tAFAwpQKf4BNdHhYW8NCxs3CGOEdsCIMBiFVRMCBBgwaJI0e5CJEiDAwRyA6Y6zAiXAS7AyZgYJ3wORJ6BKRwJhzrqNDDIEE8CGFCMCeGDYizihBON4wKY2AgGA/9oACAECAAAAAAAAAXyV4AAAL9VVVVQAA2mZmZk+zt8V/DPhkZmOQJQAAAWYQK4UDGAYAB3BgYDzwaDhkThDHGCXAiiAQpmURAX+DAk0IkeE7shpAwMQwFAGDcyzgSudsyZGYCBp+hCG9AlBGwTBTrKJiiqNAYQQIcIx2hgSEQAEUYbiOSIrDJAI/9oACAEDAAAAAAAAAfyV4AAAL9VVVVQAA2ERERE+zt8V/DPhzKc7SCKAAAC1HCMFDEAEAAABXnBQUAEKDgQMicIY4RmwIggEcqofggYYMCaEiQoRiJq0DAwCgEMCOI67AAomCewNmYoL+gICETho6wRhS/QbFFrDHAY4DO7YyQwAWIoAIww3G7CCDFgM/9k=',
    ],
    [
      '4 components of 8 bits, line by line',
      4,
      8,
      0,
      '/9j/9wAUCAAKABgEAREAAhEAAxEABBEA/9oADgQBAAIAAwAEAAABAPwAAAXyV4AAAL9VVVVR9qoiSAAAAv1VVVVAADczMzMD7mZmZgAAvu7u7gABcRERECB3d3dwAAmIiIiAABqlKUpSupm59u/fffvvv438b+N/G/TP4Z/DP4Z8LKqpV7QAAASQDClAp8AEV0eLGrCQkMnPOtxlAAABZggKcGDhAGAAcQDDAf0mLAzcQQiopQAAAWphrDz3ACAAAAryRYsaWNHgNFrYzz2ilJSSy1gkAAAG5TLmSyRw2Nm4QxwjtgRBgMQqqJgQIgNtQhkjc2BK5ZnREwL+DKV192FnRFCNLvKI47Wy6Qgs6IoZocA1IZoMG6SLLMyTaDAwQYxMxAJNCHqrbUrkAgxiSgZxUaWUqJpVu4Me4QE0wI6KLeunXBRhhCFYRG3gBLAAXsDbMUE7wtGjLMCLhF/DREcRZgCITrtRowRfQkRGBdXhHbLmEWBl9CaI0spaMwnQJSDALAxV1GrCqMTbk+dXEjSoV7zRDuaAxik9VdYkpO95ogtARxCkWVqM0jFeKItZVGYxAQoQIx4YAWJ7hBDKJCDqJSAxWuGU8gNSaAAAIiBFNKDeO9oh0HjNcEs8AI3COJVMpnrMtg3JYyzXG4nrWgqEaoD/2Q==',
    ],
    [
      '3 components of 16 bits, line by line',
      3,
      16,
      0,
      '/9j/9wAREAAKABgDAREAAhEAAxEA//gADQH//wASAEMBFABA/9oADAMBAAIAAwAAAQD8AAAAAf8wAgCAIBAIBAAAAAAAAAX/fQBQBQBQBQBQBQBH/2wBQBQAgBACAEAAAAAAH/4AoAoAoAoAoAoAgAB/7AJAJAJAJAJAJAIH/2wCQCQCQCQCQCQCAAD/XANANANANANANAMAAP9MAEAEAEAEAEAEAHUAMwBwA+wB2AeAPsA7APiAXAeIC4DxAXAdICcB4QE4HhAnAwmf/ndBqnz9ua5vMcPgAAM9MkDk7NMTYi29QaA4F8I9LDCkN5w+lOQwWQgzfDOudRIYFD3obZ565Q+AAidMmjljPYTqC5JRgPAhnbe3BiYHBQfbnKoLMzocDReWjMJWgi6z2I+jYfAAAAFP1IRZCpwM3zb5oaAcCPz36wUNivoXsllA2XHOwagsezcR/HwDDR98fAesUEwDj4Ai0T4AlsaqE+S/BZd+ZjUYUEY3YQaisEzCx/ffKAF7r7559RHBC++YgI3hE4adE7C9ZYp9ligCHtsfYJ1JXdlZj6++T1L233jyijmDd94wqRkCIY0kJwl4Cv79u2Mv8ImuwBMwVLSaV5ZYc3ILE9Sfl908oI5noi+JEBo9N4F4Ak6G7Ap2PFDBmGyEuRThIdWZkVyQgGTiJ933DwIjAePLvELWfEyxO8Eig2yFKB7uGRSF8SnFJkdVVGM3En8SaBPq+2dvETjvpcwg2zUlyJ3AjwHG4SFHZxbYheGNQ8Bd+NeOo3Ixm4k/iGIC15o47aCdgpWMFDdIxQI7mxiirshdXJcpiM9+u7H3GMbSYhcAffDBxZ0z4dbBNoUZF+BtcYWEZTWjXrbCczJ/hhI989uR2KQ2Cwi3i+iGASyJnE6iCaIoiL4jaIwiRs7X1AXURzEn9HsTBPsA+B3JRFGFUEexcBCuJMEtCJwnMQ4iKQjAIwCIoghib8bXVzg9iYI9effduURRhVBHsXAQriTBLQicJzEOIikIwCMAiKIinvCQmiXNj2Jgf1x952pRFGFUEexcBCuJMEtCJwnMQ4iKQjAJTvYkghiFgTNEuaNUWK9+J3k+0tlAOMSQocSuFRiZQmwLNE9BdIngJCiXQi4EhBES1p0acmqLFa/C7wfZWxhYpJChxK4VGJlCbAs0T0F0ieAkKJdCL9a3sQQs4TTg1RYq34Hdz7C2ELEJIUOJXCoxMoTYFmiegukTwEjE2wlwJCCIIWcJpuD/2Q==',
    ],
    [
      '1 component of 12 bits',
      1,
      12,
      0,
      '/9j/9wALDAAKABgBAREA/9oACAEBAAAAAPwAAAAB9gQQQhCAAAAAAL/0FBQUFBQUF1AzB4guHSE4YWfZyCnfpqu/CAOJnA0JomRZp0Byvg5k9DZDzNsFODBGrknI4+GI+j49KOAPjERghjOJYQDp+JAIhFCwTgbJTlib3wkk6+nI/nEqvK6xBeCYG8KZbgQexZDxdj1AaLDK5BUJhZMwfQcicLZTguLDVW4HUlpnL3sPlsrqnQzO4QXVvCqWwsHgoxmNQZwH/qeR4EsfG58W4Wg3XgZNI2DyUj2DEKBDF+LgSxEQMwGg/9k=',
    ],
    [
      '1 component of 8 bits, up to 2 away',
      1,
      8,
      2,
      '/9j/9wALCAAKABgBAREA/9oACAEBAAIAAPwADvwAAAapXqz8b9M+GzrcMgJ14HMZgOMalEkS4kiIkqIiIqlLJJSohCEJySpVEUhEkiRjcucqKIpIlJJxFlmyhRCRSsETiID/2Q==',
    ],
  ] as const;
  const [WIDTH, HEIGHT] = [24, 10];
  const sample = (x: number, y: number, component: number, bits: number): number => {
    const most = 2 ** bits - 1;
    if (y < 4) return Math.floor((most * (Math.floor(x / 8) + component)) / 4) % (most + 1);
    return Math.floor(((x * x * 7 + y * y * 13 + component * 501 + ((x * y * 31) % 17) * 9) * (most + 1)) / 4096) % (most + 1);
  };

  it.each(SAMPLES)('of %s is read', async (_, components, bits, near, content) => {
    const { width, height, channels, samples } = await decodeJpegLs(Buffer.from(content, 'base64'));
    expect([width, height, channels, samples.BYTES_PER_ELEMENT]).toEqual([WIDTH, HEIGHT, components, bits > 8 ? 2 : 1]);
    const full = bits > 8 ? 65_535 : 255;
    const away = Array.from(samples, (value, at) => {
      const [pixel, component] = [Math.floor(at / components), at % components];
      const wanted = sample(pixel % WIDTH, Math.floor(pixel / WIDTH), component, bits);
      return Math.abs(value - Math.round((wanted * full) / (2 ** bits - 1)));
    });
    expect(Math.max(...away)).toBeLessThanOrEqual(near);
  });

  const outcomeOf = (bytes: Buffer): Promise<string> =>
    decodeJpegLs(bytes).then(
      () => 'none',
      (error: unknown) => (error instanceof FileRefused ? error.reason : String(error)),
    );

  it.each(SAMPLES)(
    'of %s is refused where its end is missing, and never hangs on other damage',
    async (_, _components, bits, near, content) => {
      const whole = Buffer.from(content, 'base64');
      expect(await outcomeOf(whole.subarray(0, whole.length - 40))).toBe('corrupt_input');
      // Other bytes of each: a decoder is begun for every one.
      for (let at = (bits + near) % 11; at < whole.length; at += at < 60 ? 11 : 211) {
        const damaged = Buffer.from(whole);
        damaged[at] = (damaged[at] as number) ^ 0x55;
        expect(['none', 'corrupt_input', 'unsupported_variant'], `byte ${at}`).toContain(await outcomeOf(damaged));
      }
    },
  );

  it('of many scans is as much work as one: what follows the last component is not read', async () => {
    const whole = Buffer.from(SAMPLES[4][4], 'base64');
    const from = whole.indexOf('\xff\xda', 0, 'latin1');
    const again = whole.subarray(from, -2);
    const repeated = Buffer.concat([whole.subarray(0, -2), ...Array.from({ length: 20_000 }, () => again), whole.subarray(-2)]);
    expect(await outcomeOf(repeated)).toBe('corrupt_input');
  });

  it.each([
    ['more than four components', 9, 5, 'unsupported_variant'],
    ['components of different sizes', 11, 0x22, 'unsupported_variant'],
    ['no height', 5, 0, 'unsupported_variant'],
  ])('of %s is refused with what it is', async (_, at, value, reason) => {
    const bytes = Buffer.from(SAMPLES[4][4], 'base64');
    const frame = bytes.indexOf('\xff\xf7', 0, 'latin1');
    bytes[frame + at] = value;
    if (at === 5) bytes[frame + 6] = 0;
    // The header of five components is as long as they need.
    const longer = at === 9 ? Buffer.concat([bytes.subarray(0, frame + 4), Buffer.alloc(20, 0x11), bytes.subarray(frame + 4)]) : bytes;
    if (at === 9) longer.set([0, 23, 12, 0, 10, 0, 24, 5], frame + 2);
    expect(await outcomeOf(longer)).toBe(reason);
  });
});

/** Bytes that look random and are the same in each run (Numerical Recipes, 7.1). */
function noise(count: number): Buffer {
  let state = 1;
  return Buffer.from(
    Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    }),
  );
}

describe('DDS', () => {
  const [WIDTH, HEIGHT] = [64, 32];
  const BLOCKS = (WIDTH / 4) * (HEIGHT / 4);
  const sumOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

  it('of BC7 in each of its modes has the pixels that bcdec 0.98 reads', () => {
    const blocks = noise(BLOCKS * 16);
    for (let block = 0; block < BLOCKS; block++) {
      const mode = block % 8;
      const first = blocks[block * 16] as number;
      blocks[block * 16] = ((first >> (mode + 1)) << (mode + 1)) | (1 << mode);
    }
    const { samples } = decodeDds(blockDds(98, WIDTH, HEIGHT, blocks));
    expect(sumOf(samples as Uint8Array)).toBe('e129242bb583ec32775f0d8349944c5afcaff8da480b00fcea0fba5df21a5e22');
  });

  it.each([
    [false, '4b36b9c71cc7ac5311e0a6af3fbb93562b33c2ee21d79bc461e22c79d96bf7a2'],
    [true, 'd11c18699d5be1ce397ab7c407dbe0523f4717e2e499880758c0ef65bf3a98e0'],
  ])('of BC6H (signed: %s) has the numbers that bcdec 0.98 reads', (signed, sum) => {
    const blocks = noise(BLOCKS * 16);
    const found = new Uint16Array(WIDTH * HEIGHT * 3);
    const pixels = new Uint16Array(64);
    const decode = bc6h(signed);
    for (let block = 0; block < BLOCKS; block++) {
      decode(blocks, block * 16, pixels);
      const [left, top] = [(block % (WIDTH / 4)) * 4, Math.floor(block / (WIDTH / 4)) * 4];
      for (let pixel = 0; pixel < 16; pixel++)
        for (let channel = 0; channel < 3; channel++)
          found[((top + (pixel >> 2)) * WIDTH + left + (pixel & 3)) * 3 + channel] = pixels[pixel * 4 + channel] as number;
    }
    expect(sumOf(new Uint8Array(found.buffer))).toBe(sum);
  });

  it('of a BC7 block that has no mode is transparent black', () => {
    const pixels = new Uint8Array(64).fill(7);
    bc7(new Uint8Array(16), 0, pixels);
    expect([...pixels]).toEqual(Array(64).fill(0));
  });

  it.each([
    ['BC1', 71, 'DXT1', 8, [0, 1, 2, 3]],
    ['BC2', 74, 'DXT3', 16, [0, 1, 2, 3]],
    ['BC3', 77, 'DXT5', 16, [0, 1, 2, 3]],
    ['BC4', 80, 'ATI1', 8, [0]],
    ['BC5', 83, 'ATI2', 16, [0, 1]],
    ['BC5', 83, 'BC5U', 16, [0, 1]],
  ] as const)('of %s has the pixels that FFmpeg reads, with the header of Direct3D 10 and as %s', (_, dxgi, fourCC, size, channels) => {
    const blocks = noise(BLOCKS * size);
    const path = join(folder, `${fourCC}.dds`);
    writeFileSync(path, blockDds(dxgi, WIDTH, HEIGHT, blocks));
    const seen = execFileSync('ffmpeg', ['-v', 'error', '-f', 'dds_pipe', '-i', path, '-f', 'rawvideo', '-pix_fmt', 'rgba', '-']);
    for (const bytes of [blockDds(dxgi, WIDTH, HEIGHT, blocks), blockDds(fourCC, WIDTH, HEIGHT, blocks)]) {
      const { samples } = decodeDds(bytes);
      const away = Array.from(samples, (value, at) =>
        (channels as readonly number[]).includes(at & 3) ? Math.abs(value - (seen[at] as number)) : 0,
      );
      // Programs round the steps between two colours differently.
      expect(Math.max(...away)).toBeLessThanOrEqual(2);
    }
  });

  it.each([
    ['565', [0x40, 16, 0xf800, 0x7e0, 0x1f, 0], Buffer.from([0x00, 0xf8, 0xe0, 0x07]), [255, 0, 0, 255, 0, 255, 0, 255]],
    ['grey of 8 bits', [0x20000, 8, 0xff, 0, 0, 0], Buffer.from([0, 200]), [0, 0, 0, 255, 200, 200, 200, 255]],
    ['red, green and blue', [0x40, 24, 0xff0000, 0xff00, 0xff, 0], Buffer.from([3, 2, 1, 30, 20, 10]), [1, 2, 3, 255, 10, 20, 30, 255]],
    [
      'colours with opacity',
      [0x41, 32, 0xff0000, 0xff00, 0xff, 0xff000000],
      Buffer.from([3, 2, 1, 128, 30, 20, 10, 0]),
      [1, 2, 3, 128, 10, 20, 30, 0],
    ],
  ] as const)('with pixels of %s is read', (_, format, pixels, wanted) => {
    expect([...decodeDds(ddsOf(2, 1, format, pixels)).samples]).toEqual(wanted);
  });

  it('of floats is linear light, and what is brighter than white is white', () => {
    const pixels = Buffer.alloc(32);
    for (const [place, value] of [0.2140411, 4, -1, 0.5, 0, 1, 0.2140411, 1].entries()) pixels.writeFloatLE(value, place * 4);
    const { samples } = decodeDds(blockDds(2, 2, 1, pixels));
    expect(samples).toBeInstanceOf(Uint16Array);
    const wanted = [32_768, 65_535, 0, 32_768, 0, 65_535, 32_768, 65_535];
    for (const [place, value] of [...samples].entries()) expect(Math.abs(value - (wanted[place] as number)), `${place}`).toBeLessThan(3);
  });

  it('with premultiplied colours has those of the picture', () => {
    const block = Buffer.from([128, 128, 0, 0, 0, 0, 0, 0, 0x00, 0x80, 0x00, 0x80, 0, 0, 0, 0]);
    const [straight, multiplied] = ['DXT5', 'DXT4'].map((kind) => [...decodeDds(blockDds(kind, 4, 4, block)).samples].slice(0, 4));
    expect([straight, multiplied]).toEqual([
      [132, 0, 0, 128],
      [255, 0, 0, 128],
    ]);
  });

  it('is refused where pixels are missing, or of a kind that is not read', () => {
    expect(refusal(() => decodeDds(blockDds(98, 64, 64, Buffer.alloc(100))))).toBe('corrupt_input');
    expect(refusal(() => decodeDds(blockDds(103, 4, 4, Buffer.alloc(100))))).toBe('unsupported_variant');
    expect(refusal(() => decodeDds(blockDds('UYVY', 4, 4, Buffer.alloc(100))))).toBe('unsupported_variant');
    expect(refusal(() => decodeDds(Buffer.from('DDS \x7c\0\0\0', 'latin1')))).toBe('corrupt_input');
  });
});

describe('XCF', () => {
  const one = (...pixel: readonly number[]) => ({ width: 1, height: 1, pixels: Buffer.from(pixel) });
  const pixelOf = (file: Buffer): number[] => [...decodeXcf(file).samples];

  it.each([3, 7, 10, 11, 12, 14, 20])('of version %i is read, as it is stored and packed', (version) => {
    const pixels = Buffer.from([180, 70, 60, 255, 10, 20, 30, 128]);
    for (const compression of [0, 2] as const) {
      const { samples, ...size } = decodeXcf(gimp({ version, compression }, [2, 1], [{ width: 2, height: 1, pixels, transparent: true }]));
      expect(size).toMatchObject({ width: 2, height: 1, channels: 4 });
      expect([...samples]).toEqual([...pixels]);
    }
  });

  it.each([
    [11, 250, 2],
    [12, 250, 2],
    [11, 600, 4],
    [12, 600, 4],
    [14, 650, 4],
  ])('of version %i keeps more than 8 bits (precision %i)', (version, precision, bytes) => {
    const pixels = Buffer.alloc(3 * bytes);
    const little = version < 12;
    for (const [channel, value] of [0.2140411, 0, 1].entries()) {
      if (bytes === 4) pixels[little ? 'writeFloatLE' : 'writeFloatBE'](value, channel * 4);
      else pixels[little ? 'writeUInt16LE' : 'writeUInt16BE'](Math.round(value * 65_535), channel * 2);
    }
    const [grey = 0, ...others] = pixelOf(gimp({ version, precision }, [1, 1], [{ width: 1, height: 1, pixels }]));
    expect(Math.abs(grey - (precision === 600 ? 32_768 : 14_027))).toBeLessThan(3);
    expect(others).toEqual([0, 65_535, 65_535]);
  });

  it('is what its visible layers show together', () => {
    const below = one(200, 100, 0);
    const shown = (...layers: Parameters<typeof gimp>[2]) => pixelOf(gimp({ version: 11 }, [1, 1], layers)).slice(0, 3);
    expect(shown({ ...one(0, 0, 255), opacity: 51 }, below)).toEqual([160, 80, 51]);
    expect(shown({ ...one(0, 0, 255), hidden: true }, below)).toEqual([200, 100, 0]);
    expect(shown({ ...one(0, 0, 255), left: 1 }, below)).toEqual([200, 100, 0]);
    expect(shown({ ...one(0, 0, 255), left: -1 }, below)).toEqual([200, 100, 0]);
    expect(shown({ ...one(0, 0, 255), mask: Buffer.from([0]) }, below)).toEqual([200, 100, 0]);
    expect(shown({ ...one(51, 255, 9), mode: 3 }, below)).toEqual([40, 100, 0]);
    expect(shown({ ...one(100, 200, 9), mode: 10 }, below)).toEqual([200, 200, 9]);
    const group = { ...one(1, 2, 3), group: true, path: [0] } as const;
    const inside = { ...one(0, 0, 255), path: [0, 0] };
    expect(shown({ ...group, hidden: true }, inside, below)).toEqual([200, 100, 0]);
    expect(shown(group, inside, below)).toEqual([0, 0, 255]);
    // Half of the light, not of the number.
    expect(shown({ ...one(255, 255, 255), mode: 28, opacity: 128 }, one(0, 0, 0))).toEqual([188, 188, 188]);
  });

  it('tells of layers that it cannot lay as the file says', () => {
    const modes = (mode: number) =>
      decodeXcf(gimp({ version: 11 }, [1, 1], [{ ...one(1, 2, 3), mode }, one(0, 0, 0)])).warnings?.length ?? 0;
    expect([modes(3), modes(28), modes(38)]).toEqual([0, 0, 1]);
  });

  it('is refused where pixels are missing', () => {
    const file = gimp({ version: 11 }, [1, 1], [one(1, 2, 3)]);
    expect(refusal(() => decodeXcf(gimp({ version: 11 }, [1, 1], [{ width: 9, height: 9, pixels: Buffer.alloc(9) }])))).toBe(
      'corrupt_input',
    );
    expect(refusal(() => decodeXcf(file.subarray(0, 20)))).toBe('corrupt_input');
  });
});

describe('FITS', () => {
  const unit = (cards: Readonly<Record<string, string | number>>, data: Buffer): Buffer => {
    const lines = Object.entries(cards).map(([name, value]) => `${name.padEnd(8)}= ${String(value).padStart(20)} / told`.padEnd(80));
    const head = Buffer.from([...lines, 'END'.padEnd(80)].join('').padEnd(2880));
    return Buffer.concat([head, data, Buffer.alloc(2880 - (data.length % 2880))]);
  };
  const plane = { SIMPLE: 'T', NAXIS: 2, NAXIS1: 2, NAXIS2: 1 };
  const floats = (...values: readonly number[]) =>
    Buffer.concat(values.map((value) => Buffer.from(new Float32Array([value]).buffer).reverse()));
  const samplesOf = (file: Buffer): number[] => [...decodeFits(file).samples];

  it.each([
    ['bytes are shown as they are', { ...plane, BITPIX: 8 }, Buffer.from([0, 128]), [0, 32_896]],
    ['whole numbers', { ...plane, BITPIX: 16, NAXIS1: 3 }, Buffer.from([0xff, 0xfe, 0, 0, 0, 6]), [0, 16_384, 65_535]],
    ['numbers without a sign', { ...plane, BITPIX: 16, BZERO: 32_768 }, Buffer.from([0x80, 0, 0x7f, 0xff]), [0, 65_535]],
    ['a range that is told', { ...plane, BITPIX: 16, DATAMIN: 0, DATAMAX: 510 }, Buffer.from([0, 255, 0, 0]), [32_768, 0]],
    ['what was not measured', { ...plane, BITPIX: 16, NAXIS1: 3, BLANK: 99 }, Buffer.from([0, 1, 0, 99, 0, 3]), [0, 0, 65_535]],
    ['floats', { ...plane, BITPIX: -32, NAXIS1: 4 }, floats(-7, Number.NaN, -5, Infinity), [0, 0, 65_535, 65_535]],
    [
      'colours, from the lowest row',
      { ...plane, BITPIX: 8, NAXIS: 3, NAXIS1: 1, NAXIS2: 2, NAXIS3: 3 },
      Buffer.from([0, 255, 255, 0, 0, 0]),
      [65_535, 0, 0, 0, 65_535, 0],
    ],
  ] as const)('%s: the lowest is black, the highest white', (_, cards, data, wanted) => {
    expect(samplesOf(unit(cards, data))).toEqual(wanted);
  });

  it('behind a head without a picture, or a table, is found', () => {
    const empty = unit({ SIMPLE: 'T', BITPIX: 8, NAXIS: 0 }, Buffer.alloc(0)).subarray(0, 2880);
    const table = unit({ XTENSION: "'BINTABLE'", BITPIX: 8, NAXIS: 2, NAXIS1: 40, NAXIS2: 2, PCOUNT: 100, GCOUNT: 1 }, Buffer.alloc(180));
    const image = unit({ ...plane, XTENSION: "'IMAGE   '", BITPIX: 8 }, Buffer.from([0, 255]));
    expect(samplesOf(Buffer.concat([empty, table, image]))).toEqual([0, 65_535]);
    expect(refusal(() => decodeFits(Buffer.concat([empty, table])))).toBe('unsupported_variant');
    expect(refusal(() => decodeFits(unit({ ...plane, BITPIX: 8, ZIMAGE: 'T' }, Buffer.alloc(2))))).toBe('unsupported_variant');
    expect(refusal(() => decodeFits(unit({ ...plane, BITPIX: 32, NAXIS1: 5000 }, Buffer.alloc(2))))).toBe('corrupt_input');
    expect(refusal(() => decodeFits(unit({ ...plane, BITPIX: 7 }, Buffer.alloc(2))))).toBe('corrupt_input');
  });
});

it.each([
  [1, 8],
  [3, 8],
  [4, 8],
  [1, 16],
  [4, 16],
] as const)('a PNG of %i channels of %i bits is read by libpng as it was written', async (channels, bits) => {
  const [width, height] = [300, 2001];
  const bytes = noise(width * height * channels * (bits / 8));
  const samples = bits === 8 ? new Uint8Array(bytes) : new Uint16Array(new Uint8Array(bytes).buffer);
  const path = join(folder, `${channels}-${bits}.png`);
  await writePng(path, { width, height, channels, samples });
  const read = await sharp(readFileSync(path))
    .toColourspace(channels === 1 ? (bits === 8 ? 'b-w' : 'grey16') : bits === 8 ? 'srgb' : 'rgb16')
    .raw({ depth: bits === 8 ? 'uchar' : 'ushort' })
    .toBuffer({ resolveWithObject: true });
  expect(read.info).toMatchObject({ width, height, channels });
  expect(read.data.equals(Buffer.from(samples.buffer))).toBe(true);
});

describe('a CALS raster', () => {
  const content = Buffer.from(CALS.content, 'base64').toString('latin1');
  const rewritten = (from: string, to: string) => Buffer.from(content.replace(from.padEnd(128), to.padEnd(128)), 'latin1');
  const LYING = 'rorient: 000,270';

  // The left half is black: seen in the middle of each edge, clockwise from the left.
  it.each([
    ['as it is stored', LYING, 'left'],
    ['from below', 'rorient: 000,090', 'left'],
    ['upside down', 'rorient: 180,270', 'right'],
    ['mirrored', 'rorient: 180,090', 'right'],
    ['turned to the right', 'rorient: 270,270', 'top'],
    ['turned to the left', 'rorient: 090,270', 'bottom'],
  ])('%s is shown as its header says', async (_, orientation, black) => {
    const { data, info } = await sharp(tiffOfCals(rewritten(LYING, orientation)))
      .autoOrient()
      .toColourspace('b-w')
      .raw()
      .toBuffer({ resolveWithObject: true });
    const at = (x: number, y: number) =>
      data[(Math.floor(y * (info.height - 1)) * info.width + Math.floor(x * (info.width - 1))) * info.channels];
    const edges = { left: at(0, 0.5), top: at(0.5, 0), right: at(1, 0.5), bottom: at(0.5, 1) };
    expect(edges[black as keyof typeof edges]).toBe(0);
    expect(Object.values(edges).filter((value) => value === 255).length).toBeGreaterThan(0);
  });

  it('tells its size and its density', () => {
    expect(calsHeader(rewritten(LYING, LYING))).toEqual({ width: 16, height: 8, orientation: 1, density: 200 });
  });

  it.each([
    ['of tiles', 'rtype: 1', 'rtype: 2', 'unsupported_variant'],
    ['without a size', 'rpelcnt: 000016,000008', 'rpelcnt: 0,0', 'corrupt_input'],
  ])('%s is refused', (_, from, to, reason) => expect(refusal(() => tiffOfCals(rewritten(from, to)))).toBe(reason));
});

it('a PNG has the colour profile of the picture', async () => {
  const profile = readFileSync('/usr/share/color/icc/ghostscript/srgb.icc');
  const path = join(folder, 'profile.png');
  await writePng(path, { width: 1, height: 1, channels: 3, samples: new Uint8Array(3), profile });
  expect((await sharp(path).metadata()).icc).toEqual(profile);
});
