/** Fonts made to do harm: tables that lie elsewhere, glyphs that hold themselves, containers that unpack to more than they say. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { fixtures } from '../../kit/fixtures/fonts/fonts.ts';
import { type Case, type Ground, proveHarmless } from './hostile.ts';

const folder = mkdtempSync(join(tmpdir(), 'filemill-hostile-fonts-'));
const TTF = readFileSync(await (fixtures['ttf'] as (seed: string, folder: string) => Promise<string>)('kestrel', folder));
const WOFF2 = readFileSync(await (fixtures['woff2'] as (seed: string, folder: string) => Promise<string>)('kestrel', folder));
const EOT = readFileSync(await (fixtures['eot'] as (seed: string, folder: string) => Promise<string>)('kestrel', folder));
/** What a script of fontTools does to the font `f`. */
const changed = (script: string): Buffer => {
  const program = `import sys, io\nfrom fontTools.ttLib import TTFont\nf = TTFont(io.BytesIO(sys.stdin.buffer.read()))\n${script}\nf.save(sys.stdout.buffer)`;
  return execFileSync('/usr/bin/python3', ['-c', program], { input: TTF, maxBuffer: 1 << 28 });
};
const ITSELF = changed(`
from fontTools.ttLib.tables._g_l_y_f import Glyph, GlyphComponent
for name, other in (('A', 'B'), ('B', 'A')):
    glyph, part = Glyph(), GlyphComponent()
    glyph.numberOfContours, part.glyphName, part.x, part.y, part.flags = -1, other, 0, 0, 4
    glyph.components = [part]
    glyph.xMin = glyph.yMin = glyph.xMax = glyph.yMax = 0
    f['glyf'].glyphs[name] = glyph
f.recalcBBoxes = False`);
rmSync(folder, { recursive: true, force: true });

/** @param at of the first entry of the directory: 8 is its offset, 12 its length */
const entry = (at: number, value: number): Buffer => {
  const bytes = Buffer.from(TTF);
  bytes.writeUInt32BE(value, 12 + at);
  return bytes;
};

/** A WOFF of one table. @param told its length unpacked */
function woff(data: Buffer, told: number): Buffer {
  const head = Buffer.alloc(64);
  head.write('wOFF\0\x01\0\0', 0, 'latin1');
  head.writeUInt32BE(64 + data.length, 8);
  head.writeUInt16BE(1, 12);
  head.write('glyf', 44);
  for (const [index, value] of [64, data.length, told, 0].entries()) head.writeUInt32BE(value, 48 + 4 * index);
  return Buffer.concat([head, data]);
}

const compressed = Buffer.from(EOT);
compressed.writeUInt32LE(4, 12);
const collection = Buffer.alloc(12 + 4 * 0xffff);
collection.write('ttcf\0\x01\0\0', 0, 'latin1');
collection.writeUInt32BE(0xffff_ffff, 8);
/** Every table is the whole file. */
const overlapping = Buffer.from(TTF);
for (let index = 0; index < TTF.readUInt16BE(4); index++) {
  overlapping.writeUInt32BE(0, 12 + 16 * index + 8);
  overlapping.writeUInt32BE(TTF.length, 12 + 16 * index + 12);
}

const damaged = (name: string, file: Buffer, as: string, to = 'woff'): Case => ({ name, file, as, to, ends: 'fail', why: 'corrupt_input' });
const CASES: readonly Case[] = [
  damaged('a table begins beyond the end', entry(8, 0xffff_fff0), 'a.ttf'),
  damaged('a table is longer than the file', entry(12, 0x7fff_ffff), 'a.ttf', 'otf'),
  damaged('all tables are the whole file', overlapping, 'a.ttf'),
  damaged('a WOFF that unpacks to more than it says', woff(deflateSync(Buffer.alloc(200 << 20)), 1000), 'a.woff', 'ttf'),
  damaged('a WOFF that says 4 GiB', woff(deflateSync(Buffer.alloc(1000)), 0xffff_ffff), 'a.woff', 'ttf'),
  damaged('a collection of four thousand million fonts', collection, 'a.ttc', 'ttf'),
  damaged('a WOFF2 that ends in its directory', WOFF2.subarray(0, 52), 'a.woff2', 'otf'),
  {
    // FontForge makes a font without letters of it.
    name: 'a Type 1 font of nothing',
    file: '%!PS-AdobeFont-1.0: A\n(/etc/passwd) (r) file\ncurrentfile eexec\n00',
    as: 'a.pfa',
    to: 'otf',
    ends: ['fail', 'neutral'],
    why: 'corrupt_input',
  },
  {
    name: 'two glyphs that hold each other',
    file: ITSELF,
    as: 'a.ttf',
    to: 'otf',
    ends: ['fail', 'neutral'],
    why: ['corrupt_input', 'engine_crashed', 'memory', 'timeout', 'output_invalid'],
  },
  { name: 'compression that no free program reads', file: compressed, as: 'a.eot', to: 'ttf', ends: 'fail', why: 'unsupported_variant' },
];

const ground: Ground = { honest: { name: 'honest.ttf', bytes: TTF, to: 'woff' } };
proveHarmless(ground, { 'a font in which': CASES });
