/** Every parser of foreign text and bytes, tried with repeated characters, markers, nesting and tiny pieces in growing sizes: cost grows no faster than size. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/catalog/engine.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { type Sample, Sampler } from '../../../src/catalog/looks/sample.ts';
import { distinctNames } from '../../../src/catalog/names.ts';
import { optionSchemas, readOptions } from '../../../src/catalog/options/options.ts';
import { readInput } from '../../../src/catalog/tool.ts';
import { tools } from '../../../src/catalog/tools.ts';
import { Head, lines, Tail } from '../../../src/exec/confine/kept.ts';
import type { EntryNames } from '../../../src/exec/programs/archives/entry-names.ts';
import { sentName } from '../../../src/fetch/download/name.ts';
import { judgeUrl } from '../../../src/fetch/url.ts';
import { identifyWith } from '../../../src/limits/clients/client.ts';

/** Characters of the inputs. */
const SIZES = [1_000, 10_000, 100_000] as const;
/** Less CPU time than this is not looked at: noise is a large part of it, ms. */
const NOTICED_MS = 40;
/** How much faster than its size a cost may seem to grow: caches, collections and compilation make it jump. */
const TOLERANCE = 3;
/** What the smaller size is taken to cost at least, ms. */
const FLOOR_MS = 0.05;
/** One look at one text or sample may hold the event loop no longer than this, ms. */
const BUDGET_MS = 50;

type Look = (text: string) => unknown;

const CHARACTERS = [...' \t\n\0.,:;/\\%0eax"\'`<>[({*|=_-+~^&#@!', '\u00e9', '\ufeff', '\u0338'];

/** What formats, markups and protocols begin, open or repeat. */
const MARKERS = [
  ...['<!--', '<?x', '<!DOCTYPE ', '<!doctype[', '<svg ', '<svg width="', '<a b="c" ', "<a b='", '<a>', '<html', '</p>', '<para', ']]>'],
  ...[
    '# x\n',
    '**a',
    '](',
    '[[a|',
    "'''",
    '{{',
    '`a <',
    '`_',
    '``',
    ':a:`',
    'http://',
    '[http://a ',
    'link:a[',
    '|_.',
    '\\f',
    '.TH ',
    '\\begin',
  ],
  ...[
    'a,b\n',
    '"a;',
    '\r\n',
    '\r',
    '%%',
    '%2',
    '%e9',
    '../',
    '..\\',
    'a.',
    '::',
    '1-2,',
    '1:',
    'ff:',
    '-1',
    '1e',
    '; a=',
    '; filename="\\',
    "''",
  ],
  ...[
    'PK\x03\x04',
    'PK\x01\x02',
    'PK\x05\x06',
    'OggS\0\x02',
    'ID3\x03\0\0\0\0\0\0',
    'moov',
    'hdlr',
    'RIFF',
    '\x1a\x45\xdf\xa3',
    '\x42\x82',
  ],
  ...[
    '\xff\xfb\x90\0',
    '\xff\xf1\x50\x80',
    '\x0b\x77',
    '\x00\x00\x01\xba',
    'G',
    '\xd0\xcf\x11\xe0',
    // A column of dBASE, behind what is its version.
    '0'.padEnd(11, 'x').padEnd(12, 'C').padEnd(32, '\0'),
    'P5 #',
    'Decoder x',
    'Stream map ',
    '-bit a+',
  ],
  ...[
    '1 1 1 a b c\n',
    'Page 1 size: 1 x ',
    'Pages: ',
    'image: 1x',
    ', 1',
    '{"a":',
    '[',
    '[]',
    '{}',
    '\u202e',
    '\u0301\u0316',
    '\ufdfa',
    'a-\n',
  ],
];

