/** librsvg: SVG drawings to PNG and PDF. It loads nothing from the network, and files only from the drawing's own folder. */
import type { Engine, Plan, Task } from '../engine.ts';

/** Dots an inch that a CSS pixel stands for (CSS Values 3, 5.2), and the resolution unless asked otherwise. */
const CSS_DPI = 96;
const DEFAULT_DPI = 150;

export const engine: Engine = {
  id: 'rsvg',
  name: 'librsvg',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    // 2.56.3 mends CVE-2023-38633, as Debian's 2.54.7 does: earlier ones could be led out of the folder.
    rsvg: { at: ['/usr/bin/rsvg-convert'], version: { args: ['--version'], pattern: /rsvg-convert(?: version)? (\d+\.\d+\.\d+)/ } },
  },
  conversions: [
    { source: 'svg', target: 'png', rank: 90 },
    { source: 'svg', target: 'pdf', rank: 90 },
  ],
  options: (_source, target) => (target === 'png' ? ['dpi', 'img_resize_w', 'img_resize_h'] : []),
  plan,
  explain: (words) => {
    if (/larger than \d+ pixels|too large|cannot have more than|limit/i.test(words)) return 'input_limit';
    return /memory/i.test(words) ? 'memory' : undefined;
  },
  limits: { memoryBytes: 1024 ** 3 },
};

function plan({ target, options, input, output }: Task): Plan {
  const args = ['--format', target, '--output', `${output}/out.${target}`, ...(target === 'png' ? size(options) : []), input];
  return { steps: [{ run: 'rsvg', args }] };
}

/** One given side keeps the ratio, both are exact. */
function size({ dpi = DEFAULT_DPI, img_resize_w: width, img_resize_h: height }: Task['options']): readonly string[] {
  if (width !== undefined && height !== undefined) return ['--width', `${width}`, '--height', `${height}`];
  if (width !== undefined) return ['--width', `${width}`, '--keep-aspect-ratio'];
  if (height !== undefined) return ['--height', `${height}`, '--keep-aspect-ratio'];
  return ['--zoom', `${dpi / CSS_DPI}`];
}
