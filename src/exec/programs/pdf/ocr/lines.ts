/** Finds the lines of a page, and reads them, by PP-OCRv4 (PaddleOCR): letters are right, Chinese ones too, but blanks between words get lost. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSession, Tensor } from '../../inference/session.ts';
import { floatsIn } from '../../inference/tensors.ts';
import { resample } from '../../pictures/planes/filters.ts';
import { clamp, type Picture, type Plane, plane } from '../../pictures/planes/picture.ts';
import { metadataOf } from './metadata.ts';

/** The shorter side of what is searched for lines at least, the longer at most, and what both are multiples of, px. */
const [SHORT, LONG, MULTIPLE] = [736, 2000, 32];
/** Least likelihood of a pixel of text, and of a line on average, 0 to 1; a box with a shorter side than the last, px, is a speck. */
const [TEXT, LINE, SPECK] = [0.3, 0.5, 3];
/** How far a line is wider than its core: area by circumference, so many times (Liao and others, "Real-time scene text detection", 2020). */
const WIDER = 1.6;
/** Height of a line as it is read, and its least width, px. */
const [HEIGHT, WIDTH] = [48, 320];
/** Least confidence of a line, 0 to 1: below it there is no text. */
const READ = 0.5;
/** Lines of a page at most. */
const MOST = 2000;

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface ReadLine extends Box {
  readonly text: string;
  /** How sure it is, 0 to 1. */
  readonly likely: number;
}

/** @param page upright, in colours or grey @param folder of the model @returns from top to bottom, and in a row from left to right */
export async function chineseLinesIn(page: Picture, folder: string): Promise<readonly ReadLine[]> {
  const lines: ReadLine[] = [];
  const reader = await openReader(join(folder, 'ch_PP-OCRv4_rec_infer.onnx'));
  for (const box of (await boxesIn(page, join(folder, 'ch_PP-OCRv4_det_infer.onnx'))).slice(0, MOST)) {
    const read = await reader(page, box);
    if (read.likely >= READ && read.text.trim() !== '') lines.push({ ...box, ...read });
  }
  return inOrder(lines);
}

/** Lines beside each other are one row. */
function inOrder(lines: readonly ReadLine[]): readonly ReadLine[] {
  const rows: ReadLine[][] = [];
  for (const line of [...lines].sort((a, b) => a.top + a.bottom - b.top - b.bottom)) {
    const middle = (line.top + line.bottom) / 2;
    const row = rows.find(([first]) => first !== undefined && middle > first.top && middle < first.bottom);
    if (row === undefined) rows.push([line]);
    else row.push(line);
  }
  return rows.flatMap((row) => row.sort((a, b) => a.left - b.left));
}

/** Text of a page, row by row. */
export function textOfLines(lines: readonly ReadLine[]): string {
  let [text, last]: [string, ReadLine | undefined] = ['', undefined];
  for (const line of lines) {
    const isBeside = last !== undefined && line.left > last.left && (line.top + line.bottom) / 2 < last.bottom;
    text += `${last === undefined ? '' : isBeside ? ' ' : '\n'}${line.text}`;
    last = line;
  }
  return text === '' ? '' : `${text}\n`;
}

const rounded = (side: number): number => Math.max(MULTIPLE, Math.round(side / MULTIPLE) * MULTIPLE);

/** Blue, green and red, from -1 to 1. @param wide of the tensor: what is behind the picture is 0 */
function tensorOf(colours: readonly Plane[], width: number, height: number, wide = width): Tensor {
  const data = new Float32Array(3 * wide * height);
  for (let channel = 0; channel < 3; channel++) {
    const { data: from } = resample(colours[Math.min(2 - channel, colours.length - 1)] as Plane, width, height);
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) data[(channel * height + y) * wide + x] = 2 * clamp(from[y * width + x] as number) - 1;
  }
  return new Tensor('float32', data, [1, 3, height, wide]);
}

