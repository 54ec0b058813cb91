/** Netpbm: pictures of computers and devices of before. Its programs read and write its own formats, which ImageMagick makes of all others. */
import { type Conversion, type Engine, everyPair, type Plan, type Task } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { PICTURE_EDITS } from '../../options/options.ts';
import { READERS, WRITERS } from './imagemagick/coders.ts';
import { flatten, pick, readAndEdit } from './imagemagick/command.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { CONVERT, IMAGEMAGICK_LIMITS, pingStep, readPing } from './imagemagick/inspect.ts';

interface Row {
  readonly read: string;
  readonly write: string;
  readonly args?: readonly string[];
  /** Every picture is as wide, px. */
  readonly width?: number;
  /** Which of Netpbm's formats the program takes. */
  readonly takes: 'ppm' | 'pbm';
}

const TABLE: Readonly<Record<string, Row>> = {
  // 24 bits a pixel for more than 256 colours, else a palette.
  lbm: { read: 'ilbmtoppm', write: 'ppmtoilbm', args: ['-24if'], takes: 'ppm' },
  rle: { read: 'rletopnm', write: 'pnmtorle', takes: 'ppm' },
  srf: { read: 'srftopam', write: 'pamtosrf', takes: 'ppm' },
  icon: { read: 'sunicontopnm', write: 'pbmtosunicon', takes: 'pbm' },
  mrf: { read: 'mrftopbm', write: 'pbmtomrf', takes: 'pbm' },
  mgr: { read: 'mgrtopbm', write: 'pbmtomgr', takes: 'pbm' },
  // ITU-T T.4, 2: a line of a fax.
  g3: { read: 'g3topbm', write: 'pbmtog3', width: 1728, takes: 'pbm' },
};
const FORMATS = Object.keys(TABLE);

const VERSION = { args: ['--version'], pattern: /Netpbm (\d+\.\d+)/ };

export const engine: Engine = {
  id: 'netpbm',
  name: 'Netpbm',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    ...Object.fromEntries(
      Object.values(TABLE)
        .flatMap(({ read, write }) => [write, read])
        .map((name) => [name, { at: [`/usr/bin/${name}`], version: VERSION }]),
    ),
    convert: CONVERT,
  },
  conversions: [...everyPair(FORMATS, ['png'], { rank: 70 }), ...everyPair(Object.keys(READERS), FORMATS, { rank: 60 })].map((pair) => ({
    ...pair,
    loses: losesOf(pair),
  })),
  trials: [{ file: PNG, target: 'lbm' }, ...FORMATS.slice(1).map((target) => ({ file: PNG, target }))],
  options: (_, target) => (target === 'png' ? [] : [...PICTURE_EDITS, 'background']),
  inspect: { sources: new Set(Object.keys(READERS)), step: pingStep, read: readPing },
  plan: (task) => (FORMATS.includes(task.source) ? read(task) : write(task)),
  explain: explainImageMagick,
  limits: { memoryBytes: 1024 ** 3 },
};

function read({ source, input, scratch, output }: Task): Plan {
  const picture = `${scratch}/picture.pnm`;
  return {
    steps: [
      { run: TABLE[source]?.read ?? '', args: [input], stdoutTo: picture },
      { run: 'convert', args: [...IMAGEMAGICK_LIMITS, `pnm:${picture}`, `png:${output}/out.png`] },
    ],
  };
}

function write(task: Task): Plan {
  const { target, options, scratch, output } = task;
  const { write: program = '', args = [], width, takes = 'ppm' } = TABLE[target] ?? {};
  const { indices, warnings } = pick(task, undefined);
  const encode = WRITERS[takes]?.encode ?? [];
  const picture = `${scratch}/picture.${takes}`;
  return {
    warnings,
    steps: [
      {
        run: 'convert',
        args: [
          ...readAndEdit(task, indices).args,
          ...flatten(options.background ?? '#ffffff'),
          ...(width === undefined ? [] : ['-resize', `${width}x`]),
          ...encode,
          ...['-depth', '8', `${takes}:${picture}`],
        ],
      },
      { run: program, args: [...args, picture], stdoutTo: `${output}/out.${target}` },
    ],
  };
}

function losesOf({ target }: Conversion): readonly string[] {
  if (target === 'png') return [];
  return ['transparency', ...(WRITERS[TABLE[target]?.takes ?? 'ppm']?.loses ?? ['more than 8 bits a channel'])];
}
