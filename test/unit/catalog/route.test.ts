import { describe, expect, it } from 'vitest';
import type { Conversion, Engine } from '../../../src/catalog/engine.ts';
import type { Format } from '../../../src/catalog/formats.ts';
import { PNG } from '../../../src/catalog/known-good.ts';
import type { OptionName, Options } from '../../../src/catalog/options/options.ts';
import { ignoredOptions, optionsForHop, type Route } from '../../../src/catalog/route.ts';
import { routesOf } from '../../../src/catalog/routes/routes.ts';
import type { Toolchain } from '../../../src/contracts/toolchains.ts';

interface Sketch {
  readonly toolchains?: readonly Toolchain[];
  readonly options?: readonly OptionName[];
  readonly loses?: readonly string[];
}

/** An engine by its conversions, each `source>target rank`. */
const engine = (id: string, conversions: readonly string[], { toolchains = ['office'], options = [], loses }: Sketch = {}): Engine => ({
  id,
  name: id,
  role: 'office',
  toolchains,
  binaries: {},
  conversions: conversions.map((text): Conversion => {
    const [source = '', target = '', rank = '70'] = text.split(/[> ]/);
    return { source, target, rank: Number(rank), ...(loses === undefined ? {} : { loses }) };
  }),
  trials: [{ file: PNG, target: 'jpg' }],
  options: () => options,
  plan: () => ({ steps: [] }),
});

/** `engine source>target`, hop by hop, after the toolchain. */
const told = (route: Route | undefined): string | undefined =>
  route && `${route.toolchain}: ${route.hops.map(({ engine: { id }, source, target }) => `${id} ${source}>${target}`).join(', ')}`;

const writer = engine('writer', ['docx>pdf', 'docx>html']);
const poppler = engine('poppler', ['pdf>png']);
const vips = engine('vips', ['png>jpg', 'jpg>jpg', 'png>png', 'jpg>png', 'png>webp'], { options: ['img_resize_w', 'img_quality'] });

describe('a route', () => {
  const cases: Record<string, [readonly Engine[], source: string, target: string, given: readonly OptionName[], string | undefined]> = {
    'is the one engine that can': [[writer], 'docx', 'pdf', [], 'office: writer docx>pdf'],
    'is none where no engine can': [[writer], 'pdf', 'docx', [], undefined],
    'is none without engines': [[], 'docx', 'pdf', [], undefined],
    'takes the better of two engines': [
      [engine('worse', ['docx>pdf 60']), engine('better', ['docx>pdf 90'])],
      'docx',
      'pdf',
      [],
      'office: better docx>pdf',
    ],
    'takes the first of two equals': [
      [engine('one', ['docx>pdf']), engine('two', ['docx>pdf'])],
      'docx',
      'pdf',
      [],
      'office: one docx>pdf',
    ],
    'goes through a carrier': [[writer, poppler], 'docx', 'png', [], 'office: writer docx>pdf, poppler pdf>png'],
    'goes through two': [[writer, poppler, vips], 'docx', 'webp', [], 'office: writer docx>pdf, poppler pdf>png, vips png>webp'],
    'goes through no three': [[engine('a', ['odt>docx']), writer, poppler, vips], 'odt', 'webp', [], undefined],
    'never goes through what carries little': [[engine('a', ['docx>txt']), engine('b', ['txt>epub'])], 'docx', 'epub', [], undefined],
    'takes no picture through a page': [[engine('a', ['jpg>pdf']), engine('b', ['pdf>txt'])], 'jpg', 'txt', [], undefined],
    'takes a picture through a picture': [[engine('a', ['svg>png']), vips], 'svg', 'webp', [], 'office: a svg>png, vips png>webp'],
    'goes directly where a chain would be a little better': [
      [engine('direct', ['docx>png 60']), engine('a', ['docx>pdf 90']), engine('b', ['pdf>png 90'])],
      'docx',
      'png',
      [],
      'office: direct docx>png',
    ],
    'takes the chain where the direct way is poor': [
      [engine('direct', ['docx>png 30']), engine('a', ['docx>pdf 90']), engine('b', ['pdf>png 90'])],
      'docx',
      'png',
      [],
      'office: a docx>pdf, b pdf>png',
    ],
    'has a last resort alone': [[engine('poor', ['docx>pdf 30'])], 'docx', 'pdf', [], 'office: poor docx>pdf'],
    'never begins a chain with one': [[engine('poor', ['docx>pdf 30']), poppler], 'docx', 'png', [], undefined],
    'never ends a chain with one': [[writer, engine('poor', ['pdf>png 30'])], 'docx', 'png', [], undefined],
    'stays in one toolchain': [
      [engine('a', ['docx>pdf'], { toolchains: ['office'] }), engine('b', ['pdf>png'], { toolchains: ['pdf'] })],
      'docx',
      'png',
      [],
      undefined,
    ],
    'takes the lightest toolchain of an engine that is in several': [
      [engine('a', ['png>jpg'], { toolchains: ['office', 'image'] })],
      'png',
      'jpg',
      [],
      'image: a png>jpg',
    ],
    'from a format to itself is a re-encoding': [[vips], 'jpg', 'jpg', [], 'office: vips jpg>jpg'],
    'from a format to itself is none where no engine re-encodes it': [[writer], 'docx', 'docx', [], undefined],
    'prefers the engine that honours what is asked': [
      [engine('better', ['png>jpg 90']), engine('able', ['png>jpg 60'], { options: ['img_quality'] })],
      'png',
      'jpg',
      ['img_quality'],
      'office: able png>jpg',
    ],
    'is followed by a re-encoding when that alone honours it': [
      [engine('heif', ['heic>jpg 90']), vips],
      'heic',
      'jpg',
      ['img_resize_w'],
      'office: heif heic>jpg, vips jpg>jpg',
    ],
    'is followed by none without a wish': [[engine('heif', ['heic>jpg 90']), vips], 'heic', 'jpg', [], 'office: heif heic>jpg'],
    'goes its best way when no engine honours a wish': [
      [engine('heif', ['heic>jpg 90']), vips],
      'heic',
      'jpg',
      ['mp3_mode'],
      'office: heif heic>jpg',
    ],
  };
  for (const [sentence, [engines, source, target, given, route]] of Object.entries(cases))
    it(sentence, () => expect(told(routesOf(engines).find(source, target, given))).toBe(route));

  it('carries what each of its hops loses', () => {
    const lossy = engine('lossy', ['docx>pdf'], { loses: ['macros'] });
    expect(
      routesOf([lossy, poppler])
        .find('docx', 'png')
        ?.hops.map(({ loses }) => loses),
    ).toEqual([['macros'], []]);
  });
});

