/** Reads a picture's pages by Tesseract. Where it is unsure of one, the page is tried the other way round, or light where it is dark. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { FileRefused } from '../../data/values/value.ts';
import { folderOf } from '../../inference/arguments.ts';
import type { Picture } from '../../pictures/planes/picture.ts';
import type { Told } from '../../process/answer.ts';
import { runCommand } from './commands.ts';
import { LANGUAGES_OF_SCRIPTS, likelyLanguage, TAGS } from './language.ts';

const TESSERACT = '/usr/bin/tesseract';
/** Path of ImageMagick, which the engine names. */
const CONVERT = folderOf('convert');

export type ReadKind = 'txt' | 'pdf' | 'tsv';

export interface Reading {
  /** Path of the picture, of one page or several. */
  readonly picture: string;
  /** Path of the result, without the kind as its extension. */
  readonly to: string;
  readonly kind: ReadKind;
  /** As Tesseract calls them, joined by +, or `auto`. */
  readonly language: string;
  /** Pixels per inch; unset: as the picture says. */
  readonly dpi?: string;
}

/** Confidence of words in a page that was read as it lies, in percent: garbage has 20 to 50, clean text over 85. */
const SURE = 70;
/** Words of less are no more than a smudge. */
const READ = 30;
/** How likely a turn has to be, 0 to 1. */
const LIKELY = 0.6;
/** Mean of what is dark, 0 to 1. */
const DARK = 0.4;
/** Side of the small picture that a page is judged by, px. */
const SMALL = 256;

/** What was read of a page. */
interface Score {
  /** Mean confidence of its letters, percent. */
  readonly confidence: number;
  readonly letters: number;
}

/** Languages that the other model reads better than Tesseract. */
const CHINESE = /(^|\+)chi_/;
const LINES = folderOf('ppocr-v4');
/** The model that the client has named; empty: none. */
const ASKED = folderOf('recogniser');
const isInLines = (language: string): boolean => (ASKED === '' ? CHINESE.test(language) : ASKED === 'ppocr-v4');

/** Whether the client has named a model that is not installed. */
export const isModelMissing = (): boolean => ASKED === 'ppocr-v4' && LINES === '';

/** @throws FileRefused where the client has named a model that is not installed */
export function refuseMissing(): void {
  if (isModelMissing())
    throw new FileRefused(
      'model_not_installed',
      'The model ppocr-v4 is not installed (filemill models pull ppocr-v4): leave the field model out.',
    );
}

/** @returns what the client has to know */
export async function recognise(reading: Reading): Promise<readonly Told[]> {
  if (reading.language === 'auto') return recogniseAny(reading);
  await recogniseIn(reading, reading.language);
  return isInLines(reading.language) ? inLines(reading) : [];
}

/** Where the model for Chinese is installed, the text is that one's, of pages as Tesseract has turned them. */
async function inLines({ picture, to, kind }: Reading): Promise<readonly Told[]> {
  if (LINES === '' || kind !== 'txt') return [];
  const [{ chineseLinesIn, textOfLines }, { readPam }] = await Promise.all([
    import('./lines.ts'),
    import('../../pictures/planes/picture.ts'),
  ]);
  const changes = turned.get(to) ?? [];
  const texts: string[] = [];
  for (let page = 0; page < Math.max(1, changes.length); page++) {
    const { turn, negate } = changes[page] ?? unchanged;
    const upright = `${to}-upright.pam`;
    const change = [...(negate ? ['-negate'] : []), ...(turn === 0 ? [] : ['-rotate', `${360 - turn}`, '+repage'])];
    runCommand(CONVERT, [frameOf(picture, page), ...SHOWN, ...change, `pam:${upright}`]);
    texts.push(textOfLines(await chineseLinesIn(readPam(upright), LINES)));
    rmSync(upright);
  }
  if (texts.every((text) => text === '')) return [];
  writeFileSync(`${to}.txt`, texts.map((text) => `${text}\f`).join(''));
  return [{ code: 'model_used', message: 'The lines were read by ppocr-v4.' }];
}

