/** Edits pictures in formats that libvips cannot write: the format's own program decodes, libvips edits, and the program encodes again. */
import type { ConversationStep, Engine, Inspection, Plan, ProcessStep, Task } from '../../engine.ts';
import { PPM } from '../../known-good.ts';
import type { Options } from '../../options/options.ts';
import { carryExif } from '../../planning/pictures/exif.ts';
import { engine as heif } from './heif.ts';
import { READERS, WRITERS } from './imagemagick/coders.ts';
import { pick } from './imagemagick/command.ts';
import { edits } from './imagemagick/edits.ts';
import { type Frame, framesOf, IMAGEMAGICK_LIMITS, pingStep, readPing } from './imagemagick/inspect.ts';
import { engine as imagemagick } from './imagemagick.ts';
import { engine as jxl } from './jxl.ts';
import { engine as raster } from './raster.ts';
import { EDITS, engine as sharp, talk } from './sharp.ts';

/** The engines that read and write a format; ImageMagick for all others. */
const READ_BY: Readonly<Record<string, Engine>> = { heic: heif, jxl, dds: raster, fits: raster };
const WRITTEN_BY: Readonly<Record<string, Engine>> = { heic: heif, jxl };
const editable = sharp.conversions.flatMap(({ source, target }) => (source === target ? [source] : []));
const FORMATS = [...Object.keys(READERS).filter((id) => WRITERS[id] !== undefined && !editable.includes(id)), ...Object.keys(READ_BY)];

/** A unique name, since two engines may use one name for different programs. */
const named = (by: Engine, binary: string): string => `${by.id}-${binary}`;

export const engine: Engine = {
  id: 'imagemagick-retouch',
  name: sharp.name,
  role: 'image',
  toolchains: ['image'],
  binaries: Object.fromEntries(
    [sharp, imagemagick, heif, jxl, raster].flatMap((by) => Object.entries(by.binaries).map(([name, binary]) => [named(by, name), binary])),
  ),
  // Ranked below every engine that needs no edits: used for edits, and where no other engine writes the same format.
  conversions: [...new Set(FORMATS)].map((format) => ({ source: format, target: format, rank: 50 })),
  trials: [{ file: PPM, target: 'ppm' }],
  options: (_, target) => [
    ...EDITS,
    'strip_metadata',
    ...(WRITTEN_BY[target] !== undefined || WRITERS[target]?.quality ? (['img_quality'] as const) : []),
  ],
  inspect: {
    step: (input, task) => {
      const by = READ_BY[task.source];
      if (by === undefined) return { ...pingStep(input, task), run: named(imagemagick, 'convert') };
      const step = inspection(by).step(input, task);
      return { ...step, run: named(by, step.run) };
    },
    read: (stdout, task) => {
      const by = READ_BY[task.source];
      return by === undefined ? readPing(stdout) : inspection(by).read(stdout, task);
    },
  },
  plan,
  explain: (output, code) =>
    sharp.explain?.(output, code) ?? heif.explain?.(output, code) ?? jxl.explain?.(output, code) ?? raster.explain?.(output, code),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

function inspection({ id, inspect }: Engine): Inspection {
  if (inspect === undefined) throw new Error(`${id} has no inspection`);
  return inspect;
}

function plan(task: Task): Plan {
  const { options, scratch, target, output } = task;
  const frames = framesOf(task.facts);
  const pages = READERS[task.source]?.takes === 'pages' ? frames.length : 1;
  // A crop outside the picture is refused before anything is decoded.
  const [index = 0] = READERS[task.source] === undefined ? [] : pick(task, WRITERS[target]?.many).indices;
  const frame: Frame = { ...(frames[index] ?? UNKNOWN), upright: true, onItsSide: false, profile: false };
  const size = frames.length === 0 ? frame : edits({ ...frame, ...sides(frames[index] ?? frame) }, options);
  const decoded = decode(task);
  const folder = `${scratch}/edited`;
  const edited = `${folder}/edited.png`;
  // What libvips and ImageMagick do not read of a TIFF.
  const tells = task.source === 'tiff' && options.strip_metadata !== true;
  const said = pages === 1 && tells ? `${scratch}/said.jpg` : undefined;
  const carried = (to: string): ProcessStep => ({ ...carryExif(task.input, to), run: named(imagemagick, 'exif') });
  const order = { source: decoded.format, target: 'png', options, input: decoded.path, output: edited };
  const libvips = talk(said === undefined ? order : { ...order, said });
  const change: ConversationStep = { ...libvips, talk: named(sharp, libvips.talk), input: decoded.path, output: folder };
  if (pages > 1) {
    const inputs = Array.from({ length: pages }, (_, page) => `png:${folder}/page-${String(page + 1).padStart(4, '0')}.png`);
    const args = [
      ...IMAGEMAGICK_LIMITS,
      ...inputs,
      ...(WRITERS[target]?.encode ?? []),
      `${WRITERS[target]?.coder}:${output}/out.${target}`,
    ];
    const written = { run: named(imagemagick, 'convert'), args };
    return { steps: [...decoded.steps, change, written, ...(tells ? [carried(`${output}/out.${target}`)] : [])] };
  }
  const by = WRITTEN_BY[target] ?? imagemagick;
  const written = by.plan({
    ...task,
    source: 'png',
    input: edited,
    options: encoding(options),
    facts: { frames: [{ ...frame, width: size.width, height: size.height }] },
  });
  return { steps: [...decoded.steps, ...(said === undefined ? [] : [carried(said)]), change, ...mine(by, written)] };
}

/** The output of decoders that apply the orientation themselves. */
const UNKNOWN: Frame = { width: 1, height: 1, alpha: true, upright: true, onItsSide: false, profile: false, density: undefined };

const sides = ({ width, height, onItsSide }: Frame) => (onItsSide ? { width: height, height: width } : { width, height });

/** The options that remain for encoding the edited picture. */
const encoding = ({ img_quality, strip_metadata, background }: Options): Options => ({ img_quality, strip_metadata, background });

/** Decodes to a format that libvips reads. */
function decode(task: Task): { readonly steps: readonly ProcessStep[]; readonly path: string; readonly format: string } {
  const { source, input, scratch } = task;
  if (source === 'tiff') return { steps: [], path: input, format: 'tiff' };
  const by = READ_BY[source] ?? imagemagick;
  const steps = mine(by, by.plan({ ...task, target: 'png', options: {}, output: scratch }));
  return { steps, path: `${scratch}/out.png`, format: 'png' };
}

function mine(by: Engine, { steps }: Plan): ProcessStep[] {
  return steps.map((step) => {
    if (!('run' in step)) throw new Error(`${by.id} uses a resident`);
    return { ...step, run: named(by, step.run) };
  });
}
