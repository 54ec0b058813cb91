/** The documents: every series is explained, the trial installs, and no link is broken. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

it('each series of filemill is named in the documents', () => {
  const sources = readdirSync('src/telemetry').map((name) => readFileSync(`src/telemetry/${name}`, 'utf8'));
  const series = new Set(sources.flatMap((text) => [...text.matchAll(/'(filemill_[a-z_]*[a-z])'/g)].map(([, name]) => name ?? '')));
  expect(series.size).toBeGreaterThan(25);
  const pages = readdirSync('docs', { encoding: 'utf8', recursive: true })
    .filter((name) => name.endsWith('.md') && !name.startsWith('decisions'))
    .map((name) => readFileSync(`docs/${name}`, 'utf8'))
    .join();
  expect([...series].filter((name) => !new RegExp(`\\b${name}\\b`).test(pages))).toEqual([]);
});

it('the trial that docs/operating/install.md shows switches off every pool whose image it does not load', () => {
  const page = readFileSync('docs/operating/install.md', 'utf8');
  const loaded = [...page.matchAll(/localhost\/filemill\/(\w+):/g)].map(([, name]) => name);
  const off = [...page.matchAll(/pools\.(\w+)\.enabled=false/g)].map(([, name]) => name);
  const { pools } = parse(readFileSync('charts/filemill/values.yaml', 'utf8')) as { pools: Readonly<Record<string, { enabled: boolean }>> };
  const enabled = Object.keys(pools).filter((name) => pools[name]?.enabled);
  expect([...loaded.filter((name) => name !== 'app'), ...off].sort()).toEqual(enabled.sort());
});

it('each link of the documents leads to a file that is there, and to a heading in it', () => {
  const pages = [
    ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'bench/README.md', 'charts/filemill/README.md'],
    ...readdirSync('docs', { encoding: 'utf8', recursive: true }).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
  ];
  const anchorsOf = (page: string) =>
    new Set([...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)));
  const broken = pages.flatMap((page) =>
    [
      ...readFileSync(page, 'utf8')
        .replace(/```[\s\S]*?```/g, '')
        .matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g),
    ].flatMap(([link, path = '', anchor]) => {
      const target = path === '' ? page : join(dirname(page), path);
      const isThere = existsSync(target) && (anchor === undefined || !target.endsWith('.md') || anchorsOf(target).has(anchor));
      return isThere ? [] : [`${page}: ${link}`];
    }),
  );
  expect(broken).toEqual([]);
});

/** As GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
