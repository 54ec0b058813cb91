import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, ProcessStep, Task } from '../../../src/catalog/engine.ts';
import { engine as pandoc } from '../../../src/catalog/engines/documents/pandoc.ts';
import { engine as ghostscript } from '../../../src/catalog/engines/pdf/ghostscript.ts';
import { engine as pdftotext } from '../../../src/catalog/engines/pdf/pdftotext.ts';
import { engine as poppler } from '../../../src/catalog/engines/pdf/poppler.ts';
import { engine as qpdf } from '../../../src/catalog/engines/pdf/qpdf.ts';
import { engine as scans } from '../../../src/catalog/engines/pdf/scans.ts';
import { engine as tesseract } from '../../../src/catalog/engines/pdf/tesseract.ts';
import { contentOf, pagesOf } from '../../kit/catalog/content.ts';
import { carryOut } from '../../kit/exec/plan-runner.ts';
import { fixtures, lockedPdf, picturedPage, scannedPdf } from '../../kit/fixtures/documents/documents.ts';
import { judge, judgePicture } from '../../kit/judges/documents/documents.ts';
import { unzip } from '../../kit/judges/documents/text.ts';

const SEED = 'documents in real life';
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-documents-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));
const aFolder = () => mkdtemp(join(home, 'a-'));

type Order = Pick<Task, 'source' | 'target' | 'input'> & { options?: Task['options']; password?: string };

/** @returns the only result, or the folder of several @throws the reason of a failure, as far as the engine knows it */
async function convert(engine: Engine, { password, options = {}, ...order }: Order): Promise<string> {
  const folder = await aFolder();
  const [output, scratch, secret] = ['output', 'scratch', 'password'].map((name) => join(folder, name)) as [string, string, string];
  for (const path of [output, scratch]) await mkdir(path);
  if (password !== undefined) await writeFile(secret, password);
  const task = { ...order, options, output, scratch, passwordFile: password === undefined ? undefined : secret };
  const facts = engine.inspect?.read(await run(engine, engine.inspect.step(task.input, task)), task) ?? {};
  await carryOut(engine.plan({ ...task, facts }), async (step) => ('run' in step ? run(engine, step) : ''));
  const [only, ...others] = await readdir(output);
  return only === undefined || others.length > 0 ? output : join(output, only);
}