/** What inputs begin with, so that the parser that they are for goes on. */
const BEGINNINGS = [
  ...[
    '',
    '<svg ',
    '<svg width="',
    "<svg height='",
    '<!DOCTYPE a [',
    '<!--',
    '{',
    '#define ',
    '.\\"',
    '/*',
    '%PDF-1.7',
    'GIF89a',
    '\xff\xfe',
    'P6\n',
  ],
  ...['PK\x03\x04\x14\0\x08\0\x08\0', 'OggS\0\x02', 'ID3\x03\0\0\0\0\0\0', '\0\0\x01\0ftypisom', '\0\0\x01\0ftypmif1', '\0\0\x01\0moov'],
  ...[
    '\x1a\x45\xdf\xa3\xa3\x42\x82',
    '\x1a\x45\xdf\xa3\x01\xff\xff\xff\xff\xff\xff\xff\x42\x82\x40\0',
    '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1',
    '\xff\xfb\x90\0',
  ],
  ...[
    '\0\0\x02\0',
    'attachment; filename="',
    "attachment; filename*=utf-8''",
    '[',
    'https://',
    'https://a/',
    '::',
    'Decoder ',
    'Pages:',
    '-bit ',
  ],
];

/** Inputs of one size: each piece repeated, alone, behind a beginning, and with another character at either end. */
function* inputs(size: number): Generator<Input> {
  for (const piece of [...CHARACTERS, ...MARKERS]) {
    const run = piece.repeat(Math.ceil(size / piece.length));
    const name = JSON.stringify(piece);
    yield [`${name} repeated`, run];
    yield [`${name} between two letters`, `x${run}x`];
  }
  for (const beginning of BEGINNINGS.slice(1))
    for (const piece of [' ', '\0', '0', 'a', '"', beginning]) {
      yield [`${JSON.stringify(beginning)}, then ${JSON.stringify(piece)}`, `${beginning}${piece.repeat(Math.ceil(size / piece.length))}!`];
    }
  for (const [open, close] of [
    ['<a>', '</a>'],
    ['[', ']'],
    ['(', ')'],
    ['{', '}'],
    ['"', "'"],
  ] as const)
    yield [`${open} nested`, open.repeat(size / 8) + close.repeat(size / 8)];
}

type Input = readonly [name: string, text: string];
const made = new Map<number, readonly Input[]>();

/** The same strings for every look, so that making them is paid for once. */
function inputsOf(size: number): readonly Input[] {
  const known = made.get(size) ?? [...inputs(size)];
  made.set(size, known);
  return known;
}

