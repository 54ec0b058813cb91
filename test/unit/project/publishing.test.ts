/** Publishing: the workflows call make targets that exist, and what `make dist` says of itself has the forms that others check. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { packageJson, provenanceOf } from '../../../scripts/dist.ts';

const targets = new Set([...readFileSync('Makefile', 'utf8').matchAll(/^([a-z0-9-]+):(?!=)/gm)].map(([, name = '']) => name));
const WORKFLOWS = globSync('.{github,forgejo}/workflows/*.yaml').sort();
interface Step {
  readonly run?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly 'timeout-minutes'?: number; readonly steps: readonly Step[] }>>;
}

describe.each(WORKFLOWS)('%s', (path) => {
  const { jobs, permissions } = parse(readFileSync(path, 'utf8')) as Workflow;
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  it('runs make targets, and nothing else', () => {
    const runs = steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
    expect(runs.length).toBeGreaterThan(0);
    const called = runs.map((run) => /\bmake ((?:[a-z0-9-]+ ?)+)$/.exec(run.trim())?.[1]?.split(' ') ?? [run]);
    expect(called.flat().filter((name) => !targets.has(name))).toEqual([]);
  });

  it('names actions by commit, and ends in time', () => {
    const uses = steps.flatMap((step) => (step.uses === undefined ? [] : [step.uses]));
    expect(uses.filter((name) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(name))).toEqual([]);
    for (const job of Object.values(jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });

  it('has the Go that the servers of the tests ask for', () => {
    const asked = /^go (\d+\.\d+)/m.exec(readFileSync('scripts/servers/go.mod', 'utf8'))?.[1];
    for (const job of Object.values(jobs))
      expect(job.steps.find(({ uses }) => uses?.startsWith('actions/setup-go@'))?.with?.['go-version']).toBe(asked);
  });

  it('takes to root what a target reads', () => {
    const login = steps.find(({ run }) => run?.endsWith('make login'))?.run ?? '';
    if (login.includes('sudo')) expect(login).toContain('--preserve-env=REGISTRY,ACTOR');
    expect(steps.filter(({ run }) => run?.includes('sudo') && !run.includes('env "PATH=$PATH"'))).toEqual([]);
  });

  it('may write nothing unless a job says so', () => {
    if (path.startsWith('.github')) expect(permissions).toEqual({ contents: 'read' });
  });
});

describe('a statement of provenance', () => {
  // slsa.dev/spec/v1.0/provenance, and in-toto/attestation spec/v1.
  const Statement = z.strictObject({
    _type: z.literal('https://in-toto.io/Statement/v1'),
    subject: z.array(z.strictObject({ name: z.string(), digest: z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }) })).min(1),
    predicateType: z.literal('https://slsa.dev/provenance/v1'),
    predicate: z.strictObject({
      buildDefinition: z.strictObject({
        buildType: z.url(),
        externalParameters: z.record(z.string(), z.string()),
        resolvedDependencies: z.array(
          z.strictObject({
            uri: z.string().regex(/^git\+https:\/\/\S+@refs\/tags\/v\S+$/),
            digest: z.strictObject({ gitCommit: z.string().regex(/^[0-9a-f]{40}$/) }),
          }),
        ),
      }),
      runDetails: z.strictObject({
        builder: z.strictObject({ id: z.url() }),
        metadata: z.strictObject({ invocationId: z.string(), startedOn: z.iso.datetime() }),
      }),
    }),
  });
  it('says what was built, from which commit, and where', () => {
    const from = {
      version: '0.2.0',
      commit: 'a'.repeat(40),
      source: 'https://example.org/filemill',
      builder: 'https://example.org/runs/1',
      createdAt: '2026-12-01T00:00:00Z',
    };
    const statement = Statement.parse(provenanceOf([{ name: 'filemill-0.2.0.tgz', sha256: 'b'.repeat(64) }], from));
    expect(statement.predicate.buildDefinition.resolvedDependencies[0]).toEqual({
      uri: 'git+https://example.org/filemill@refs/tags/v0.2.0',
      digest: { gitCommit: 'a'.repeat(40) },
    });
  });
});

describe('the npm package', () => {
  it('has a command, its commit, and no dependency that npm would have to bring', () => {
    const about = packageJson('0.2.0', 'a'.repeat(40), 'x64', { yaml: '2.9.1' });
    expect(about).toMatchObject({
      name: 'filemill',
      version: '0.2.0',
      bin: { filemill: 'bin/filemill' },
      gitHead: 'a'.repeat(40),
      os: ['linux'],
      cpu: ['x64'],
    });
    // What `filemill models` shows before it takes one.
    expect(about.files).toContain('models/licences');
    expect(about.bundleDependencies).toEqual(Object.keys(about.dependencies));
  });
});

describe('scripts/publish', () => {
  it.each([
    ['chart', {}, 'publish: set REGISTRY, as ghcr.io/example'],
    ['npm', {}, 'publish: set NPM_REGISTRY, as https://registry.npmjs.org'],
    ['everything', {}, 'publish: one of chart, images, npm, sign'],
  ])('%s says what it lacks', (step, env, sentence) => {
    const failed = (() => {
      try {
        execFileSync('scripts/publish', [step], { env: { PATH: process.env['PATH'], ...env }, stdio: 'pipe' });
        return undefined;
      } catch (error) {
        return error as { status: number; stderr: Buffer };
      }
    })();
    expect([failed?.status, failed?.stderr.toString().trim()]).toEqual([2, sentence]);
  });
});
