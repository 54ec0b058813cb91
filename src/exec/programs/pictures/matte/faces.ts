/** Faces in a picture, by CenterFace (Xu and others, 2019). */
import { resample } from '../planes/filters.ts';
import type { Picture } from '../planes/picture.ts';
import { loadModel, type Shape } from './model.ts';

/** In pixels of the picture. */
export interface DetectedFace {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** From 0 to 1. */
  readonly score: number;
  /** The middle of each eye, that on the left of the picture first. */
  readonly eyes: readonly [Point, Point];
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Longer side of what the model sees, px: of a face in a portrait it needs no more. */
const LONGER = 640;
/** The model's input has sides of so many px, or a multiple. */
const STEP = 32;
/** Each of its answers stands for a square of so many px. */
const CELL = 4;
const LEAST_SCORE = 0.5;
/** Share of their common area above which two are one face. */
const SAME = 0.3;
/** Likelihood, logarithm of the size, offset, landmarks. */
const OUTPUTS = ['537', '538', '539', '540'];
/** Sizes in the file, which the model does not depend on. */
const FIXED: readonly Shape[] = [
  [10, 3, 32, 32],
  [10, 1, 8, 8],
  [10, 2, 8, 8],
  [10, 2, 8, 8],
  [10, 10, 8, 8],
];

/** @param folder of the model @returns the most likely first */
export async function facesIn(picture: Picture, folder: string): Promise<readonly DetectedFace[]> {
  const run = await loadModel(folder, 'centerface.onnx', OUTPUTS, FIXED);
  const scale = LONGER / Math.max(picture.width, picture.height);
  const [seenWidth, seenHeight] = [picture.width, picture.height].map((side) => Math.max(1, Math.round(side * scale))) as [number, number];
  const [width, height] = [seenWidth, seenHeight].map((side) => Math.ceil(side / STEP) * STEP) as [number, number];
  const input = new Float32Array(3 * width * height);
  for (let channel = 0; channel < 3; channel++) {
    const colour = picture.colours[Math.min(channel, picture.colours.length - 1)];
    if (colour === undefined) throw new Error('expected a picture with colours');
    const { data } = resample(colour, seenWidth, seenHeight);
    for (let y = 0; y < seenHeight; y++)
      for (let x = 0; x < seenWidth; x++) input[(channel * height + y) * width + x] = 255 * (data[y * seenWidth + x] as number);
  }
  const answers = await run(input, [1, 3, height, width]);
  const found = facesOf(answers as [Float32Array, Float32Array, Float32Array, Float32Array], width / CELL, scale);
  return distinct(found.sort((a, b) => b.score - a.score));
}

function facesOf(
  [likely, sizes, offsets, landmarks]: [Float32Array, Float32Array, Float32Array, Float32Array],
  across: number,
  scale: number,
): DetectedFace[] {
  const cells = likely.length;
  const faces: DetectedFace[] = [];
  for (let i = 0; i < cells; i++) {
    const score = likely[i] as number;
    if (score < LEAST_SCORE) continue;
    const [height, width] = [CELL * Math.exp(sizes[i] as number), CELL * Math.exp(sizes[cells + i] as number)];
    const top = CELL * (Math.floor(i / across) + (offsets[i] as number) + 0.5) - height / 2;
    const left = CELL * ((i % across) + (offsets[cells + i] as number) + 0.5) - width / 2;
    const point = (n: number): Point => ({
      x: (left + width * (landmarks[(2 * n + 1) * cells + i] as number)) / scale,
      y: (top + height * (landmarks[2 * n * cells + i] as number)) / scale,
    });
    const [a, b] = [point(0), point(1)];
    const eyes: DetectedFace['eyes'] = a.x <= b.x ? [a, b] : [b, a];
    faces.push({ left: left / scale, top: top / scale, width: width / scale, height: height / scale, score, eyes });
  }
  return faces;
}

/** As many as a picture of a crowd has: each is compared with all. */
const MOST = 200;

function distinct(faces: readonly DetectedFace[]): DetectedFace[] {
  const kept: DetectedFace[] = [];
  for (const face of faces) {
    if (kept.length === MOST) break;
    if (kept.every((other) => overlap(face, other) < SAME)) kept.push(face);
  }
  return kept;
}

function overlap(a: DetectedFace, b: DetectedFace): number {
  const wide = Math.min(a.left + a.width, b.left + b.width) - Math.max(a.left, b.left);
  const high = Math.min(a.top + a.height, b.top + b.height) - Math.max(a.top, b.top);
  const common = Math.max(0, wide) * Math.max(0, high);
  return common / (a.width * a.height + b.width * b.height - common);
}
