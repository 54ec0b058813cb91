/** What the engines of fonts have in common: what a file holds, its fonts taken out of their container, new outlines, and the container of the result. */
import { conversionFailed, inputLimit, type Reason } from '../../errors.ts';
import type { Engine, EngineWarning, Facts, Inspection, Plan, ProcessStep, Task } from '../engine.ts';
import { reasonTold } from './told.ts';

/** Fonts by tables, in files and on the web. */
export const SFNT = ['ttf', 'otf', 'woff', 'woff2', 'eot'];
/** Several of them in one file. */
export const COLLECTIONS = ['ttc', 'dfont'];

export const FONT_BINARIES = {
  fontforge: { at: ['/usr/bin/fontforge'], version: { args: ['-version'], pattern: /^fontforge (\d{8})$/m } },
  tmpfile: { at: ['native:own-tmpfile'] },
  draw: { at: ['program:fonts/fontforge.ts'], starts: 'tmpfile' },
  sfnt: { at: ['program:fonts/sfnt.ts'] },
  compress: { at: ['/usr/bin/woff2_compress'] },
  decompress: { at: ['/usr/bin/woff2_decompress'] },
  tar: { at: ['/usr/bin/bsdtar'] },
  copy: { at: ['/usr/bin/cp'] },
} as const satisfies Engine['binaries'];

/** As `exec/programs/fonts/sfnt/face.ts` tells them. */
export interface FontFacts {
  readonly outlines: 'glyf' | 'cff' | 'cff2' | 'bitmap' | 'none';
  readonly variable: boolean;
  readonly colour: boolean;
  readonly glyphs?: number;
  readonly extras?: boolean;
}

/** FontForge adds two glyphs where it joins the parts of a large CFF font. */
const MOST_GLYPHS = 65_533;

/** Needs the binary `sfnt`. */
export const INSPECT_FONT: Inspection = {
  sources: new Set([...SFNT, ...COLLECTIONS, 'otb']),
  step: (input, { source }) => ({ run: 'sfnt', args: ['look', input, source] }),
  read: (stdout, task): Facts => {
    const found = JSON.parse(stdout) as { readonly faces?: readonly FontFacts[]; readonly unsupported?: string };
    if (found.unsupported !== undefined)
      throw conversionFailed('unsupported_variant', { says: `The service does not convert this font: ${found.unsupported}.` });
    for (const face of found.faces ?? []) checkFace(face, task);
    return { faces: found.faces };
  },
};

function checkFace({ outlines, glyphs = 0 }: FontFacts, { source, target }: Pick<Task, 'source' | 'target'>): void {
  if (source === 'otb' || !redraws(outlines, target)) return;
  if (outlines === 'cff2')
    throw conversionFailed('unsupported_variant', { says: 'The service does not convert the outlines of variable fonts in CFF2.' });
  if (outlines !== 'glyf' && outlines !== 'cff')
    throw conversionFailed('unsupported_variant', { says: 'The font has no outlines, which this target needs.' });
  if (outlines === 'cff' && glyphs > MOST_GLYPHS) throw inputLimit('glyphs', MOST_GLYPHS, glyphs);
}

/** Whether FontForge has to rewrite it: any container takes any outlines, a TTF and an OTF only their own. */
const redraws = (outlines: FontFacts['outlines'], target: string): boolean =>
  target === 'ttf'
    ? outlines === 'cff' || outlines === 'cff2'
    : target === 'otf'
      ? outlines !== 'cff' && outlines !== 'cff2'
      : !SFNT.includes(target);

export const facesOf = ({ facts }: Pick<Task, 'facts'>): readonly FontFacts[] => (facts['faces'] as readonly FontFacts[] | undefined) ?? [];

/** Each font of the file by itself, as a font file: where they lie then, and the steps that bring them there. */
export function openFonts(task: Task): { readonly steps: readonly ProcessStep[]; readonly paths: readonly string[] } {
  const { source, input, scratch } = task;
  if (source === 'ttf' || source === 'otf') return { steps: [], paths: [input] };
  if (source === 'woff2') {
    const packed = `${scratch}/packed.woff2`;
    // It writes beside its input, where a job may not.
    const steps = [copy(input, packed), { run: 'decompress', args: [packed] }];
    return { steps, paths: [`${scratch}/packed.ttf`] };
  }
  const steps = [{ run: 'sfnt', args: ['unpack', input, source, scratch] }];
  return { steps, paths: facesOf(task).map((_, index) => `${scratch}/font-${numbered(index)}.sfnt`) };
}

export function planFont(task: Task): Plan {
  if (!INSPECT_FONT.sources?.has(task.source) || task.source === 'otb') return { steps: planDrawn(task) };
  const { target, output, scratch } = task;
  const { steps, paths } = openFonts(task);
  const results = paths.flatMap((path, index) => {
    const name = paths.length === 1 ? 'font' : numbered(index);
    const outlines = facesOf(task)[index]?.outlines ?? 'none';
    const prepared = `${scratch}/${name}-prepared.sfnt`;
    const asFont = redraws(outlines, target)
      ? { steps: [prepare(path, 'sfnt', prepared), ...draw(prepared, target, { output, scratch, name })], path: '' }
      : { steps: [], path };
    return [...asFont.steps, ...(asFont.path === '' ? [] : wrap(asFont.path, target, { output, scratch, name }))];
  });
  return { steps: [...steps, ...results], warnings: facesOf(task).flatMap((face) => losses(face, task)) };
}

