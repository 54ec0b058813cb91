/** Ghostscript: compresses a PDF by downsampling its pictures, and draws a PDF as a multi-page TIFF. */
import type { Engine, ProcessStep } from '../../engine.ts';
import { PDF } from '../../known-good.ts';
import { DEFAULT_DPI, explainPdf, MEASURE, measurePdf, openPdf, PDFINFO, PRUNE, QPDF } from '../../planning/documents/pdf.ts';

const DEFAULT_QUALITY = 50;

type Preset = 'screen' | 'ebook' | 'printer' | 'prepress';

/** The distiller's presets (Ghostscript manual, "Distiller parameters"): pictures at 72, 150, 300 and 300 dpi. */
function presetOf(quality: number): Preset {
  if (quality <= 25) return 'screen';
  if (quality <= 50) return 'ebook';
  return quality <= 75 ? 'printer' : 'prepress';
}

/**
 * Presets that make every picture with shades a JPEG of this coarseness (`QFactor`), also one that is no larger than the resolution. As delivered
 * they leave JPEGs as they are up to half more than that, and drawings without loss: a scan of 200 dpi came back larger from `ebook`.
 */
const COARSE: Partial<Readonly<Record<Preset, number>>> = { screen: 0.9, ebook: 0.6 };

export const engine: Engine = {
  id: 'ghostscript',
  name: 'Ghostscript',
  role: 'pdf',
  toolchains: ['pdf'],
  binaries: {
    gs: { at: ['/usr/bin/gs'], version: { args: ['--version'], pattern: /^(\d+\.\d+)/m } },
    smallest: { at: ['program:pdf/smallest.ts'] },
    qpdf: QPDF,
    prune: PRUNE,
    measure: MEASURE,
    pdfinfo: PDFINFO,
  },
  conversions: [
    { source: 'pdf', target: 'pdf', rank: 60, loses: ['resolution of pictures', 'forms and scripts'] },
    { source: 'pdf', target: 'tiff', rank: 70, loses: ['text', 'links'] },
  ],
  trials: [{ file: PDF, target: 'pdf' }],
  options: (_, target) => (target === 'pdf' ? ['img_quality', 'password', 'pages'] : ['dpi', 'password', 'pages']),
  inspect: measurePdf(({ target, options }) => (target === 'tiff' ? (options.dpi ?? DEFAULT_DPI) : undefined)),

  plan: (task) => {
    // Ghostscript runs any file that does not begin as a PDF as a PostScript program, so it gets only what qpdf wrote.
    const { steps, path, pages, warnings } = openPdf(task, `${task.scratch}/rewritten.pdf`);
    const output = `${task.output}/document.${task.target}`;
    const gs = (to: string, device: readonly string[], [at, of]: readonly [number, number] = [0, 1]): ProcessStep => ({
      run: 'gs',
      args: ['-dSAFER', '-dBATCH', '-dNOPAUSE', '-dUseCropBox', `-sOutputFile=${to}`, ...device, '-f', path],
      progress: (line) => {
        const done = pageOf(line, pages);
        return done === undefined ? undefined : (at + done) / of;
      },
    });
    if (task.target === 'tiff') {
      const resolution = `-r${task.options.dpi ?? DEFAULT_DPI}`;
      const drawing = ['-sDEVICE=tiff24nc', '-sCompression=lzw', resolution, '-dTextAlphaBits=4', '-dGraphicsAlphaBits=4'];
      return { steps: [...steps, gs(output, drawing)], warnings };
    }
    const preset = presetOf(task.options.img_quality ?? DEFAULT_QUALITY);
    if (COARSE[preset] === undefined) return { steps: [...steps, gs(output, distil(preset))], warnings };
    // A drawing with few colours is smaller without loss than as a JPEG: a coarser preset must not give the larger file.
    const [own, finer] = [`${task.scratch}/own.pdf`, `${task.scratch}/finer.pdf`];
    const both = [gs(own, distil(preset), [0, 2]), gs(finer, distil('printer'), [1, 2])];
    return { steps: [...steps, ...both, { run: 'smallest', args: [output, own, finer] }], warnings };
  },
  explain: (output) => explainPdf(output) ?? (/VMerror/.test(output) ? 'memory' : undefined),
};

/** Arguments for a PDF with this preset. Colours stay in their own space: `printer` would add a profile, and be larger than `prepress`. */
function distil(preset: Preset): readonly string[] {
  const common = ['-sDEVICE=pdfwrite', `-dPDFSETTINGS=/${preset}`, '-sColorConversionStrategy=LeaveColorUnchanged'];
  const coarseness = COARSE[preset];
  if (coarseness === undefined) return common;
  const jpeg = `<< /QFactor ${coarseness} /Blend 1 /ColorTransform 1 /HSamples [2 1 1 2] /VSamples [2 1 1 2] >>`;
  const kinds = ['Color', 'Gray'].flatMap((kind) => [
    `-dAutoFilter${kind}Images=false`,
    `-d${kind}ImageFilter=/DCTEncode`,
    `-d${kind}ImageDownsampleThreshold=1.0`,
  ]);
  return [
    ...common,
    '-dPassThroughJPEGImages=false',
    ...kinds,
    '-c',
    `<< /ColorImageDict ${jpeg} /GrayImageDict ${jpeg} >> setdistillerparams`,
  ];
}

/** Ghostscript prints `Page 3` when it begins page 3. */
function pageOf(line: string, pages: number): number | undefined {
  const page = /^Page (\d+)$/.exec(line)?.[1];
  return page === undefined ? undefined : (Number(page) - 1) / pages;
}
