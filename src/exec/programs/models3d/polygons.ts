/**
 * Counts the corners of the largest face of a 3D model, before a converter loads it: to cut a face into triangles takes time by the square of its corners.
 *
 *   polygons.ts INPUT obj|off|ply|ac|x3d
 *
 * Prints one line of JSON, `{"corners"}`, and of an OBJ `"library"`, whether it names a file with its materials. It reads text and checks nothing: what it cannot read, a binary PLY among it, is left to the converter.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

const CHUNK = 1 << 20;
/** At the start of a line (Wavefront, "Object Files", "Render attributes"). */
const LIBRARY = '\nmtllib ';
const [NEWLINE, RETURN, BLANK, TAB, BACKSLASH, FACE] = [10, 13, 32, 9, 92, 102];

const [input = '', format = ''] = process.argv.slice(2);
const BY_FORMAT: Readonly<Record<string, () => number>> = {
  // `f 1/2/3 4/5/6 7/8/9`
  obj: () => mostWords(FACE) - 1,
  // `4 0 1 2 3`; lines of points are short.
  off: () => mostWords() - 1,
  ply: () => mostWords() - 1,
  // `refs 4`, and a line for each.
  ac: () => largest(/^refs[ \t]{1,9}(\d{1,9})/gm, ([, count]) => Number(count)),
  // `coordIndex="0 1 2 3 -1"`
  x3d: () => largest(/\bcoordIndex\s{0,9}=\s{0,9}["']([-\d\s,]{0,100000000})/g, ([, numbers = '']) => mostUntilMinusOne(numbers)),
};
const corners = Math.max(0, BY_FORMAT[format]?.() ?? 0);
process.stdout.write(`${JSON.stringify({ corners, ...(format === 'obj' && { library: namesLibrary() }) })}\n`);

/** Whether a line begins with `mtllib`, however the pieces that are read are cut. */
function namesLibrary(): boolean {
  const file = openSync(input, 'r');
  const [buffer, kept] = [Buffer.alloc(CHUNK + LIBRARY.length), LIBRARY.length];
  // What is before the first line ends one.
  buffer.fill('\n', 0, kept);
  let isNamed = false;
  for (let length = readSync(file, buffer, kept, CHUNK, null); length > 0 && !isNamed; length = readSync(file, buffer, kept, CHUNK, null)) {
    const piece = buffer.subarray(0, kept + length);
    isNamed = piece.includes(LIBRARY) || piece.includes(LIBRARY.replace('\n', '\r'));
    piece.copy(buffer, 0, length, length + kept);
  }
  closeSync(file);
  return isNamed;
}

/** @param first what a line begins with to be counted; unset: any @returns the most words in one line, which goes on behind a backslash at its end */
function mostWords(first?: number): number {
  const file = openSync(input, 'r');
  const buffer = Buffer.allocUnsafe(CHUNK);
  let [most, words, before] = [0, 0, NEWLINE];
  let [isStart, isCounted, isInWord, isContinued] = [true, true, false, false];
  for (let length = readSync(file, buffer); length > 0; length = readSync(file, buffer))
    for (let at = 0; at < length; at++) {
      const byte = buffer[at] ?? 0;
      if (byte === RETURN) continue;
      if (byte === NEWLINE) {
        isContinued = before === BACKSLASH;
        if (isContinued) words--;
        else [words, isStart, isCounted] = [0, true, true];
        isInWord = false;
      } else if (byte === BLANK || byte === TAB) isInWord = false;
      else {
        if (isStart) isCounted = first === undefined || byte === first;
        isStart = false;
        if (!isInWord && isCounted && ++words > most) most = words;
        isInWord = true;
      }
      before = byte;
    }
  closeSync(file);
  return most;
}

function largest(pattern: RegExp, count: (found: RegExpExecArray) => number): number {
  let most = 0;
  for (const found of readFileSync(input, 'latin1').matchAll(pattern)) most = Math.max(most, count(found));
  return most;
}

function mostUntilMinusOne(numbers: string): number {
  let [most, run] = [0, 0];
  for (const [number] of numbers.matchAll(/-?\d{1,12}/g)) {
    run = number === '-1' ? 0 : run + 1;
    most = Math.max(most, run);
  }
  return most;
}
