/** `GET /api/v1/formats`: what it lists can be done, by the engines that it names, and no client fetches an unchanged list twice. */
import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeFormats, selectFormats } from '../../../src/api/formats/list.ts';
import { preferred } from '../../../src/api/http/encoded.ts';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import type { OptionName } from '../../../src/catalog/options/options.ts';
import { proved } from '../../../src/catalog/proved.gen.ts';
import { ignoredOptions } from '../../../src/catalog/route.ts';
import { FormatList, FormatWay } from '../../../src/contracts/api/formats.ts';
import type { Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

let service: Pick<Service, 'url'>;
beforeAll(async () => {
  service = await sharedService();
});

/** As it comes, not unpacked. */
const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Sent> =>
  new Promise((resolve, reject) => {
    request(`${service.url}${path}`, { headers, method }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
    })
      .on('error', reject)
      .end();
  });
const listed = async (query = ''): Promise<FormatList> =>
  FormatList.parse((JSON.parse(String((await get(`/api/v1/formats${query}`)).body)) as { data: unknown }).data);

describe('GET /api/v1/formats', () => {
  it('lists sources with their targets, each target with its options and its engines', async () => {
    const { sources, options, engines: known } = await listed('?expand=options');
    expect(sources.length).toBeGreaterThan(80);
    const pairs = sources.flatMap(({ format, targets }) => targets.map((target) => ({ source: format, ...target })));
    expect(pairs.length).toBeGreaterThan(2000);
    for (const pair of pairs) {
      expect(options, pair.format).toHaveProperty(pair.format);
      for (const engine of pair.engines) expect(known, engine).toHaveProperty(engine);
    }
    expect(pairs).toContainEqual({ source: 'docx', format: 'pdf', engines: ['libreoffice'], rank: 90, ignores: expect.any(Array) });
    expect(options['mp3']?.['mp3_bitrate']).toMatchObject({ type: 'integer', enum: expect.arrayContaining([192]) });
    expect(options['png']?.['img_resize_w']).toMatchObject({ type: 'integer', minimum: 16, maximum: 7680 });
    expect(options['png']).not.toHaveProperty('mp3_mode');
  });

  it('is short unless the client asks for more: each option stands once', async () => {
    const [short, whole] = [await get('/api/v1/formats'), await get('/api/v1/formats?expand=options')];
    expect(short.body.length).toBeLessThan(whole.body.length / 2);
    const [list, full] = [await listed(), await listed('?expand=options')];
    expect(list.option_names?.['png']).toEqual(Object.keys(full.options['png'] ?? {}));
    expect(list.option_schemas?.['dpi']).toEqual(full.options['png']?.['dpi']);
    expect(list.sources.map(({ format, targets }) => [format, targets.map((target) => target.format)])).toEqual(
      full.sources.map(({ format, targets }) => [format, targets.map((target) => target.format)]),
    );
  });

  it('says of an option what it does, what it takes, its default, and where it has an effect', async () => {
    const { option_schemas: schemas = {} } = await listed();
    expect(schemas['dpi']).toMatchObject({
      default: 150,
      description:
        'Resolution at which pages are rendered, dots per inch. Takes integer, 36 to 600. Default: 150. Has an effect on PDF pages and SVG that become pictures.',
    });
  });

  it('lists one source by any of its extensions, in any case, with what belongs to it alone', async () => {
    const whole = await listed('?expand=options');
    const { sources, options } = await listed('?from=JPEG');
    expect(sources).toEqual(whole.sources.filter(({ format }) => format === 'jpg'));
    expect(Object.keys(options).sort()).toEqual(sources[0]?.targets.map(({ format }) => format).sort());
  });

  it('lists one family', async () => {
    const { sources } = await listed('?family=audio');
    expect(new Set(sources.map(({ family }) => family))).toEqual(new Set(['audio']));
    expect(await listed('?family=audio&from=png')).toMatchObject({ sources: [], options: {}, engines: {} });
  });

  it.each([
    ['from', 'zzz'],
    ['from', '../etc'],
    ['family', 'furniture'],
    ['expand', 'engines'],
  ])('refuses an unknown %s, and says what there is', async (option, received) => {
    const { status, body } = await get(`/api/v1/formats?${option}=${encodeURIComponent(received)}`);
    expect(status).toBe(400);
    expect(JSON.parse(String(body))).toMatchObject({
      error: {
        code: 'INVALID_OPTION',
        details: {
          option,
          received,
          allowed: expect.stringMatching({ from: /\bpng, jpg\b/, family: /\baudio\b/, expand: /options/ }[option] ?? /^$/),
        },
      },
    });
  });

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
    ['zstd', zstdDecompressSync],
  ] as const)('is compressed by %s for clients that accept it', async (coding, unpack) => {
    const plain = await get('/api/v1/formats');
    const packed = await get('/api/v1/formats', { 'accept-encoding': coding });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(packed.headers).toMatchObject({
      'content-encoding': coding,
      vary: 'Accept-Encoding',
      'content-length': String(packed.body.length),
    });
    expect(packed.body.length).toBeLessThan(plain.body.length / 10);
    expect(unpack(packed.body).equals(plain.body)).toBe(true);
    expect(packed.headers['etag']).not.toBe(plain.headers['etag']);
  });

  it('is not sent again to a client that has it', async () => {
    for (const headers of [{}, { 'accept-encoding': 'br' }]) {
      const { headers: first } = await get('/api/v1/formats', headers);
      const etag = String(first['etag']);
      expect(etag).toMatch(/^"/);
      const again = await get('/api/v1/formats', { ...headers, 'if-none-match': `"other", ${etag}` });
      expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag]);
      expect((await get('/api/v1/formats', { ...headers, 'if-none-match': '"other"' })).status).toBe(200);
    }
  });

  it('says by HEAD how long it is', async () => {
    const { headers, body } = await get('/api/v1/formats', {}, 'HEAD');
    expect(body.length).toBe(0);
    expect(headers['content-length']).toBe(String((await get('/api/v1/formats')).body.length));
  });
});