/** How the pages of each result were changed before they were read. */
const turned = new Map<string, readonly Change[]>();
/** How pages are decoded: without transparency, in 8 bits. */
const SHOWN = ['-background', 'white', '-alpha', 'remove', '-alpha', 'off', '-colorspace', 'sRGB', '-type', 'TrueColor', '-depth', '8'];

/** The script is told by Tesseract, the language by the words. */
async function recogniseAny(reading: Reading): Promise<readonly Told[]> {
  const { picture, to } = reading;
  const seen = `${to}.osd`;
  const isTold = runCommand(TESSERACT, [picture, 'stdout', '--psm', '0'], { stdoutTo: seen, mayFail: true });
  const script = isTold ? /^Script: (\w+)$/m.exec(readFileSync(seen, 'utf8'))?.[1] : undefined;
  rmSync(seen, { force: true });
  let best: { readonly language: string; readonly score: number; readonly confidence: number } | undefined;
  for (const language of LANGUAGES_OF_SCRIPTS[script ?? 'Latin'] ?? ['eng']) {
    const found = await recogniseIn({ ...reading, to: `${to}-${language}` }, language);
    if (best === undefined || found.score > best.score) best = { language, ...found };
  }
  const { language = 'eng' } = best ?? {};
  const words = wordsOf(`${to}-${language}.tsv`);
  const better = likelyLanguage(words, language);
  const read = better === language ? best : { language: better, ...(await recogniseIn({ ...reading, to: `${to}-${better}` }, better)) };
  const chosen = read !== undefined && (best === undefined || read.score >= best.score * 0.9) ? read : best;
  const { language: told = 'eng', confidence = 0 } = chosen ?? {};
  const lines = isInLines(told) ? await inLines({ ...reading, to: `${to}-${told}` }) : [];
  renameSync(`${to}-${told}.${reading.kind}`, `${to}.${reading.kind}`);
  const name = new Intl.DisplayNames('en', { type: 'language' }).of(TAGS[told] ?? 'en');
  const message = `The language was detected: ${name} (${(TAGS[told] ?? 'en').slice(0, 2)}), ${Math.round(confidence)} % sure.`;
  return words.length === 0 ? lines : [{ code: 'language_detected', message }, ...lines];
}

interface Found {
  /** Confidence and letters of all pages together. */
  readonly score: number;
  readonly confidence: number;
}

async function recogniseIn(reading: Reading, language: string): Promise<Found> {
  const { picture, to, kind } = reading;
  const first = readBy(reading, picture, to, language);
  const changes: Change[] = [];
  for (const [page, score] of first.entries()) changes.push(isSure(score) ? unchanged : await changeOf(picture, page, to));
  turned.set(
    to,
    first.map(() => unchanged),
  );
  if (changes.every(({ turn, negate }) => turn === 0 && !negate)) return together(first);
  const [other, changed] = [`${to}-other`, `${to}-other.tiff`];
  const parts = changes.flatMap(({ turn, negate }, page) => [
    '(',
    frameOf(picture, page),
    ...(negate ? ['-negate'] : []),
    ...(turn === 0 ? [] : ['-rotate', `${360 - turn}`, '+repage']),
    ')',
  ]);
  runCommand(CONVERT, [...parts, '-alpha', 'off', '-compress', 'LZW', `tiff:${changed}`]);
  const second = readBy(reading, changed, other, language);
  rmSync(changed);
  if (together(second).score <= together(first).score) return together(first);
  turned.set(to, changes);
  for (const each of new Set([kind, 'tsv'])) renameSync(`${other}.${each}`, `${to}.${each}`);
  return together(second);
}

/** @returns of each page, in order */
function readBy({ kind, dpi }: Reading, picture: string, to: string, language: string): readonly Score[] {
  const resolution = dpi === undefined ? [] : ['--dpi', dpi];
  runCommand(TESSERACT, [picture, to, '-l', language, ...resolution, ...new Set([kind, 'tsv'])]);
  return scoresIn(`${to}.tsv`);
}

