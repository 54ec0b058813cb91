/** librsvg: SVG to PNG and PDF. It loads nothing from the network, and files only from the drawing's own folder. */
import { belowLimit, inputLimit } from '../../../errors.ts';
import { MAX_PIXELS, MAX_SIDE } from '../../bounds.ts';
import type { Engine, Plan, Task } from '../../engine.ts';
import { SVG } from '../../known-good.ts';
import { UTF8 } from '../../planning/documents/text.ts';
import { reasonOfText } from '../../planning/told.ts';
import { HEAD, INSPECT_SVG } from './rsvg/inspect.ts';
import type { SvgSize } from './rsvg/size.ts';

/** CSS pixels per inch (CSS Values 3, 5.2). */
const CSS_DPI = 96;
const DEFAULT_DPI = 150;
export const engine: Engine = {
  id: 'rsvg',
  name: 'librsvg',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    // 2.56.3 and Debian's 2.54.7 fix CVE-2023-38633: earlier ones could be made to read files outside the folder.
    rsvg: { at: ['/usr/bin/rsvg-convert'], version: { args: ['--version'], pattern: /rsvg-convert(?: version)? (\d+\.\d+\.\d+)/ } },
    head: HEAD,
    utf8: UTF8,
  },
  conversions: [
    { source: 'svg', target: 'png', rank: 90 },
    { source: 'svg', target: 'pdf', rank: 90 },
  ],
  trials: [{ file: SVG, target: 'png' }],
  options: (_source, target) => (target === 'png' ? ['dpi', 'img_resize_w', 'img_resize_h'] : []),
  // Compressed ones are unpacked, too.
  readsUtf8: new Set(['svg']),
  inspect: INSPECT_SVG,
  plan,
  explain: (output, code) => {
    const refused = reasonOfText(output, code);
    if (refused !== undefined) return refused;
    if (/larger than \d+ pixels|too large|cannot have more than|limit/i.test(output)) return 'input_limit';
    return /memory/i.test(output) ? 'memory' : undefined;
  },
  limits: { memoryBytes: 1024 ** 3, wallMs: 120_000 },
};

function plan({ target, options, input, output, facts }: Task): Plan {
  const drawn = target === 'png' ? canvas(options, facts['size'] as SvgSize | undefined) : [];
  return { steps: [{ run: 'rsvg', args: ['--format', target, '--output', `${output}/out.${target}`, ...drawn, input] }] };
}

/**
 * With one given side the ratio is kept; both are exact. A drawing of unknown size is bounded by the command's memory limit only.
 * @throws Failure `input_limit` before anything is drawn
 */
function canvas(
  { dpi = DEFAULT_DPI, img_resize_w: width, img_resize_h: height }: Task['options'],
  size: SvgSize | undefined,
): readonly string[] {
  if (width !== undefined && height !== undefined) return ['--width', `${width}`, '--height', `${height}`];
  if (width !== undefined || height !== undefined) {
    const derived = size && (width === undefined ? ((height ?? 0) * size.width) / size.height : (width * size.height) / size.width);
    const pixels = Math.round(derived ?? 1);
    const says = `The drawing has ${size?.width} × ${size?.height} pixels; in this size its other side would be ${pixels} pixels`;
    if (pixels < 1) throw belowLimit('side in pixels', 1, pixels, `${says}, and the minimum is 1.`);
    if (pixels > MAX_SIDE) throw inputLimit('side in pixels', MAX_SIDE, pixels, `${says}, and the maximum is ${MAX_SIDE}.`);
    return [...(width === undefined ? ['--height', `${height}`] : ['--width', `${width}`]), '--keep-aspect-ratio'];
  }
  const zoom = dpi / CSS_DPI;
  const pixels = size === undefined ? 0 : Math.ceil(size.width * zoom) * Math.ceil(size.height * zoom);
  if (pixels > MAX_PIXELS) throw inputLimit(`pixels at ${dpi} dpi`, MAX_PIXELS, pixels);
  return ['--zoom', `${zoom}`];
}
