/** Subjects without the colours of the background that they stood before, and before another one. */
import { boxMean, product, resample } from '../planes/filters.ts';
import { clamp, type Picture, type Plane, plane, readPam } from '../planes/picture.ts';

/** How far colours are taken from, as a share of the longer side. */
const REACH = 1 / 60;

/** The picture cut out by the mask. Where it is half transparent, the subject's own colour is estimated (Forte, "Approximate fast foreground colour estimation", 2021). */
export function cutOut(picture: Picture, mask: Plane): Picture {
  const { width, height } = picture;
  const radius = Math.max(2, Math.round(Math.max(width, height) * REACH));
  const around = boxMean(mask, radius);
  const alpha = picture.alpha === undefined ? mask : product(mask, picture.alpha);
  return { ...picture, colours: picture.colours.map((colour) => ownColour(colour, mask, around, radius)), alpha };
}

function ownColour(colour: Plane, mask: Plane, around: Plane, radius: number): Plane {
  const subject = boxMean(product(colour, mask), radius);
  const all = boxMean(colour, radius);
  const data = colour.data.slice();
  for (let i = 0; i < data.length; i++) {
    const a = mask.data[i] as number;
    if (a <= 0.001 || a >= 0.999) continue;
    const share = around.data[i] as number;
    const front = share < 1e-4 ? (colour.data[i] as number) : (subject.data[i] as number) / share;
    const back = share > 1 - 1e-4 ? front : ((all.data[i] as number) - (subject.data[i] as number)) / (1 - share);
    data[i] = clamp(front + a * ((colour.data[i] as number) - a * front - (1 - a) * back));
  }
  return plane(colour.width, colour.height, data);
}

/** One colour everywhere. @param hex as `#rrggbb` */
export function plain(hex: string, { width, height, maxval }: Pick<Picture, 'width' | 'height' | 'maxval'>): Picture {
  const colours = [1, 3, 5].map((at) =>
    plane(width, height, new Float32Array(width * height).fill(Number.parseInt(hex.slice(at, at + 2), 16) / 255)),
  );
  return { width, height, colours, alpha: undefined, maxval };
}

/** A background of a picture's size. @param behind `#rrggbb`, or the path of a picture */
export const backgroundOf = (behind: string, size: Pick<Picture, 'width' | 'height' | 'maxval'>): Picture =>
  behind.startsWith('#') ? plain(behind, size) : covering(readPam(behind), size.width, size.height);

/** Scaled to cover so many pixels, and cut around its middle. */
function covering(picture: Picture, width: number, height: number): Picture {
  const scale = Math.max(width / picture.width, height / picture.height);
  const [wide, high] = [Math.max(width, Math.round(picture.width * scale)), Math.max(height, Math.round(picture.height * scale))];
  const [left, top] = [(wide - width) >> 1, (high - height) >> 1];
  const cover = (from: Plane): Plane => {
    const { data } = resample(from, wide, high);
    const kept = new Float32Array(width * height);
    for (let y = 0; y < height; y++) kept.set(data.subarray((top + y) * wide + left, (top + y) * wide + left + width), y * width);
    return plane(width, height, kept);
  };
  const { alpha, colours, maxval } = picture;
  return { width, height, colours: colours.map(cover), alpha: alpha && cover(alpha), maxval };
}

/** A cut-out before another picture of its size, which is on white where it is transparent. */
export function before(subject: Picture, background: Picture): Picture {
  const { width, height, alpha, maxval } = subject;
  const count = Math.max(subject.colours.length, background.colours.length);
  const colours = Array.from({ length: count }, (_, channel) => {
    const [front, back] = [subject, background].map(({ colours: of }) => of[Math.min(channel, of.length - 1)] as Plane) as [Plane, Plane];
    const data = new Float32Array(width * height);
    for (let i = 0; i < data.length; i++) {
      const [a, b] = [alpha?.data[i] ?? 1, background.alpha?.data[i] ?? 1];
      data[i] = a * (front.data[i] as number) + (1 - a) * (b * (back.data[i] as number) + 1 - b);
    }
    return plane(width, height, data);
  });
  return { width, height, colours, alpha: undefined, maxval };
}
