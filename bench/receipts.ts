/** What receipts cost: what is read of both files, in turn with nothing of it, by CPU time. */
import { execFile } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { areCompared } from '../src/catalog/fidelity/receipt.ts';
import { contentsOf } from '../src/catalog/planning/contents/measure.ts';
import { distinctWords, MEASURED_PAGES } from '../src/catalog/planning/contents/words.ts';
import { lookThrough } from '../src/catalog/planning/look-through.ts';
import { piecesOf } from '../src/judge/pieces.ts';
import { longDocx } from '../test/kit/fixtures/documents/document-cases.ts';
import { fullDocx, fullPdf, fullXlsx } from '../test/kit/fixtures/documents/full.ts';
import { denseText } from '../test/kit/fixtures/documents/outlined.ts';
import { smallPicture } from './conversions.ts';
import { GOAL_HEAD, goalRow, quantile } from './rows.ts';

const run = promisify(execFile);
const TIMES = 60;

/** CPU time of this process for each piece of work, ms, in turn: a slow hour is as slow for each. */
function cpuInTurn(works: readonly (() => void)[]): readonly number[] {
  const took = works.map(() => [] as number[]);
  for (let round = 0; round < TIMES; round++)
    for (const [index, work] of works.entries()) {
      const before = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(before);
      took[index]?.push((user + system) / 1_000);
    }
  return took.map((all) => quantile(all, 0.5));
}

const reading =
  (format: string, path: string, read = contentsOf) =>
  () => {
    const fd = openSync(path, 'r');
    read(format, piecesOf(fd));
    closeSync(fd);
  };

export async function receipts(folder: string): Promise<void> {
  const [short, long, sheet, dense] = [
    await fullDocx(join(folder, 'full.docx')),
    await longDocx('kestrel', folder, 39),
    join(folder, 'full.xlsx'),
    join(folder, 'dense.pdf'),
  ];
  await fullXlsx(sheet);
  await writeFile(dense, denseText(39));
  const made = join(folder, 'full.pdf');
  await writeFile(made, fullPdf());
  const picture = await smallPicture(folder);
  const [text] = [(await run('pdftotext', ['-q', dense, '-'], { maxBuffer: 1 << 26 })).stdout];
  const rows = [
    ['a small PNG, whether its receipt needs it', () => void areCompared('png', 'jpg')],
    ['the same PNG looked through, as before', reading('png', picture, lookThrough)],
    ['a DOCX of one page', reading('docx', short)],
    ['a DOCX of 39 pages', reading('docx', long)],
    ['an XLSX of two sheets', reading('xlsx', sheet)],
    ['a PDF of two pages, without its text', reading('pdf', made)],
    ['a PDF of 39 full pages, without its text', reading('pdf', dense)],
    ['the words of those 39 pages, once pdftotext has them', () => void distinctWords(text)],
  ] as const;
  const took = cpuInTurn(rows.map(([, work]) => work));
  console.log(`\n${GOAL_HEAD}`);
  for (const [index, [what]] of rows.entries()) goalRow(what, index === 0 ? 'at most 2 ms' : '', `${(took[index] ?? 0).toFixed(2)} ms`);
  for (const [what, path] of [
    ['pdftotext, two pages', made],
    ['pdftotext, the first 30 of those 39 pages', dense],
  ] as const)
    goalRow(
      `${what}, a process`,
      'at most 30 ms',
      `${(await cpuOfProgram('pdftotext', ['-q', '-l', String(MEASURED_PAGES), path, '/dev/null'])).toFixed(1)} ms`,
    );
}

/** CPU time of a program, by the shell's own count: the median of ten. */
async function cpuOfProgram(program: string, args: readonly string[]): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < 10; round++) {
    const { stdout } = await run('bash', ['-c', 'TIMEFORMAT="%3U %3S"; { time "$@"; } 2>&1', 'bash', program, ...args]);
    took.push(
      stdout
        .trim()
        .split(' ')
        .reduce((sum, seconds) => sum + 1_000 * Number(seconds), 0),
    );
  }
  return quantile(took, 0.5);
}
