/**
 * Fills holes of a picture by a model that draws what could have been there. All other pixels stay as they are.
 *
 *   inpaint.ts --migan=FOLDER|--lama=FOLDER INPUT.pam OUTPUT.pam MASK.pam
 *   inpaint.ts --migan=FOLDER|--lama=FOLDER INPUT.pam OUTPUT.pam X Y WIDTH HEIGHT
 *
 * A mask is white where the hole is. One that covers nothing, or more than half of the picture, is refused. See `inference/serve.ts`.
 */
import { FileRefused } from '../data/values/value.ts';
import { folderOf } from '../inference/arguments.ts';
import { type ModelProgram, serve } from '../inference/serve.ts';
import { type HoleBounds, holesOf, seenAround } from './inpaint/areas.ts';
import { type HolePart, type Inpainting, openLama, openMigan } from './inpaint/models.ts';
import { type Picture, type Plane, plane, readPam, writePam } from './planes/picture.ts';
import { holeIn } from './retouch/hole.ts';

/** Share of the picture that a hole may be. */
const MOST_SHARE = 0.5;

function partOf({ width, colours }: Picture, hole: Uint8Array, { left, top, right, bottom }: HoleBounds): HolePart {
  const [wide, high] = [right - left, bottom - top];
  const rowsOf = <T extends Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>>(
    from: ArrayLike<number> & { subarray(from: number, to: number): ArrayLike<number> },
    to: T,
  ): T => {
    for (let y = 0; y < high; y++) to.set(from.subarray((top + y) * width + left, (top + y) * width + right), y * wide);
    return to;
  };
  const cut = ({ data }: Plane): Plane => plane(wide, high, rowsOf(data, new Float32Array(wide * high)));
  const [red, green = red, blue = red] = colours;
  if (red === undefined || green === undefined || blue === undefined) throw new Error('a picture without colours');
  return { width: wide, height: high, colours: [cut(red), cut(green), cut(blue)], hole: rowsOf(hole, new Uint8Array(wide * high)) };
}

/** Puts what was drawn into the hole: a grey picture gets the mean of the colours. */
function put(colours: readonly Plane[], drawn: readonly Plane[], { hole }: HolePart, { left, top, right }: HoleBounds): void {
  const wide = right - left;
  for (let i = 0; i < hole.length; i++) {
    if (hole[i] === 0) continue;
    const values = drawn.map(({ data }) => data[i] as number);
    const grey = values.reduce((sum, value) => sum + value, 0) / values.length;
    for (const [channel, { data, width }] of colours.entries())
      data[(top + Math.floor(i / wide)) * width + left + (i % wide)] = colours.length === 1 ? grey : (values[channel] as number);
  }
}

async function filled(
  picture: Picture,
  words: readonly string[],
  model: Inpainting,
  progress: (fraction: number) => void,
): Promise<Picture> {
  const { width, height } = picture;
  const hole = holeIn(words, width, height);
  const received = hole.reduce((sum, each) => sum + each, 0);
  const max = Math.floor(width * height * MOST_SHARE);
  if (received === 0 || received > max)
    throw new FileRefused('input_limit', undefined, { limit: 'pixels to remove', received, ...(received === 0 ? { min: 1 } : { max }) });
  const colours = picture.colours.map(({ data }) => plane(width, height, data.slice()));
  const holes = holesOf(hole, width, height);
  for (const [i, each] of holes.entries()) {
    const area = seenAround(each, width, height);
    // What was filled before is seen as it is now.
    const part = partOf({ ...picture, colours }, hole, area);
    put(colours, await model(part), part, area);
    progress((i + 1) / holes.length);
  }
  return { ...picture, colours };
}

const [migan, lama] = [folderOf('migan'), folderOf('lama')];
const work: ModelProgram['work'] = async ([input = '', output = '', ...hole], progress) => {
  const model = lama === '' ? await openMigan(migan) : await openLama(lama);
  writePam(output, await filled(readPam(input), hole, model, progress));
  return [];
};

await serve({ name: 'inpaint', version: '1.0', work });