/** CPU time of this thread: another process may not make a look seem long. */
function costOf(look: Look, text: string): number {
  const before = process.threadCpuUsage();
  try {
    look(text);
  } catch {
    // A refusal is an answer.
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

const leastOf = (times: number, measure: () => number): number => Math.min(...Array.from({ length: times }, measure));

/** What grew faster than its size, or took too long. */
function grownFaster(look: Look, sizes: readonly number[] = SIZES): string[] {
  const wrong: string[] = [];
  const last = new Map<string, number>();
  for (const [step, size] of sizes.entries()) {
    const ratio = size / (sizes[step - 1] ?? size);
    for (const [name, text] of inputsOf(size)) {
      let cost = costOf(look, text);
      const allowed = Math.max(NOTICED_MS, TOLERANCE * ratio * Math.max(FLOOR_MS, last.get(name) ?? Number.POSITIVE_INFINITY));
      if (cost > NOTICED_MS) cost = leastOf(3, () => costOf(look, text));
      const before = last.get(name);
      if (before !== undefined && cost > allowed)
        wrong.push(`${name}: ${before.toFixed(2)} ms, of ${ratio} times the size ${cost.toFixed(1)} ms`);
      else if (cost > BUDGET_MS) wrong.push(`${name}: ${cost.toFixed(1)} ms for ${size} characters`);
      last.set(name, cost);
    }
    // What is that slow already would take hours at the next size.
    if (wrong.length > 0) break;
  }
  return wrong;
}

const sampleOf = (text: string): Sample => {
  const sampler = new Sampler();
  sampler.push(Buffer.from(text, 'latin1'));
  return sampler.sample();
};

const bytes =
  (read: (bytes: Uint8Array) => unknown): Look =>
  (text) =>
    read(Buffer.from(text, 'latin1'));
const sniffed =
  (read: (sample: Sample) => unknown): Look =>
  (text) =>
    read(sampleOf(text));

/** Functions that never see more than a few bytes or a word of ours. */
const NOT_FOREIGN = null;

type Looks = Readonly<Record<string, Look | typeof NOT_FOREIGN>>;
type Module = Readonly<Record<string, (...given: never[]) => unknown>>;

/** How each function that such a module exports is called with foreign text; another one must be added here. */
const MODULES: Readonly<Record<string, (module: Module) => Looks>> = {
  'catalog/names.ts': (module) => ({
    cleanName: as(module['cleanName']),
    baseName: as(module['baseName']),
    nameWithoutSuffix: (text) => as3(module['nameWithoutSuffix'])(text, 'jpg', '-acme'),
    resultName: (text) => as2(module['resultName'])(text, 'jpg'),
    distinctNames: (text) => distinctNames()([text]),
    seenName: (text) => as2(module['seenName'])(text, '_'),
    cleanPart: (text) => as2(module['cleanPart'])(text, '_'),
    asFileOfWindows: as(module['asFileOfWindows']),
    foldName: as(module['foldName']),
    inStreams: as(module['inStreams']),
    truncate: (text) => as2(module['truncate'])(text, 240),
    // It only puts numbers after names.
    numberedNames: NOT_FOREIGN,
  }),
  'exec/programs/archives/entry-names.ts': (module) => ({
    entryNames: (text) => (as(module['entryNames'])({ forWindows: true }) as EntryNames).take(text),
  }),
  'catalog/options/pages.ts': (module) => ({
    pageRanges: as(module['pageRanges']),
    selectPages: NOT_FOREIGN,
    choosePages: NOT_FOREIGN,
    pagesOfResults: NOT_FOREIGN,
    pagesAsText: NOT_FOREIGN,
    pagesOf: NOT_FOREIGN,
    pagesFrom1To: NOT_FOREIGN,
  }),
  'catalog/options/time.ts': (module) => ({ seconds: as(module['seconds']) }),
  'catalog/planning/documents/ocr.ts': (module) => ({ explainOcr: as(module['explainOcr']), recogniserOf: NOT_FOREIGN }),
  'catalog/planning/phrases.ts': (module) => ({
    meaningOf: (text) => as2(module['meaningOf'])(text, [[['a…b', 'x … y', text.slice(0, 1), '\n…#'], 'found']]),
  }),
  'catalog/formats.ts': (module) => ({
    formatOf: NOT_FOREIGN,
    isUnproven: NOT_FOREIGN,
    tieGroup: NOT_FOREIGN,
    formatByExtension: as(module['formatByExtension']),
    formatByName: as(module['formatByName']),
  }),
  'catalog/planning/documents/pdf.ts': (module) => ({
    // What it reads is an engine's inspection, which is tried with its engine.
    measurePdf: NOT_FOREIGN,
    shownSizes: as(module['shownSizes']),
    openPdf: NOT_FOREIGN,
    prune: NOT_FOREIGN,
    pagesForQpdf: NOT_FOREIGN,
    textLayer: NOT_FOREIGN,
    explainPdf: as(module['explainPdf']),
  }),
  'catalog/planning/contents/words.ts': (module) => ({
    distinctWords: as(module['distinctWords']),
    cellWords: as(module['cellWords']),
    joinedWords: as(module['joinedWords']),
    foundWords: (text) => as2(module['foundWords'])([text], [text]),
    comparedWords: NOT_FOREIGN,
  }),
  'catalog/planning/contents/documents/plain.ts': (module) => ({
    textFacts: as(module['textFacts']),
    markdownFacts: as(module['markdownFacts']),
    separatedFacts: as(module['separatedFacts']),
  }),
  'catalog/engines/drawings/rsvg/octaves.ts': (module) => ({ octavesIn: as(module['octavesIn']) }),
  'catalog/engines/drawings/rsvg/size.ts': (module) => ({ sizeOf: as(module['sizeOf']) }),
  'exec/residents/messages.ts': (module) => ({
    readMessage: as(module['readMessage']),
    readAnswer: NOT_FOREIGN,
    lastAnswer: as(module['lastAnswer']),
  }),
  'fetch/download/name.ts': () => ({
    sentName: (text) => {
      sentName(text, new URL('https://example.com/x'));
      sentName(undefined, new URL(`https://example.com/${text}`));
    },
  }),
  'fetch/url.ts': () => ({ judgeUrl: (text) => judgeUrl(text, { http: true, ports: [443, 80] }) }),
  'fetch/address.ts': (module) => ({ addressJudge: NOT_FOREIGN, canonical: as(module['canonical']), isRange: as(module['isRange']) }),
  'limits/clients/network.ts': (module) => ({
    parseAddress: as(module['parseAddress']),
    clientNetwork: NOT_FOREIGN,
    parseNetwork: as(module['parseNetwork']),
    holdsClients: as(module['holdsClients']),
    isNetwork: as(module['isNetwork']),
  }),
  'limits/clients/client.ts': () => {
    const identify = identifyWith({ trustProxy: ['::1', '10.0.0.0/8'], sharedEgress: [], salt: 'salt' });
    // Node takes 32 KiB of headers.
    return { identifyWith: (text) => identify('::1', text.slice(0, 32_768)) };
  },
  'catalog/looks/bytes.ts': (module) => ({
    ...Object.fromEntries(
      ['u8', 'u16le', 'u16be', 'u32le', 'u32be', 'directoryNumbers', 'has', 'asBuffer'].map((name) => [name, NOT_FOREIGN]),
    ),
    latin1: bytes((read) => as3(module['latin1'])(read, 0, read.length)),
    find: bytes((read) => as2(module['find'])(read, 'hdlr')),
  }),
  'catalog/sniff/sniff.ts': (module) => ({
    detect: sniffed(as(module['detect'])),
    resolveSource: (text) => as3(module['resolveSource'])(sampleOf('prose'), text, text),
    // It sees only what `detect` and `isText` have answered.
    matches: NOT_FOREIGN,
  }),
  'catalog/looks/sample.ts': () => ({ Sampler: (text) => sampleOf(text) }),
  'catalog/sniff/verdict.ts': () => ({
    asCut: NOT_FOREIGN,
    asFormat: NOT_FOREIGN,
    asRefused: NOT_FOREIGN,
    tieAmong: NOT_FOREIGN,
    tie: NOT_FOREIGN,
  }),
  'catalog/looks/charset.ts': (module) => ({ decode: bytes(as(module['decode'])), isText: sniffed(as(module['isText'])) }),
  'catalog/sniff/text/markup.ts': (module) => ({ likeliest: as(module['likeliest']) }),
  'catalog/sniff/text/page-parts.ts': (module) => ({
    unloaded: (text) => as3(module['unloaded'])({ head: Buffer.from(text) }, 'html', 'pdf'),
  }),
  'api/mcp/calls/paths.ts': (module) => ({ pathIn: as(module['pathIn']), uploadAdvice: (text) => as2(module['uploadAdvice'])('', text) }),
  'api/mcp/calls/text-kind.ts': (module) => ({
    isProse: as(module['isProse']),
    kindOfText: (text) => as2(module['kindOfText'])(text, { to: 'xlsx' }),
  }),
  'api/mcp/calls/normalize.ts': (module) => ({
    normalized: (text) => as2(module['normalized'])(new Map([['ocr_lang', text]]), { params: {} }),
  }),
  'catalog/options/meant.ts': (module) => ({ meantName: (text) => as2(module['meantName'])(text, ['img_quality']) }),
  'catalog/looks/xml.ts': (module) => ({
    rootOf: as(module['rootOf']),
    attribute: (text) => as2(module['attribute'])(rootWith(text), 'width'),
    attributesOf: (text) => as(module['attributesOf'])(rootWith(text)),
  }),
};

const rootWith = (attributes: string) => ({ name: 'svg', prefix: '', attributes, doctype: '' });

type Called = ((...given: never[]) => unknown) | undefined;
const called = (work: Called, ...given: readonly unknown[]): unknown =>
  (work as ((...given: readonly unknown[]) => unknown) | undefined)?.(...given);
const as =
  (work: Called) =>
  (given: unknown): unknown =>
    called(work, given);
const as2 =
  (work: Called) =>
  (one: unknown, two: unknown): unknown =>
    called(work, one, two);
const as3 =
  (work: Called) =>
  (one: unknown, two: unknown, three: unknown): unknown =>
    called(work, one, two, three);

const SOURCE = join(import.meta.dirname, '../../../src');

/** Every file that looks at samples, also one that is not listed above: each of its functions takes a sample. */
const sniffers = ['catalog/sniff', 'catalog/looks'].flatMap((folder) =>
  readdirSync(join(SOURCE, folder), { recursive: true, encoding: 'utf8' }).flatMap((name) =>
    name.endsWith('.ts') ? [`${folder}/${name}`] : [],
  ),
);

const loaded: readonly (readonly [path: string, module: Module])[] = await Promise.all(
  [...new Set([...Object.keys(MODULES), ...sniffers])].map(async (path) => [path, (await import(join(SOURCE, path))) as Module] as const),
);

describe('what looks at foreign text', () => {
  for (const [path, module] of loaded) {
    const functions = Object.entries(module).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
    const looks: Looks = MODULES[path]?.(module) ?? Object.fromEntries(functions.map((name) => [name, sniffed(as(module[name]))]));
    it(`in ${path} is tried here`, () => expect(Object.keys(looks).sort()).toEqual(functions.sort()));
    for (const [name, look] of Object.entries(looks))
      if (look !== NOT_FOREIGN)
        it(`takes ${name} of ${path} no more time than its length asks for`, () => expect(grownFaster(look)).toEqual([]));
  }

  const known = engines.filter(({ inspect, explain }, at) => {
    const isSame = (other: Engine) => other.inspect?.read === inspect?.read && other.explain === explain;
    return (inspect !== undefined || explain !== undefined) && engines.findIndex(isSame) === at;
  });
  it.each(known.map((engine) => [engine.id, engine] as const))('of the programs of %s likewise', (_id, engine) => {
    expect(grownFaster((text) => wordsOf(engine, text))).toEqual([]);
  });

  it('as any option likewise', () => {
    expect(Object.keys(optionSchemas).flatMap((name) => texts((text) => readOptions(new Map([[name, text]]))))).toEqual([]);
  });

  it.each(tools.map((tool) => [tool.slug, tool] as const))('as any field of %s likewise', (_slug, tool) => {
    const names = Object.keys(tool.input.shape);
    expect(names.flatMap((name) => texts((text) => readInput(tool, new Map([[name, text]]))))).toEqual([]);
  });
});

/** A field that is as long as it may be, of each character: which parses too long is found within the bound, or not at all. */
function texts(look: Look): string[] {
  return CHARACTERS.flatMap((character) => {
    const text = `1${character.repeat(8_190)}x`;
    const cost = leastOf(2, () => costOf(look, text));
    return cost > NOTICED_MS ? [`${JSON.stringify(character)}: ${cost} ms`] : [];
  });
}

/** What a program wrote is kept up to a mebibyte; all formats that the engine reads are asked about, where its reading differs by them. */
function wordsOf({ inspect, explain, conversions }: Engine, text: string): void {
  const of = new Map(conversions.map((pair) => [pair.source === 'heic' || pair.source === 'jxl' ? pair.source : 'any', pair]));
  for (const { source, target } of of.values())
    try {
      inspect?.read(text, { source, target, options: {} });
    } catch {
      // Nothing good was said.
    }
  explain?.(text, 1);
}

describe('tiny pieces', () => {
  const inPieces =
    (size: number, open: () => (piece: Buffer) => void): Look =>
    (text) => {
      const add = open();
      const all = Buffer.from(text, 'latin1');
      for (let at = 0; at < all.length; at += size) add(all.subarray(at, at + size));
    };
  const growth = (look: Look): string[] => {
    const [small, large] = [100_000, 1_000_000];
    const before = Math.max(
      4,
      leastOf(3, () => costOf(look, 'x'.repeat(small))),
    );
    const after = leastOf(2, () => costOf(look, 'x'.repeat(large)));
    return after > Math.max(NOTICED_MS, TOLERANCE * (large / small) * before) ? [`${before} ms, of 10 times as many ${after} ms`] : [];
  };

  it.each([1, 2, 7])('of %i bytes are sampled as fast as large ones, and whole', (size) => {
    const opened = () => {
      const sampler = new Sampler();
      return (piece: Buffer) => sampler.push(piece);
    };
    expect(growth(inPieces(size, opened))).toEqual([]);
    const content = Buffer.from(Uint8Array.from({ length: 700_001 }, (_, at) => (at * 31) % 251));
    const sampler = new Sampler();
    for (let at = 0; at < content.length; at += size) sampler.push(content.subarray(at, at + size));
    const { head, tail, size: seen } = sampler.sample();
    expect([head.length, tail.length, seen]).toEqual([256 * 1024, 128 * 1024, content.length]);
    expect(Buffer.compare(head, content.subarray(0, 256 * 1024))).toBe(0);
    expect(Buffer.compare(tail, content.subarray(-128 * 1024))).toBe(0);
  });

  it.each([10, 16_384, 200_000, 262_144, 262_145, 300_000, 400_000])('make a sample of %i bytes that shows both ends', (length) => {
    const content = Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 31) % 251));
    const sampler = new Sampler();
    for (let at = 0; at < length; at += 9_999) sampler.push(content.subarray(at, at + 9_999));
    const { head, tail } = sampler.sample();
    expect(Buffer.compare(head, content.subarray(0, 256 * 1024))).toBe(0);
    expect(Buffer.compare(tail, content.subarray(-128 * 1024))).toBe(0);
  });

  it('of what a program says are kept as fast as large ones, at both ends', () => {
    const kept = () => {
      const [head, tail] = [new Head(50_000), new Tail(16_384)];
      return (piece: Buffer) => {
        head.add(piece);
        tail.add(piece);
      };
    };
    expect(growth(inPieces(1, kept))).toEqual([]);
    const [head, tail] = [new Head(10), new Tail(10)];
    for (const piece of ['abc', 'defgh', 'ijklmnopqrstuvwxyz', '0', '123', '']) {
      head.add(Buffer.from(piece));
      tail.add(Buffer.from(piece));
    }
    expect([head.bytes().toString(), head.seen, tail.text(), tail.seen]).toEqual(['abcdefghij', 30, 'uvwxyz0123', 30]);
  });

  it('of a line are looked at once', () => {
    expect(growth(inPieces(1, () => lines(() => {})))).toEqual([]);
    const heard: string[] = [];
    const hear = lines((line) => heard.push(line));
    for (const piece of ['a', 'b\n', '\r\nc', '\u00e9'.repeat(5_000), '\rd', '\ne'])
      for (const byte of Buffer.from(piece)) hear(Buffer.of(byte));
    expect(heard).toEqual(['ab', `c${'\u00e9'.repeat(5_000)}`, 'd']);
  });
});
