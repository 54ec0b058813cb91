/** DCMTK: pictures of medical devices. */
import { conversionFailed, inputLimit } from '../../../errors.ts';
import { MAX_PIXELS } from '../../bounds.ts';
import type { Engine, Facts, Plan, Task } from '../../engine.ts';
import { DICOM } from '../../known-good.ts';

/** DICOM PS3.6: rows, columns, number of frames, and the centre of the window that shows what matters. */
const [ROWS, COLUMNS, FRAMES, WINDOW] = ['0028,0010', '0028,0011', '0028,0008', '0028,1050'];

interface Shown extends Facts {
  readonly frames: number;
  readonly window: boolean;
}

export const engine: Engine = {
  id: 'dcmtk',
  name: 'DCMTK',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    // The second is its name before 3.6.9.
    draw: {
      at: ['/usr/bin/dcm2img', '/usr/bin/dcmj2pnm'],
      version: { args: ['--version'], pattern: /(?:dcm2img|dcmj2pnm) v(\d+\.\d+)/ },
    },
    dump: { at: ['/usr/bin/dcmdump'] },
  },
  conversions: [{ source: 'dcm', target: 'png', rank: 80, loses: ['what the file says of the patient and the device'] }],
  trials: [{ file: DICOM, target: 'png' }],
  options: () => [],
  inspect: {
    step: (input) => ({ run: 'dump', args: ['-q', ...[ROWS, COLUMNS, FRAMES, WINDOW].flatMap((tag) => ['+P', tag]), input] }),
    read: readDump,
  },
  plan,
  explain: (output) =>
    /unsupported|not supported|unknown photometric|missing.{0,40}decoder/i.test(output) ? 'unsupported_variant' : undefined,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** @throws Failure `input_limit`, or `no_stream` where the file has no picture */
function readDump(stdout: string): Shown {
  const lines = stdout.matchAll(/^\((\d{4},\d{4})\) [A-Z]{2} \[?(-?\d{1,9})/gm);
  const values = new Map(Array.from(lines, ([, tag = '', value]) => [tag, Number(value)]));
  const [height, width] = [values.get(ROWS), values.get(COLUMNS)];
  if (height === undefined || width === undefined)
    throw conversionFailed('no_stream', { says: 'The DICOM file has no picture: it is a report or another object.' });
  if (width * height > MAX_PIXELS) throw inputLimit('pixels', MAX_PIXELS, width * height);
  return { frames: values.get(FRAMES) ?? 1, window: values.has(WINDOW) };
}

function plan({ input, output, facts }: Task): Plan {
  const { frames, window } = facts as Shown;
  // The first window of the file, as viewers use it; else from the darkest to the brightest.
  const shades = window ? ['--use-window', '1'] : ['--min-max-window'];
  const message = `The file has ${frames} frames: the result shows the first.`;
  return {
    steps: [{ run: 'draw', args: [...shades, '--write-png', '--meta-none', input, `${output}/out.png`] }],
    warnings: frames > 1 ? [{ code: 'first_frame', message }] : [],
  };
}
