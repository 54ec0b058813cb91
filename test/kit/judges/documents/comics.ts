/** Whether a book shows the pages of a comic book, in their order. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { phaseOf, sceneOf } from '../../catalog/scene.ts';
import { COMIC_PAGES } from '../../fixtures/archives.ts';
import { expectGrid } from '../pictures/grid.ts';
import { decode } from '../pictures/pixels.ts';
import { drawnPages } from './pictures.ts';
import { unzip } from './text.ts';

/** @throws unless it does */
export async function judge(path: string, target: string, seed: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-comic-'));
  try {
    const pages = target === 'pdf' ? await drawn(path, folder) : await contained(path, folder);
    if (pages.length !== COMIC_PAGES.length) throw new Error(`it has ${pages.length} pages, not ${COMIC_PAGES.length}`);
    for (const [phase, page] of pages.entries()) {
      const [picture] = await decode(page.path, page.format);
      if (picture === undefined) throw new Error(`page ${phase + 1} shows no picture`);
      expectGrid(picture, phaseOf(sceneOf(seed), phase));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface PagePicture {
  readonly path: string;
  readonly format: string;
}

async function drawn(path: string, folder: string): Promise<readonly PagePicture[]> {
  return (await drawnPages(path, folder)).map((page) => ({ path: page, format: 'png' }));
}

/** The pictures that an EPUB's pages name, in the order of its spine (EPUB 3.3, 5.7). */
async function contained(path: string, folder: string): Promise<readonly PagePicture[]> {
  const parts = await unzip(await readFile(path));
  const textOf = (name: string) => parts.get(name)?.toString() ?? '';
  const opf = textOf('content.opf');
  const hrefs = new Map([...opf.matchAll(/<item\b[^>]*>/g)].map(([item]) => [attribute(item, 'id'), attribute(item, 'href')]));
  const pages: PagePicture[] = [];
  for (const [itemref] of opf.matchAll(/<itemref\b[^>]*>/g)) {
    const [image = ''] = /<img\b[^>]*>/.exec(textOf(hrefs.get(attribute(itemref, 'idref')) ?? '')) ?? [];
    const name = decodeURIComponent(attribute(image, 'src'));
    const to = { path: join(folder, String(pages.length)), format: name.slice(name.lastIndexOf('.') + 1) };
    await writeFile(to.path, parts.get(name) ?? '');
    pages.push(to);
  }
  return pages;
}

const attribute = (tag: string, name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
