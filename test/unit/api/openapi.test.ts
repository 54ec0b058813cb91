/** The published document: what it promises stays promised, and a comparison that would notice if it did not. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { textOf } from '../../../src/catalog/options/texts.ts';
import { listedTools, tools } from '../../../src/catalog/tools.ts';
import { TextJob } from '../../../src/contracts/api/job.ts';
import { Health } from '../../../src/contracts/api/service.ts';
import { engineRoles } from '../../../src/contracts/toolchains.ts';
import { errorTable } from '../../../src/errors.ts';
import { breakingChanges } from './breaking.ts';

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const published = read('docs/openapi.json');

interface Tree {
  [name: string]: Tree;
}

/** The published document after a change. */
function changed(change: (document: Tree) => void): unknown {
  const copy = structuredClone(published) as Tree;
  change(copy);
  return copy;
}
const at = (tree: Tree | undefined, ...path: readonly string[]): Tree =>
  path.reduce((here, name) => here[name] ?? expect.fail(`nothing at ${path.join(' ')}`), tree ?? {});
const FORM = ['paths', '/api/v1/convert', 'post', 'requestBody', 'content', 'multipart/form-data', 'schema'];
const set = (tree: Tree, name: string, value: unknown) => Object.assign(tree, { [name]: value });

describe('the document', () => {
  it('takes nothing away from clients of the released one', () => {
    expect(breakingChanges(read('docs/openapi.released.json'), published)).toEqual([]);
  });
  it('has every tool and every error', () => {
    const text = JSON.stringify(published);
    const lacking = [
      ...tools.map(({ slug }) => `"/api/v1/tools/${slug}"`),
      ...Object.keys(errorTable)
        // No address of the document is asked for with a method that it does not take; and `/mcp` is described by its own protocol.
        .filter((code) => !['METHOD_NOT_ALLOWED', 'FORBIDDEN', 'NOT_ACCEPTABLE'].includes(code))
        .map((code) => `"${code}":{"value"`),
    ].filter((wanted) => !text.includes(wanted));
    expect(lacking).toEqual([]);
  });
  it('says of each field of each tool what it does', () => {
    const silent = listedTools.flatMap(({ slug, input, texts }) =>
      Object.keys(input.shape).flatMap((name) => (textOf(name, texts) === undefined ? [`${slug} ${name}`] : [])),
    );
    expect(silent).toEqual([]);
    // A field that a tool has no more keeps no text.
    const stray = listedTools.flatMap(({ slug, input, texts = {} }) =>
      Object.keys(texts).flatMap((name) => (Object.hasOwn(input.shape, name) ? [] : [`${slug} ${name}`])),
    );
    expect(stray).toEqual([]);
  });
  it('has titles that people read', () => {
    const summaries = Object.values((published as { paths: Record<string, Record<string, { summary?: string }>> }).paths).flatMap((item) =>
      Object.values(item).map(({ summary = '' }) => summary),
    );
    expect(summaries.filter((summary) => !/^[A-Z][A-Za-z]* /.test(summary) && !['This document'].includes(summary))).toEqual([]);
    expect(summaries).toContain('Compress PDF');
  });
  it('gives a file’s bytes a type that clients take for bytes, and a URL three kinds of body', () => {
    const output = at(published as Tree, 'paths', '/api/v1/jobs/{job_id}/output', 'get', 'responses', '200', 'content');
    expect(output).toHaveProperty('application/octet-stream', { schema: expect.objectContaining({ type: 'string', format: 'binary' }) });
    const body = at(published as Tree, 'paths', '/api/v1/batch', 'post', 'requestBody', 'content');
    expect(Object.keys(body)).toEqual(['multipart/form-data', 'application/x-www-form-urlencoded', 'application/json']);
    expect(Object.keys(at(body, 'application/json', 'schema', 'properties'))).toEqual(
      expect.arrayContaining(['urls', 'upload_ids', 'to_format']),
    );
  });
  it('names each operation once', () => {
    const names = [...JSON.stringify(published).matchAll(/"operationId":"(\w+)","summary"/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(40);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a breaking change', () => {
  const breaks: readonly (readonly [string, (document: Tree) => void, string])[] = [
    ['a path is removed', (d) => delete at(d, 'paths')['/api/v1/batch'], 'POST /api/v1/batch is gone'],
    ['a method is removed', (d) => delete at(d, 'paths', '/api/v1/jobs/{job_id}')['delete'], 'DELETE /api/v1/jobs/{job_id} is gone'],
    ['a success is removed', (d) => delete at(d, 'paths', '/api/v1/convert', 'post', 'responses')['303'], 'no longer answers 303'],
    ['a field of a form is removed', (d) => delete at(d, ...FORM, 'properties')['dpi'], 'has no dpi any more'],
    ['a field of a form becomes needed', (d) => set(at(d, ...FORM), 'required', ['to_format', 'dpi']), 'now needs dpi'],
    ['a bound becomes narrower', (d) => set(at(d, ...FORM, 'properties', 'dpi'), 'maximum', 300), 'narrower maximum: 300'],
    ['a pattern is added', (d) => set(at(d, ...FORM, 'properties', 'url'), 'pattern', '^https:'), 'takes only ^https: now'],
    ['a value is no longer taken', (d) => set(at(d, ...FORM, 'properties', 'mp3_mode'), 'enum', ['vbr', 'cbr']), 'no longer takes abr'],
    ['a choice is made of a text', (d) => set(at(d, ...FORM, 'properties', 'pages'), 'enum', ['all']), 'now takes only all'],
    [
      'a parameter is removed',
      (d) => set(at(d, 'paths', '/api/v1/formats', 'get'), 'parameters', []),
      'GET /api/v1/formats no longer takes the query from',
    ],
    [
      'a parameter becomes needed',
      (d) => set(at(d, 'components', 'parameters', 'IdempotencyKey'), 'required', true),
      'POST /api/v1/convert now needs the header Idempotency-Key',
    ],
    ['a field of an answer is removed', (d) => delete at(d, 'components', 'schemas', 'JobOutput', 'properties')['sha256'], 'has no sha256'],
    [
      'a field of an answer may be lacking',
      (d) => set(at(d, 'components', 'schemas', 'Job'), 'required', ['job_id', 'status', 'links']),
      'may now lack expires_at',
    ],
    [
      'a field of an answer changes its type',
      (d) => set(at(d, 'components', 'schemas', 'JobOutput', 'properties', 'size_bytes'), 'type', 'string'),
      'size_bytes was integer and is string',
    ],
    [
      'a value of an answer never comes again',
      (d) => set(at(d, 'components', 'schemas', 'Batch', 'properties', 'overall_status'), 'enum', ['done', 'failed']),
      'is never again processing',
    ],
    [
      'a header of an answer is removed',
      (d) => delete at(d, 'paths', '/api/v1/uploads', 'post', 'responses', '201', 'headers')['Location'],
      'POST /api/v1/uploads 201 has no header Location any more',
    ],
    [
      'the details of an error are removed',
      (d) =>
        delete at(d, 'components', 'schemas', 'FileTooLargeError', 'properties', 'error', 'properties', 'details', 'properties')[
          'max_bytes'
        ],
      'has no max_bytes any more',
    ],
  ];
  it.each(breaks)('is seen where %s', (_, change, says) => expect(breakingChanges(published, changed(change)).join('\n')).toContain(says));

  it('is not seen where things are only added', () => {
    const more = changed((d) => {
      set(at(d, 'paths'), '/api/v1/new', { get: { responses: {} } });
      set(at(d, ...FORM, 'properties'), 'new_option', { type: 'string' });
      set(at(d, ...FORM, 'properties', 'dpi'), 'maximum', 1200);
      set(at(d, 'components', 'schemas', 'Job', 'properties'), 'new_field', { type: 'string' });
      delete at(d, 'paths', '/api/v1/convert', 'post', 'responses')['422'];
    });
    expect(breakingChanges(published, more)).toEqual([]);
  });
});

it.each(engineRoles)('says that engines may have the purpose %s', (role) =>
  expect(Health.shape.engines.description).toContain(`\`${role}\``),
);

it('tells the language of a text, not its format', () => expect(TextJob.shape.language.description).toMatch(/language/i));