describe('what an installation can do', () => {
  it('is every target that a route leads to', () =>
    expect(routesOf([writer, poppler, vips]).targets('docx').toSorted()).toEqual(['html', 'jpg', 'pdf', 'png', 'webp']));
  it('is nothing for a format that no engine reads', () => expect(routesOf([writer]).targets('mp3')).toEqual([]));
  it('begins with every format that an engine reads', () =>
    expect(routesOf([writer, vips]).sources.toSorted()).toEqual(['docx', 'jpg', 'png']));
});

describe('a catalogue of 260 sources, 200 targets and 60 engines', () => {
  /** Milliseconds of CPU of this thread, however busy the machine is. */
  const cpuMs = (work: () => void): number => {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  const families = ['image', 'audio', 'video', 'document', 'markup'] as const;
  const carriers = ['png', 'pdf', 'docx', 'odt', 'html'];
  const ids = [...carriers, ...Array.from({ length: 255 }, (_, index) => `f${index}`)];
  const table = new Map(
    ids.map((id, index): [string, Format] => [
      id,
      {
        id,
        name: id,
        family: families[index % families.length] ?? 'image',
        mime: 'x/y',
        aliases: [],
        holds: 'one',
        ...(index < carriers.length && { carries: id === 'png' ? 'everything' : 'documents' }),
      },
    ]),
  );
  const chains: readonly Toolchain[] = ['image', 'media', 'office', 'pdf'];
  // Each engine reads two carriers and eighteen formats, and writes two and thirty-eight.
  const some = (count: number, from: number, of: number) => Array.from({ length: count }, (_, k) => ids[(from + k * 7) % of] ?? 'png');
  const all = Array.from({ length: 60 }, (_, n) => {
    const reads = [...carriers.slice(n % 4, (n % 4) + 2), ...some(18, n * 37, ids.length)];
    const writes = [...carriers.slice((n + 2) % 4, ((n + 2) % 4) + 2), ...some(38, n * 53, 200)];
    const pairs = reads.flatMap((source) => writes.map((target) => `${source}>${target} ${51 + ((n * 7 + target.length) % 49)}`));
    return engine(`e${n}`, pairs, { toolchains: [chains[n % chains.length] ?? 'image'], options: ['img_quality'] });
  });

  it('has its whole table within 100 ms, and a route within microseconds', () => {
    let routes = routesOf(all, table);
    let pairs = 0;
    const everything = () => {
      routes = routesOf(all, table);
      pairs = routes.sources.reduce((sum, source) => sum + routes.targets(source).length, 0);
    };
    // The first time it is not compiled yet: 70 to 110 ms, measured beside other tests.
    expect(cpuMs(everything)).toBeLessThan(250);
    expect(pairs).toBeGreaterThan(20_000);
    const tableMs = Math.min(...Array.from({ length: 20 }, () => cpuMs(everything)));
    expect(tableMs).toBeLessThan(100);
    const questions = ids.slice(0, 40).flatMap((source) => ids.slice(0, 50).map((target) => [source, target] as const));
    const routeMs = cpuMs(() => {
      for (const [source, target] of questions) routes.find(source, target);
    });
    expect((routeMs * 1000) / questions.length).toBeLessThan(20);
    const withOptionsMs = cpuMs(() => {
      for (const [source, target] of questions) routes.find(source, target, ['mp3_mode']);
    });
    expect((withOptionsMs * 1000) / questions.length).toBeLessThan(500);
  });
});

describe('rare formats', () => {
  const table = new Map<string, Format>(
    (
      [
        ['png', 'common'],
        ['jpg', 'common'],
        ['tga', undefined],
        ['art', 'rare'],
        ['avs', 'rare'],
      ] as const
    ).map(([id, use]) => [
      id,
      {
        id,
        name: id,
        family: 'image',
        mime: '',
        aliases: [],
        holds: 'one',
        ...(use && { use }),
        ...(id === 'png' && { carries: 'everything' }),
      },
    ]),
  );
  const every = ['png', 'jpg', 'tga', 'art', 'avs'];
  const magick = engine(
    'magick',
    every.flatMap((source) => every.map((target) => `${source}>${target}`)),
  );
  const routes = routesOf([magick], table);

  it('are converted to common ones alone', () => expect(routes.targets('art')).toEqual(['png', 'jpg']));
  it('are made of common ones alone', () => {
    expect(routes.targets('png')).toEqual(every);
    expect(routes.targets('tga')).toEqual(['png', 'jpg', 'tga']);
    expect(routes.find('tga', 'art')).toBeUndefined();
  });
});

describe('options along a route', () => {
  const all: readonly OptionName[] = ['pages', 'password', 'img_rotate', 'img_resize_w', 'dpi', 'img_quality'];
  const hops = (...honours: readonly (readonly OptionName[])[]): Route => ({
    toolchain: 'office',
    hops: honours.map((options, index) => ({
      engine: engine(`e${index}`, [], { options }),
      source: 'pdf',
      target: 'png',
      rank: 70,
      loses: [],
    })),
  });
  const options = { pages: [[1, 2]], password: 'p', img_rotate: '90', img_resize_w: 100, dpi: 72, img_quality: 50 } as Options;
  const granted = (route: Route) => route.hops.map((_, index) => Object.keys(optionsForHop(route, index, options)).toSorted());

  const cases: Record<string, [Route, readonly (readonly string[])[]]> = {
    'about the source go to the first hop that can': [
      hops([], ['pages', 'password'], ['pages', 'password']),
      [[], ['pages', 'password'], []],
    ],
    'about the shape of the result go to the last that can': [
      hops(['img_rotate', 'img_resize_w'], ['img_rotate', 'img_resize_w'], []),
      [[], ['img_resize_w', 'img_rotate'], []],
    ],
    'about how it is made go to each that can': [hops(['dpi'], [], ['dpi', 'img_quality']), [['dpi'], [], ['dpi', 'img_quality']]],
    'go to no hop where none can': [hops([], []), [[], []]],
    'go to the one hop, all of them': [hops(all), [all.toSorted()]],
  };
  for (const [sentence, [route, wanted]] of Object.entries(cases)) it(sentence, () => expect(granted(route)).toEqual(wanted));

  it('keep their values', () => expect(optionsForHop(hops(all), 0, options)).toEqual(options));
  it('of hops that are not there are none', () => expect(optionsForHop(hops(all), 1, options)).toEqual({}));
  it('that no hop honours are told', () =>
    expect(ignoredOptions(hops(['dpi'], ['pages']), ['dpi', 'pages', 'mp3_mode'])).toEqual(['mp3_mode']));
  it('that are honoured by some hop are not', () => expect(ignoredOptions(hops([], all), all)).toEqual([]));
  it('are honoured once by those hops that would do the same twice', () => {
    const turned = granted(hops(all, all, all))
      .flat()
      .filter((name) => name === 'img_rotate' || name === 'pages');
    expect(turned.toSorted()).toEqual(['img_rotate', 'pages']);
  });
});
