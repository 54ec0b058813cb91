/** What stands before a plain backdrop is cut out by its colour, and a busy background is refused. */
import { describe, expect, it } from 'vitest';
import { type Picture, plane } from '../../../../src/exec/programs/pictures/planes/picture.ts';
import { beforeBackdrop } from '../../../../src/exec/programs/pictures/retouch/backdrop.ts';

const [WIDTH, HEIGHT] = [160, 120];
type Colour = readonly [number, number, number];
type Place = readonly [x: number, y: number];

/** Numbers from -1 to 1 that are the same in every run. */
function noise(): () => number {
  let state = 12345;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 30 - 1;
  };
}

/** @param share of the subject at a place: 0 to 1 */
function scene(backdrop: (place: Place) => Colour, subject: Colour, share: (place: Place) => number, grain = 0): Picture {
  const random = noise();
  const channels = [0, 1, 2].map(() => new Float32Array(WIDTH * HEIGHT));
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++) {
      const [a, back] = [share([x, y]), backdrop([x, y])];
      for (const [channel, data] of channels.entries())
        data[y * WIDTH + x] = a * (subject[channel] as number) + (1 - a) * (back[channel] as number) + grain * random();
    }
  return { width: WIDTH, height: HEIGHT, colours: channels.map((data) => plane(WIDTH, HEIGHT, data)), alpha: undefined, maxval: 255 };
}

const white = (): Colour => [0.97, 0.97, 0.97];
const lit = ([x, y]: Place): Colour => [0.9 - x / 800, 0.9 - y / 700, 0.92];
const grass = ([x, y]: Place): Colour => [0.2 + 0.2 * Math.sin(x * 1.7) * Math.cos(y), 0.5 + 0.3 * Math.sin(x + y * 2.3), 0.2];
const RED: Colour = [0.7, 0.2, 0.15];
const disc = ([x, y]: Place): number => Math.max(0, Math.min(1, 40.5 - Math.hypot(x - 80, y - 60)));
const bust = (place: Place): number => Math.max(disc([place[0], place[1] + 10]), place[1] > 75 && Math.abs(place[0] - 80) < 60 ? 1 : 0);

/** How far the mask is from what is shown of the subject, of 1: on average, and at its worst. */
function errorOf(picture: Picture, share: (place: Place) => number) {
  const { mask } = beforeBackdrop(picture) ?? {};
  if (mask === undefined) throw new Error('no plain backdrop was found');
  const errors = Array.from(mask.data, (value, at) => Math.abs(value - share([at % WIDTH, Math.floor(at / WIDTH)])));
  return { mean: errors.reduce((sum, each) => sum + each, 0) / errors.length, worst: Math.max(...errors) };
}

describe('what stands before a plain backdrop', () => {
  it.each([
    ['white', white, disc, 0],
    ['unevenly lit', lit, disc, 0],
    ['with grain', lit, disc, 0.02],
    ['with a subject that the picture cuts off', lit, bust, 0.01],
  ] as const)('%s, is cut out with its soft edge', (_, backdrop, share, grain) => {
    const picture = scene(backdrop, RED, share, grain);
    const error = errorOf(picture, share);
    expect(error.mean).toBeLessThan(0.004);
    expect(error.worst).toBeLessThan(0.5);
    expect(beforeBackdrop(picture)?.confidence).toBeGreaterThan(0.8);
  });

  it('keeps what has the colour of the backdrop within the subject', () => {
    const ring = (place: Place): number => disc(place) * (Math.hypot(place[0] - 80, place[1] - 60) < 12 ? 0 : 1);
    const { mask } = beforeBackdrop(scene(white, RED, ring)) ?? {};
    expect(mask?.data[60 * WIDTH + 80]).toBe(1);
  });

  it('is no speck of dust', () => {
    const dust = ([x, y]: Place): number => (x === 30 && y === 30 ? 1 : 0);
    const found = beforeBackdrop(scene(white, RED, (place) => Math.max(disc(place), dust(place))));
    expect(found?.mask.data[30 * WIDTH + 30]).toBe(0);
    expect(found?.share).toBeCloseTo((Math.PI * 40 ** 2) / (WIDTH * HEIGHT), 1);
  });

  it('is doubtful where it hardly differs', () => {
    const found = beforeBackdrop(scene(white, [0.9, 0.9, 0.9], disc));
    expect(found?.share).toBeGreaterThan(0.2);
    expect(found?.confidence).toBeLessThan(0.8);
  });

  it('is nothing in an empty picture', () => expect(beforeBackdrop(scene(lit, RED, () => 0))?.share).toBe(0));
});

it('a busy background is none that can be taken away by its colour', () => {
  expect(beforeBackdrop(scene(grass, RED, disc))).toBeUndefined();
  // Two halves.
  expect(beforeBackdrop(scene(([x]) => (x < 80 ? [0.1, 0.1, 0.1] : [0.9, 0.9, 0.9]), RED, disc))).toBeUndefined();
});

it('a picture of one pixel, one column or one row is no subject', () => {
  for (const [width, height] of [
    [1, 1],
    [1, 50],
    [50, 1],
  ] as const) {
    const colours = [plane(width, height, new Float32Array(width * height).fill(0.5))];
    const found = beforeBackdrop({ width, height, colours, alpha: undefined, maxval: 255 });
    expect(found?.share, `${width} × ${height}`).toBe(0);
  }
});