/** Rows of Tesseract: level, page, …, confidence, text (tesseract(1), "tsv"). */
const rowsIn = (path: string): readonly (readonly string[])[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(1)
    .map((row) => row.split('\t'));

const wordsOf = (path: string): readonly string[] =>
  rowsIn(path).flatMap((row) => (row[0] === '5' && Number(row[10]) > READ ? [row[11] ?? ''] : []));

function scoresIn(path: string): readonly Score[] {
  const pages: { sum: number; letters: number }[] = [];
  for (const [level, page = '', ...rest] of rowsIn(path)) {
    const place = Number(page) - 1;
    if (!(place >= 0)) continue;
    while (pages.length <= place) pages.push({ sum: 0, letters: 0 });
    const [confidence, text = ''] = [Number(rest[8]), rest[9]];
    const letters = level === '5' && confidence > 0 ? text.trim().length : 0;
    const each = pages[place] as { sum: number; letters: number };
    each.sum += letters * confidence;
    each.letters += letters;
  }
  return pages.map(({ sum, letters }) => ({ letters, confidence: letters === 0 ? 0 : sum / letters }));
}

const isSure = ({ confidence, letters }: Score): boolean => letters > 0 && confidence >= SURE;

/** Clear words count, and what is guessed counts against them. */
function together(scores: readonly Score[]): Found {
  const letters = scores.reduce((sum, each) => sum + each.letters, 0);
  const sum = scores.reduce((all, each) => all + each.letters * each.confidence, 0);
  return {
    score: scores.reduce((all, each) => all + each.letters * (each.confidence - 50), 0),
    confidence: letters === 0 ? 0 : sum / letters,
  };
}

/** Extensions, which are ours, name the decoder: it must never guess. */
const frameOf = (picture: string, page: number): string => `${extname(picture).slice(1)}:${picture}[${page}]`;

interface Change {
  /** By how many degrees the page is turned clockwise. */
  readonly turn: number;
  /** Whether it is light on dark. */
  readonly negate: boolean;
}
const unchanged: Change = { turn: 0, negate: false };

async function changeOf(picture: string, page: number, to: string): Promise<Change> {
  const small = `${to}-${page}-small.pam`;
  runCommand(CONVERT, [frameOf(picture, page), ...SHOWN, '-resize', `${SMALL}x${SMALL}^`, '-gravity', 'center', `pam:${small}`]);
  const { lumaOf, readPam } = await import('../../pictures/planes/picture.ts');
  const read = readPam(small);
  rmSync(small);
  const { data } = lumaOf(read);
  const negate = data.reduce((sum, value) => sum + value, 0) / data.length < DARK;
  const folder = folderOf('page-orientation');
  const { turn, likely } = folder === '' ? turnSeen(picture, page, to) : await turnTold(read, folder, negate);
  return { turn: likely >= LIKELY ? turn : 0, negate };
}

/** By the model: its runtime takes longer to load than most pictures to be read, and is not everywhere. */
async function turnTold(page: Picture, folder: string, negate: boolean): Promise<{ readonly turn: number; readonly likely: number }> {
  const { turnOfPage } = await import('./orientation.ts');
  return turnOfPage(page, folder, negate);
}

/** Without the model, Tesseract says it, where it finds letters enough. */
function turnSeen(picture: string, page: number, to: string): { readonly turn: number; readonly likely: number } {
  const seen = `${to}-${page}-turn.osd`;
  const isTold = runCommand(TESSERACT, [picture, 'stdout', '--psm', '0', '-c', `tessedit_page_number=${page}`], {
    stdoutTo: seen,
    mayFail: true,
  });
  const turn = Number(isTold ? (/^Orientation in degrees: (\d+)$/m.exec(readFileSync(seen, 'utf8'))?.[1] ?? 0) : 0);
  rmSync(seen, { force: true });
  return { turn, likely: turn === 0 ? 0 : 1 };
}