describe('the list of formats', () => {
  const versionOf = (id: string) => Object.values(proved).find((release) => release[id] !== undefined)?.[id];
  const catalog = (version: string) => createCatalog(engines.map((engine) => ({ engine, version: versionOf(engine.id) ?? version })));

  it('says of each pair which options it ignores, as the conversion itself would', async () => {
    const known = catalog('1.0');
    const { sources, options } = await describeFormats(known);
    const pairs = sources.flatMap(({ format, targets }) => targets.map((target) => ({ source: format, ...target })));
    for (const { source, format, ignores = [] } of pairs.filter((_, at) => at % 40 === 0)) {
      const names = Object.keys(options[format] ?? {}) as OptionName[];
      const without = names.filter((name) => {
        const route = known.route(source, format, [name]);
        return route === undefined || ignoredOptions(route, [name]).length > 0;
      });
      expect(ignores, `${source} to ${format}`).toEqual(without);
    }
  });

  it('says with which version an engine was proved, where this is another one', async () => {
    const id = 'pandoc';
    const versions = Object.values(proved).flatMap((release) => release[id] ?? []);
    const [version = ''] = versions;
    const proved_with = versions.join(', ');
    const listOf = async (found: string) => {
      const installed = engines.filter((engine) => engine.id === id).map((engine) => ({ engine, version: found }));
      return selectFormats(await describeFormats(createCatalog(installed)), 'md', undefined).engines[id];
    };
    expect(version).toMatch(/^\d+\.\d+$/);
    for (const each of versions) expect(await listOf(each)).toEqual({ name: 'Pandoc', version: each });
    expect(await listOf(`${version}.9`)).toEqual({ name: 'Pandoc', version: `${version}.9` });
    expect(await listOf(`${version}9`)).toEqual({ name: 'Pandoc', version: `${version}9`, proved_with });
    expect(await listOf('')).toEqual({ name: 'Pandoc', version: '', proved_with });
  });

  it('lists apart what no test can convert, since no free program writes it', async () => {
    const whole = await describeFormats(catalog('1.0'));
    const apart = whole.unproven.map(({ format }) => format);
    expect(apart).toEqual(expect.arrayContaining(['cr2', 'nef', 'vsd', 'wpd']));
    expect(whole.sources.map(({ format }) => format).filter((format) => apart.includes(format))).toEqual([]);
    const { sources, unproven, engines: used } = selectFormats(whole, 'cr2', undefined);
    expect([sources, unproven.map(({ format }) => format)]).toEqual([[], ['cr2']]);
    expect(unproven[0]?.targets.map(({ format }) => format)).toEqual(expect.arrayContaining(['png', 'jpg', 'tiff']));
    expect(Object.keys(used)).toContain('libraw');
  });

  it('has no target of an engine that is not there', async () => {
    const known = createCatalog(engines.filter(({ name }) => name !== 'FFmpeg').map((engine) => ({ engine, version: '1.0' })));
    expect((await describeFormats(known)).sources.map(({ format }) => format)).not.toContain('mp4');
  });

  it('explains one pair: the steps with their engines, what each loses, and the options', async () => {
    const explained = async (path: string) => {
      const { body, status } = await get(`/api/v1/formats/${path}`);
      return { status, ...(JSON.parse(String(body)) as { data: unknown; error?: { code: string; details: Record<string, unknown> } }) };
    };
    const way = FormatWay.parse((await explained('docx/mobi')).data);
    expect(way.steps.map(({ engine, from, to }) => [engine, from, to])).toEqual([
      ['pandoc', 'docx', 'epub'],
      ['calibre', 'epub', 'mobi'],
    ]);
    expect(way).toMatchObject({ from: 'docx', to: 'mobi', toolchain: 'office', rank: Math.min(...way.steps.map(({ rank }) => rank)) });
    expect(way.cannot_hold).toEqual([]);
    expect(FormatWay.parse((await explained('png/jpg')).data).cannot_hold).toEqual(expect.arrayContaining(['alpha', 'depth']));
    expect(way.loses).toEqual([...new Set(way.steps.flatMap(({ loses }) => loses))]);
    expect(FormatWay.parse((await explained('JPEG/webp')).data).options).toHaveProperty('img_quality');
    expect(await explained('png/mp3')).toMatchObject({ status: 400, error: { code: 'INVALID_FORMAT', details: { from: 'png' } } });
    expect(await explained('nothing/png')).toMatchObject({ status: 400, error: { code: 'INVALID_OPTION', details: { option: 'from' } } });
    expect(await explained('png/nothing')).toMatchObject({ status: 400, error: { details: { option: 'to' } } });
  });

  it('was proved with a version of every engine that tells one', () => {
    const converting = engines.filter(({ conversions }) => conversions.length > 0).map(({ id }) => id);
    // These print none, or a day.
    expect(converting.filter((id) => versionOf(id) === undefined)).toEqual(['fontforge', 'gltf', 'jxr', 'libraw', 'raster', 'sfnt']);
  });
});

describe('the coding of an answer', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['br;q=0, *;q=0.5', 'zstd'],
    ['identity;q=1, gzip;q=0.5', 'identity'],
    ['compress', 'identity'],
    ['br;q=nonsense', 'identity'],
  ])('for "%s" is %s', (header, coding) => expect(preferred(header)).toBe(coding));
});
