/** What Prometheus reads is explained where operators look. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

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
