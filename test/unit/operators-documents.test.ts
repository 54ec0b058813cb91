/** What operators read: every series is explained, and the trial installs. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

it('each series of filemill is named in the documents', () => {
  const sources = readdirSync('src/telemetry').map((name) => readFileSync(`src/telemetry/${name}`, 'utf8'));
  const series = new Set(sources.flatMap((text) => [...text.matchAll(/'(filemill_[a-z_]*[a-z])'/g)].map(([, name]) => name ?? '')));
  expect(series.size).toBeGreaterThan(25);
  const pages = readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(`docs/${name}`, 'utf8'))
    .join();
  expect([...series].filter((name) => !new RegExp(`\\b${name}\\b`).test(pages))).toEqual([]);
});

it('the trial that docs/operating.md shows switches off every pool whose image it does not load', () => {
  const page = readFileSync('docs/operating.md', 'utf8');
  const loaded = [...page.matchAll(/localhost\/filemill\/(\w+):/g)].map(([, name]) => name);
  const off = [...page.matchAll(/pools\.(\w+)\.enabled=false/g)].map(([, name]) => name);
  const { pools } = parse(readFileSync('charts/filemill/values.yaml', 'utf8')) as { pools: Readonly<Record<string, { enabled: boolean }>> };
  const enabled = Object.keys(pools).filter((name) => pools[name]?.enabled);
  expect([...loaded.filter((name) => name !== 'app'), ...off].sort()).toEqual(enabled.sort());
});
