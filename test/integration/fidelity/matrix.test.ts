/**
 * What receipts say is true: each property, towards each target that could carry it, is looked for by another program. What is called kept is there, and
 * what is gone is said. Slow: a conversion for each pair that is drawn.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PropertyVerdict } from '../../../src/contracts/api/job.ts';
import { convertTo } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';
import { sources } from './matrix.ts';

const run = promisify(execFile);
const READER = join(import.meta.dirname, 'properties.py');
/** Debian's, which has fontTools. */
const PYTHON = '/usr/bin/python3';

let [url, home] = ['', ''];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-matrix-'));
  ({ url } = await sharedService());
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** Sources and conversions are made once, whatever properties are looked for. */
const made = new Map<string, Promise<unknown>>();
function once<T>(key: string, make: () => Promise<T>): Promise<T> {
  const known = (made.get(key) as Promise<T> | undefined) ?? make();
  made.set(key, known);
  return known;
}

const sourceOf = (name: string): Promise<string> =>
  once(name, async () => sources[name]?.build(await mkdtemp(join(home, 'source-'))) ?? Promise.reject(new Error(name)));

const convertedTo = (name: string, target: string) =>
  once(`${name} ${target}`, async () => {
    const { path, job } = await convertTo(url, home, await sourceOf(name), target);
    const receipt = (await (await fetch(`${url}/api/v1/jobs/${job.job_id}/fidelity`)).json()) as {
      readonly data: { readonly properties: readonly PropertyVerdict[] };
    };
    return { path, properties: receipt.data.properties, warnings: job.warnings };
  });

const isThere = async (property: string, path: string): Promise<boolean> => {
  const { stdout } = await run(PYTHON, [READER, property, path]);
  return stdout.trim() === 'yes';
};

describe.each(Object.entries(sources).flatMap(([source, { properties }]) => properties.map((property) => ({ source, property }))))(
  '$property of $source',
  ({ source, property }) => {
    it.each(sources[source]?.targets ?? [])('is kept in %s, or said to be gone', async (target) => {
      const { path, properties, warnings } = await convertedTo(source, target);
      const verdict = properties.find((each) => each.property === property);
      expect(verdict, `the source has ${property}`).toBeDefined();
      const [there, outcome] = [await isThere(property, path), verdict?.outcome];
      if (there) expect(['kept', 'unknown']).toContain(outcome);
      else expect(['adapted', 'lost', 'unknown']).toContain(outcome);
      if (outcome === 'lost') expect(warnings.map(({ code }) => code)).toContain('property_lost');
    });
  },
);