async function run(engine: Engine, step: ProcessStep): Promise<string> {
  const at = engine.binaries[step.run]?.at[0] ?? '';
  const ours = /^program:(.+)$/.exec(at)?.[1];
  const script = ours === undefined ? [] : [join(import.meta.dirname, '../../../src/exec/programs', ours)];
  const child = spawn(ours === undefined ? at : process.execPath, [...script, ...step.args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) child[stream].on('data', (chunk) => (said[stream] += chunk));
  const code = await new Promise<number | null>((done, failed) => child.on('error', failed).on('close', done));
  if (code !== null && (step.succeeds ?? [0]).includes(code)) return said.stdout;
  throw new Error(engine.explain?.(said.stderr, code) ?? `unexplained: ${said.stderr}`);
}

const isPicture = (target: string): boolean => ['png', 'jpg', 'tiff', 'svg'].includes(target);
const judged = (path: string, target: string) => (isPicture(target) ? judgePicture : judge)(path, target, SEED);

describe.each(
  [qpdf, ghostscript, poppler, pdftotext, scans].flatMap((engine) => engine.conversions.map(({ target }) => ({ engine, target }))),
)('$engine.id from a PDF to $target', ({ engine, target }) => {
  it('opens a locked one with its password', async () => {
    const input = await lockedPdf(SEED, await aFolder(), 'pass wörd');
    await judged(await convert(engine, { source: 'pdf', target, input, password: 'pass wörd' }), target);
  });

  it('says that a locked one needs a password, or another one', async () => {
    const input = await lockedPdf(SEED, await aFolder(), 'pass wörd');
    await expect(convert(engine, { source: 'pdf', target, input })).rejects.toThrow(/^password_required$/);
    await expect(convert(engine, { source: 'pdf', target, input, password: 'guess' })).rejects.toThrow(/^wrong_password$/);
  });

  it('refuses what is no PDF', async () => {
    const input = join(await aFolder(), 'input.pdf');
    await writeFile(input, '%PDF-1.7\nnothing of it\n');
    await expect(convert(engine, { source: 'pdf', target, input })).rejects.toThrow();
  });
});

describe('pages of a PDF', () => {
  it('come in the order asked for', async () => {
    const input = (await fixtures['pdf']?.(SEED, await aFolder())) ?? '';
    const text = await readFile(
      await convert(pdftotext, {
        source: 'pdf',
        target: 'txt',
        input,
        options: {
          pages: [
            [3, 3],
            [1, 1],
          ],
        },
      }),
      'utf8',
    );
    const [first, , third] = pagesOf(contentOf(SEED));
    expect(text.split('\f').map((page) => page.split(/\s+/).filter((word) => word !== ''))).toEqual([third, first, []]);
  });

  it('are read by OCR where they are pictures, and only there', async () => {
    const input = await scannedPdf(SEED, await aFolder(), [2]);
    for (const target of ['txt', 'pdf']) await judge(await convert(scans, { source: 'pdf', target, input }), target, SEED);
    await expect(judge(await convert(pdftotext, { source: 'pdf', target: 'txt', input }), 'txt', SEED)).rejects.toThrow();
  });
});

describe('a picture of text', () => {
  it.each(['txt', 'pdf'])('is read into %s', async (target) => {
    const input = await picturedPage(SEED, await aFolder());
    await judge(await convert(tesseract, { source: 'png', target, input, options: { ocr_lang: 'eng' } }), target, SEED);
  });

  it('in a language that is not installed is explained', async () => {
    const input = await picturedPage(SEED, await aFolder());
    await expect(convert(tesseract, { source: 'png', target: 'txt', input, options: { ocr_lang: 'xyz' } })).rejects.toThrow(
      /^engine_missing$/,
    );
  });
});

describe('markup that names files', () => {
  const canary = 'canary words that no document may show';
  const sources: Record<string, (picture: string, text: string) => string> = {
    md: (picture) => `# T\n\n![shown](${picture}) <img src="${picture}">\n`,
    html: (picture, text) =>
      `<html><head><meta name="cover-image" content="${picture}"><meta name="css" content="${text}"></head><body><h1>T</h1><img src="${picture}"><iframe src="${text}"></iframe></body></html>`,
    rst: (picture, text) => `T\n=\n\n.. include:: ${text}\n\n.. image:: ${picture}\n\n.. raw:: html\n   :file: ${text}\n`,
    org: (picture, text) => `#+COVER-IMAGE: ${picture}\n* T\n#+INCLUDE: "${text}"\n[[file:${picture}]]\n`,
    tex: (picture, text) => `\\section{T}\\input{${text}}\\includegraphics{${picture}}\n`,
  };
  for (const [source, write] of Object.entries(sources))
    it(`in ${source} gets nothing of them into a package or a text`, async () => {
      const folder = await aFolder();
      const [picture, text, input] = ['picture.png', 'text.txt', `input.${source}`].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ];
      await cp(await picturedPage(SEED, folder), picture);
      await writeFile(text, canary);
      await writeFile(input, write(picture, text));
      for (const target of ['docx', 'odt', 'epub', 'html', 'tex']) {
        if (target === source) continue;
        // A reader may also refuse the file: then there is nothing to look at.
        const path = await convert(pandoc, { source, target, input }).catch(() => undefined);
        if (path === undefined) continue;
        const bytes = await readFile(path);
        const parts = ['html', 'tex'].includes(target) ? [bytes] : [...(await unzip(bytes)).values()];
        const pixels = await readFile(picture);
        expect(
          parts.some((part) => part.includes(canary) || part.equals(pixels)),
          `${source} to ${target}`,
        ).toBe(false);
      }
    });

  it('would show them without the sandbox and the cleaning: the canary is one', async () => {
    const folder = await aFolder();
    const picture = await picturedPage(SEED, folder);
    const [input, output] = [join(folder, 'input.md'), join(folder, 'output.docx')];
    await writeFile(input, sources['md']?.(picture, '') ?? '');
    await run(pandoc, { run: 'pandoc', args: [input, '-o', output] });
    const parts = [...(await unzip(await readFile(output))).values()];
    const pixels = await readFile(picture);
    expect(parts.some((part) => part.equals(pixels))).toBe(true);
  });
});