async function boxesIn({ width, height, colours }: Picture, graph: string): Promise<readonly Box[]> {
  const session = await openSession(graph);
  const scale = Math.min(Math.max(1, SHORT / Math.min(width, height)), LONG / Math.max(width, height));
  const [wide, high] = [rounded(width * scale), rounded(height * scale)];
  const results = await session.run({ [session.inputNames[0] ?? '']: tensorOf(colours, wide, high) });
  const likely = floatsIn(results[session.outputNames[0] ?? '']);
  return coresIn(likely, wide, high).flatMap((core): Box[] => {
    const [across, down] = [core.right - core.left, core.bottom - core.top];
    if (Math.min(across, down) < SPECK) return [];
    const more = (across * down * WIDER) / (2 * (across + down));
    const at = (place: number, from: number, to: number) => Math.max(0, Math.min(to, Math.round((place * to) / from)));
    return [
      {
        left: at(core.left - more, wide, width),
        top: at(core.top - more, high, height),
        right: at(core.right + more, wide, width),
        bottom: at(core.bottom + more, high, height),
      },
    ];
  });
}

/** Bounding boxes of connected regions that are likely to be text on average. */
function coresIn(likely: Float32Array, width: number, height: number): readonly Box[] {
  const open = Uint8Array.from(likely, (value) => (value > TEXT ? 1 : 0));
  const found: Box[] = [];
  const stack: number[] = [];
  for (let start = 0; start < open.length; start++) {
    if (open[start] === 0) continue;
    let [left, top, right, bottom, sum, count] = [width, height, 0, 0, 0, 0];
    stack.push(start);
    open[start] = 0;
    while (stack.length > 0) {
      const at = stack.pop() as number;
      const [x, y] = [at % width, Math.floor(at / width)];
      [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x + 1), Math.max(bottom, y + 1)];
      sum += likely[at] as number;
      count++;
      for (let v = Math.max(0, y - 1); v <= Math.min(height - 1, y + 1); v++)
        for (let u = Math.max(0, x - 1); u <= Math.min(width - 1, x + 1); u++) {
          const next = v * width + u;
          if (open[next] === 0) continue;
          open[next] = 0;
          stack.push(next);
        }
    }
    if (sum / count > LINE) found.push({ left, top, right, bottom });
  }
  return found;
}

async function openReader(graph: string) {
  const session = await openSession(graph);
  // Class 0 is the blank of CTC; the last one is a space, which the list does not have.
  const characters = ['', ...(metadataOf(readFileSync(graph)).get('character') ?? '').split(/\r?\n/), ' '];
  return async (
    { width, colours }: Picture,
    { left, top, right, bottom }: Box,
  ): Promise<{ readonly text: string; readonly likely: number }> => {
    const [across, down] = [Math.max(1, right - left), Math.max(1, bottom - top)];
    const cut = colours.map(({ data }) => {
      const part = new Float32Array(across * down);
      for (let y = 0; y < down; y++) part.set(data.subarray((top + y) * width + left, (top + y) * width + left + across), y * across);
      return plane(across, down, part);
    });
    const wide = Math.max(1, Math.ceil((HEIGHT * across) / down));
    const results = await session.run({ [session.inputNames[0] ?? '']: tensorOf(cut, wide, HEIGHT, Math.max(WIDTH, wide)) });
    const output = results[session.outputNames[0] ?? ''];
    return decoded(floatsIn(output), output?.dims.at(-1) ?? 0, characters);
  };
}

/** Greedy CTC decoding: the likeliest character at each place, and repetitions once unless a blank is between them (Graves and others, 2006). */
function decoded(shares: Float32Array, classes: number, characters: readonly string[]): { readonly text: string; readonly likely: number } {
  let [text, sum, count, last] = ['', 0, 0, 0];
  for (let from = 0; from + classes <= shares.length && classes > 0; from += classes) {
    let best = 0;
    for (let each = 1; each < classes; each++) if ((shares[from + each] as number) > (shares[from + best] as number)) best = each;
    if (best !== 0 && best !== last) {
      text += characters[best] ?? '';
      sum += shares[from + best] as number;
      count++;
    }
    last = best;
  }
  return { text, likely: count === 0 ? 0 : sum / count };
}
