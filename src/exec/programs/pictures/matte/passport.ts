/** A portrait as passports want it: the head as large and as high in the picture as a country says, the eyes level, before a plain colour. */
import { boxMean } from '../planes/filters.ts';
import { type Picture, type Plane, plane } from '../planes/picture.ts';
import type { DetectedFace } from './faces.ts';

/** What a country asks for, mm. */
export interface PassportRule {
  readonly width: number;
  readonly height: number;
  /** From the chin to the crown. */
  readonly head: number;
  /** Between the crown and the upper edge. */
  readonly above: number;
}

/** Resolution of prints; an inch has 25.4 mm. */
export const DPI = 300;
const pixels = (mm: number): number => Math.round((mm * DPI) / 25.4);
/** A print of 6 × 4 inches, which shops call 10 × 15 cm, mm. */
const SHEET = { width: 152.4, height: 101.6 };
/** Between photos on a sheet, where there is room, mm. */
const MOST_GAP = 3;
/** The grey of the line to cut along. */
const CUT_MARK = 0.75;

/** How far above a face's frame the crown may be, of the frame's height: hair counts, a hat or a raised arm does not. */
const HIGHEST_CROWN = 0.4;
const LOWEST_CROWN = 0.1;
/** More is no tilt of the head. */
const MOST_TILT = Math.PI / 8;
/** Share of the frame's width, to both sides of its middle, in which the crown is looked for. */
const BAND = 0.25;

export interface Portrait {
  readonly picture: Picture;
  /** How many times the photo had to be enlarged; below 1 it was made smaller. */
  readonly enlarged: number;
  /** Share of the lower edge that the photo does not reach. */
  readonly lacks: number;
}

/** @param subject cut out, as large as the photo */
export function portraitOf(subject: Picture, face: DetectedFace, rule: PassportRule): Portrait {
  const [left, right] = face.eyes;
  const tilt = Math.atan2(right.y - left.y, right.x - left.x);
  const angle = Math.abs(tilt) > MOST_TILT ? 0 : tilt;
  const chin = face.top + face.height;
  const crown = crownOf(subject, face);
  const scale = pixels(rule.head) / Math.max(1, chin - crown);
  const [width, height] = [pixels(rule.width), pixels(rule.height)];
  // The middle between the eyes stays where it is when the head is turned.
  const middle = { x: (left.x + right.x) / 2, y: (left.y + right.y) / 2 };
  const at = { x: width / 2, y: pixels(rule.above) + (middle.y - crown) * scale };
  const [cos, sin] = [Math.cos(angle) / scale, Math.sin(angle) / scale];
  /** Where a pixel of the portrait lies in the photo. */
  const source = (x: number, y: number) => ({
    x: middle.x + (x + 0.5 - at.x) * cos - (y + 0.5 - at.y) * sin - 0.5,
    y: middle.y + (x + 0.5 - at.x) * sin + (y + 0.5 - at.y) * cos - 0.5,
  });
  // What is made smaller is averaged first, so that no pixel is passed over.
  const radius = Math.floor(1 / scale / 2);
  const turned = (from: Plane): Plane => {
    const smooth = radius > 0 ? boxMean(from, radius) : from;
    const data = new Float32Array(width * height);
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const { x: sx, y: sy } = source(x, y);
        data[y * width + x] = between(smooth, sx, sy);
      }
    return plane(width, height, data);
  };
  const alpha = turned(subject.alpha ?? plane(subject.width, subject.height, new Float32Array(subject.width * subject.height).fill(1)));
  let lacks = 0;
  for (let x = 0; x < width; x++) {
    const { x: sx, y: sy } = source(x, height - 1);
    if (sy > subject.height - 0.5 || sx < -0.5 || sx > subject.width - 0.5) lacks++;
    for (let y = 0; y < height; y++) {
      const { x: px, y: py } = source(x, y);
      if (px < -0.5 || py < -0.5 || px > subject.width - 0.5 || py > subject.height - 0.5) alpha.data[y * width + x] = 0;
    }
  }
  const picture = { width, height, colours: subject.colours.map(turned), alpha, maxval: subject.maxval };
  return { picture, enlarged: scale, lacks: lacks / width };
}

/** The highest row of the subject over the face, within what a head can have. */
function crownOf({ alpha, width }: Picture, face: DetectedFace): number {
  const [highest, lowest] = [face.top - HIGHEST_CROWN * face.height, face.top - LOWEST_CROWN * face.height];
  if (alpha === undefined) return face.top - 0.25 * face.height;
  const middle = face.left + face.width / 2;
  const [from, to] = [middle - BAND * face.width, middle + BAND * face.width].map((x) =>
    Math.max(0, Math.min(width - 1, Math.round(x))),
  ) as [number, number];
  for (let y = Math.max(0, Math.floor(highest)); y < lowest; y++) {
    let sum = 0;
    for (let x = from; x <= to; x++) sum += alpha.data[y * width + x] as number;
    if (sum > (to - from + 1) / 2) return y;
  }
  return lowest;
}

/** Bilinear; outside, the nearest pixel. */
function between({ width, height, data }: Plane, x: number, y: number): number {
  const [cx, cy] = [Math.max(0, Math.min(width - 1, x)), Math.max(0, Math.min(height - 1, y))];
  const [x0, y0] = [Math.floor(cx), Math.floor(cy)];
  const [x1, y1] = [Math.min(width - 1, x0 + 1), Math.min(height - 1, y0 + 1)];
  const [fx, fy] = [cx - x0, cy - y0];
  const upper = (data[y0 * width + x0] as number) * (1 - fx) + (data[y0 * width + x1] as number) * fx;
  const lower = (data[y1 * width + x0] as number) * (1 - fx) + (data[y1 * width + x1] as number) * fx;
  return upper * (1 - fy) + lower * fy;
}

/** As many as fit on a print of 6 × 4 inches, on white, with a thin line in the edge of each to cut along. */
export function sheetOf(photo: Picture): Picture {
  const [width, height] = [pixels(SHEET.width), pixels(SHEET.height)];
  const [across, down] = [spread(width, photo.width), spread(height, photo.height)];
  const colours = photo.colours.map(({ data }) => {
    const all = new Float32Array(width * height).fill(1);
    for (const top of down)
      for (const left of across)
        for (let y = 0; y < photo.height; y++) {
          const [row, from] = [data.slice(y * photo.width, (y + 1) * photo.width), (top + y) * width + left];
          row[0] = row[photo.width - 1] = CUT_MARK;
          all.set(y === 0 || y === photo.height - 1 ? row.fill(CUT_MARK) : row, from);
        }
    return plane(width, height, all);
  });
  return { width, height, colours, alpha: undefined, maxval: photo.maxval };
}

/** Where each of as many as fit begins. */
function spread(room: number, length: number): number[] {
  const count = Math.floor(room / length);
  const gap = Math.min(pixels(MOST_GAP), Math.floor((room - count * length) / (count + 1)));
  const first = Math.floor((room - count * length - (count - 1) * gap) / 2);
  return Array.from({ length: count }, (_, n) => first + n * (length + gap));
}
