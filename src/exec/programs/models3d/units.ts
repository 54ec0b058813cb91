/**
 * Writes a 3MF in millimetres: Assimp reads its numbers and not their unit. (3MF Core Specification, 3.4.1 and 3.3)
 *
 *   units.ts INPUT OUTPUT
 *
 * A model in millimetres is copied. Prints an answer as residents give.
 */
import { copyFileSync, readFileSync } from 'node:fs';
import { unpackedEntry, zipEntries, zipOf } from '../archives/zip.ts';
import { answering } from '../process/answer.ts';
import { writePieces } from '../process/pieces.ts';

/** Millimetres. */
const UNITS: Readonly<Record<string, number>> = { micron: 0.001, centimeter: 10, inch: 25.4, foot: 304.8, meter: 1000 };
/** Bytes of all parts, unpacked. */
const MOST_BYTES = 512 << 20;
const MODEL = /^3d\/[^/]{1,200}\.model$/i;
const [VERTEX, PLACED] = [/<vertex\s[^<>]*>/g, /<(?:item|component)\s[^<>]*>/g];
const COORDINATE = /\s([xyz])="([^"<>]{1,40})"/g;
const TRANSFORM = /\stransform="([^"<>]{1,600})"/;

const [input = '', output = ''] = process.argv.slice(2);

await answering(() => {
  let changed = false;
  const parts = [...zipEntries(readFileSync(input))].map((entry) => {
    const bytes = unpackedEntry(entry, MOST_BYTES);
    if (!MODEL.test(entry.name)) return { name: entry.name, bytes };
    const model = bytes.toString();
    const factor = unitOf(model);
    if (factor === undefined) return { name: entry.name, bytes };
    changed = true;
    return { name: entry.name, bytes: Buffer.from(scaled(model, factor)) };
  });
  if (changed) writePieces(output, zipOf(parts));
  else copyFileSync(input, output);
  return [];
});

/** @returns undefined for millimetres, which hold where none is said */
function unitOf(model: string): number | undefined {
  const start = model.indexOf('<model');
  const tag = start < 0 ? '' : model.slice(start, model.indexOf('>', start) + 1);
  return UNITS[/\sunit="(\w{1,20})"/.exec(tag)?.[1] ?? ''];
}

function scaled(model: string, factor: number): string {
  const times = (text: string): string => {
    const value = Number(text) * factor;
    return Number.isFinite(value) ? `${value}` : text;
  };
  return model
    .replace(/\sunit="\w{1,20}"/, ' unit="millimeter"')
    .replace(VERTEX, (tag) => tag.replace(COORDINATE, (_, axis: string, value: string) => ` ${axis}="${times(value)}"`))
    .replace(PLACED, (tag) =>
      tag.replace(TRANSFORM, (_, matrix: string) => {
        const numbers = matrix.trim().split(' ').filter(Boolean);
        // The last row is where it stands.
        return ` transform="${numbers.map((value, place) => (place < 9 ? value : times(value))).join(' ')}"`;
      }),
    );
}
