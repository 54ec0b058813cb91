/** The lists of allowed system calls: every entry says why it is there, and real conversions ask for what the lists hold and no more. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/catalog/engine.ts';
import { type Entry, type Recorded, readCalls, recordCalls } from './recorded-calls.ts';

const TOOLCHAINS = readdirSync('images').filter((name) => existsSync(join('images', name, 'syscalls.txt')));
const lists = new Map<string, readonly Entry[]>();
for (const name of TOOLCHAINS) lists.set(name, await readCalls(join('images', name, 'syscalls.txt')));
const everybodys = await readCalls('native/syscalls.txt');

const namesOf = (entries: readonly Entry[], verb?: string): string[] =>
  entries.filter((entry) => verb === undefined || entry.verb === verb).flatMap(({ names }) => names);

it.each([['native', everybodys] as const, ...lists])('each entry of %s has a verb, a name, and evidence or a reason', (_, entries) => {
  for (const { verb, names, words } of entries) {
    expect(verb).toMatch(/^(allow|check|pretend|refuse|lacks)$/);
    expect(names, verb).not.toEqual([]);
    expect(words, names.join(' ')).toMatch(/\w{3}/);
  }
  expect(namesOf(entries).length).toBe(new Set(namesOf(entries)).size);
});

it('no toolchain allows what is refused to all, or lists what all have', () => {
  for (const [name, entries] of lists) {
    expect(new Set(entries.map(({ verb }) => verb)), name).toEqual(new Set(entries.length === 0 ? [] : ['allow']));
    expect(namesOf(entries).filter((call) => namesOf(everybodys).includes(call))).toEqual([]);
  }
});

/** One conversion of each of these, which together start every kind of program of their toolchain. */
const PAIRS: Readonly<Record<string, readonly [source: string, target: string]>> = {
  sharp: ['png', 'webp'],
  imagemagick: ['png', 'bmp'],
  ffmpeg: ['wav', 'mp3'],
  libreoffice: ['fodt', 'pdf'],
  pandoc: ['md', 'epub'],
  scans: ['pdf', 'txt'],
  ghostscript: ['pdf', 'pdf'],
  chromium: ['html', 'pdf'],
  libarchive: ['tar', 'zip'],
  fontforge: ['ttf', 'otf'],
  sfnt: ['ttf', 'woff2'],
  assimp: ['obj', 'stl'],
  gltf: ['gltf', 'glb'],
  libraw: ['dng', 'png'],
  icns: ['icns', 'png'],
  fluidsynth: ['mid', 'wav'],
  matte: ['png', 'png'],
  voice: ['wav', 'wav'],
};

describe('recorded without the list of its toolchain', () => {
  let recorded: readonly Recorded[];
  beforeAll(async () => {
    execFileSync('scripts/build-launcher');
    execFileSync('scripts/build-native');
    const pair = ({ id, conversions }: Engine) => {
      const [source = '', target = ''] = PAIRS[id] ?? [];
      // What only tools use has no conversions, and plans one for its trial.
      if (conversions.length === 0) return [{ source, target, rank: 0 }];
      return conversions.filter((each) => each.source === source && each.target === target);
    };
    recorded = await recordCalls(pair, ({ id }) => id in PAIRS);
  });

  it.for(TOOLCHAINS)('%s: its programs ask for all that is seen to be used, and for nothing that is not listed', (name) => {
    const runs = recorded.filter(({ toolchain }) => toolchain === name);
    expect(runs, 'its programs are not installed').not.toEqual([]);
    expect(runs.flatMap(({ engine, failed }) => (failed === undefined ? [] : [`${engine}: ${failed}`]))).toEqual([]);
    const asked = new Set(runs.flatMap(({ calls }) => calls));
    const listed = lists.get(name) ?? [];
    expect(
      namesOf(listed.filter(({ words }) => words.startsWith('seen:'))).filter((call) => !asked.has(call)),
      'listed in vain',
    ).toEqual([]);
    expect(
      [...asked].filter((call) => !namesOf(listed).includes(call)),
      'not listed',
    ).toEqual([]);
  });
});
