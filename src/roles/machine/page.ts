/** The page for browsers, as this machine has it: a document, and files whose names change with their content, read once. */
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { packings } from '../../api/http/encoded.ts';
import type { PageAsset, PageFiles, PageHeads, PlainViews } from '../../api/page-files.ts';
import type { Config } from '../../config.ts';
import type { Log } from '../../telemetry/log.ts';

/** Where a checkout, and an image, has the page: `scripts/build-web` leaves it there. */
const FOLDER = '.cache/web';
/** Files with other extensions are not served. */
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** @param checkout absolute path of the project @returns undefined where it is switched off, or was not built */
export async function pageHere({ web }: Pick<Config, 'web'>, checkout: string, log: Pick<Log, 'warn'>): Promise<PageFiles | undefined> {
  if (!web.enabled) return undefined;
  try {
    const folder = join(checkout, FOLDER);
    const assets = new Map<string, PageAsset>();
    const names = new Set(await readdir(join(folder, 'assets')));
    const asset = (name: string) => readFile(join(folder, 'assets', name));
    for (const name of names) {
      const contentType = TYPES[extname(name)];
      if (contentType === undefined) continue;
      // Left by scripts/pack-page.ts.
      const there = packings.filter((packing) => names.has(`${name}.${packing}`));
      const packed = new Map(await Promise.all(there.map(async (packing) => [packing, await asset(`${name}.${packing}`)] as const)));
      assets.set(name, { contentType, bytes: await asset(name), packed });
    }
    const read = (name: string) => readFile(join(folder, name), 'utf8');
    const byLanguage = async <View>(name: string) =>
      new Map(Object.entries(JSON.parse(await read(name)) as Readonly<Record<string, View>>));
    return {
      document: await read('index.html'),
      firstViews: await byLanguage<string>('first.json'),
      heads: await byLanguage<PageHeads>('heads.json'),
      searchable: web.sitemap,
      plainViews: await byLanguage<PlainViews>('plain.json'),
      assets,
    };
  } catch (err) {
    log.warn({ err }, 'the page for browsers is not built (run `make web`): browsers are sent to /docs');
    return undefined;
  }
}