/** Sources that only FontForge reads. */
function planDrawn({ source, target, input, output, scratch }: Task): readonly ProcessStep[] {
  const place = { output, scratch, name: 'font' };
  if (source === 'bdf') return [prepare(input, source, ''), ...draw(input, target, place)];
  if (source !== 'ufoz') return draw(input, target, place);
  const folder = `${scratch}/source.ufo`;
  // Whatever its folder is called, it is not called so here.
  const args = ['-x', '-f', input, '-C', scratch, '-s', '|^[^/]*/|source.ufo/|', '--no-same-owner', '--no-same-permissions'];
  return [{ run: 'tar', args }, ...draw(folder, target, place)];
}

interface Place {
  readonly output: string;
  readonly scratch: string;
  /** Without extension. */
  readonly name: string;
}

/** In FontForge's own language, with the paths as arguments. The licence to look at a font is the client's to have (OS/2 `fsType`). */
const OPEN =
  'Open($1, 1); if ($iscid) CIDFlatten(); endif; ' +
  // PostScript's names have no blanks, and sources of typefaces need a version: FontForge writes both as it finds them.
  'n = $fontname; while (Strstr(n, " ") >= 0) p = Strstr(n, " "); n = Strsub(n, 0, p) + Strsub(n, p + 1); endloop; ' +
  'if (n != $fontname) SetFontNames(n); endif; if ($fontversion == "") SetFontNames("", "", "", "", "", "1.0"); endif; ' +
  // An empty list becomes a number without digits.
  'if (HasPrivateEntry("BlueValues")) if (GetPrivateEntry("BlueValues") == "[]") ClearPrivateEntry("BlueValues"); endif; endif;';
const GENERATE = `${OPEN} Generate($2)`;
/** Without a file of metrics beside it. */
const GENERATE_BARE = `${OPEN} Generate($2, "", 0)`;
/** Px of an em, where a font has no bitmaps. */
const BITMAP_SIZE = 16;

function draw(path: string, target: string, { output, scratch, name }: Place): readonly ProcessStep[] {
  const fontforge = (script: string, to: string): ProcessStep => ({ run: 'draw', args: [script, path, to] });
  switch (target) {
    case 'ttf':
    case 'otf':
      return [fontforge(GENERATE, `${output}/${name}.${target}`)];
    case 'woff':
    case 'woff2':
    case 'eot': {
      // Adobe's curves are what these sources have.
      const drawn = `${scratch}/${name}-drawn.otf`;
      return [fontforge(GENERATE, drawn), ...wrap(drawn, target, { output, scratch, name })];
    }
    case 'svgf':
      return [fontforge(GENERATE, `${output}/${name}.svg`)];
    case 'ufoz': {
      const folder = `${scratch}/${name}.ufo`;
      const args = ['-a', '-c', '-f', `${output}/${name}.zip`, '--uid', '0', '--gid', '0', '-C', scratch, `${name}.ufo`];
      return [fontforge(GENERATE, folder), { run: 'tar', args }];
    }
    case 'otb':
      return [fontforge('Open($1, 1); Generate($2, "otb")', `${output}/${name}.`)];
    case 'bdf': {
      // A bitmap font keeps its sizes.
      const render = `Reencode("UnicodeFull"); a = $bitmaps; if (SizeOf(a) == 0) BitmapsAvail([${BITMAP_SIZE}]); endif;`;
      return [fontforge(`${OPEN} ${render} Generate($2, "bdf")`, `${output}/${name}.`)];
    }
    default:
      return [fontforge(GENERATE_BARE, `${output}/${name}.${target}`)];
  }
}

/** Puts a font file into the container of the target. */
function wrap(path: string, target: string, { output, scratch, name }: Place): readonly ProcessStep[] {
  if (target === 'ttf' || target === 'otf') return [copy(path, `${output}/${name}.${target}`)];
  if (target !== 'woff2') return [{ run: 'sfnt', args: ['pack', path, target, `${output}/${name}.${target}`] }];
  const font = `${scratch}/${name}-font.ttf`;
  return [copy(path, font), { run: 'compress', args: [font] }, copy(`${scratch}/${name}-font.woff2`, `${output}/${name}.woff2`)];
}

/** Few bytes can be hours for FontForge. @param to gets a font that takes no longer than it has to */
const prepare = (path: string, format: string, to: string): ProcessStep => ({
  run: 'sfnt',
  args: ['prepare', path, format, to],
  answers: true,
});
const copy = (from: string, to: string): ProcessStep => ({ run: 'copy', args: ['--', from, to] });
const numbered = (index: number): string => String(index + 1).padStart(3, '0');

/** What this font has and the result has not. */
function losses({ outlines, variable, colour, extras }: FontFacts, { source, target }: Task): readonly EngineWarning[] {
  const lost = (what: string): EngineWarning => ({ code: 'lossy', message: `This conversion from ${source} does not keep: ${what}.` });
  const drawn = redraws(outlines, target);
  return [
    ...(drawn && SFNT.includes(source) && SFNT.includes(target) && !['ttf', 'otf'].includes(source) ? [lost('hinting')] : []),
    ...(drawn && variable ? [lost('variations: the result is the default instance')] : []),
    ...(drawn && colour ? [lost('colours')] : []),
    ...(extras === true && target !== source ? [lost('metadata of the web font')] : []),
  ];
}

export function explainFont(output: string, code: number | null): Reason | undefined {
  const told = reasonTold(output, code, ['input_limit', 'corrupt_input']);
  if (told !== undefined) return told;
  if (output.includes('FontForge was ended by SIGXCPU')) return 'timeout';
  if (output.includes('FontForge was ended by SIGXFSZ')) return 'output_limit';
  if (output.includes('FontForge was ended by')) return 'engine_crashed';
  if (/cannot allocate|out of memory|bad_alloc/i.test(output)) return 'memory';
  return undefined;
}
