/** The chart as Helm renders it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { BRIEF_GO, program } from './processes.ts';

export const CHART = 'charts/filemill';
export const TRIAL = ['--values', `${CHART}/values-trial.yaml`];
export const PRODUCTION = ['--values', 'manifests/install-values.yaml'];

export interface Manifest {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: of any kind
  readonly [field: string]: any;
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Helm {
  /** For files of a test; also Helm's home. */
  readonly folder: string;
  run(args: readonly string[]): Promise<Outcome>;
  /** The objects of a release `filemill` in the namespace `filemill`, as YAML. @throws with what Helm complains of */
  rendered(...args: readonly string[]): Promise<string>;
  /** Finds one of the rendered objects. @throws where it is not among them */
  objects(...args: readonly string[]): Promise<(kind: string, name: string) => Manifest>;
  /** @returns arguments for these values */
  values(values: object): readonly string[];
  remove(): void;
}

/** @throws for a key that an object has twice, which Helm lets through */
export function manifestsOf(text: string): Manifest[] {
  const documents = parseAllDocuments(text);
  for (const { errors } of documents) if (errors[0] !== undefined) throw errors[0];
  return documents.map((document) => document.toJS() as Manifest | null).filter((manifest) => manifest !== null);
}

export function openHelm(): Helm {
  const folder = mkdtempSync(join(tmpdir(), 'filemill-chart-'));
  let files = 0;
  const run = (args: readonly string[]): Promise<Outcome> =>
    new Promise((resolve) => {
      execFile(
        program('helm'),
        args,
        { env: { HOME: folder, PATH: '/usr/bin', ...BRIEF_GO }, maxBuffer: 64 << 20, timeout: 60_000 },
        (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
      );
    });
  const rendered = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(['template', 'filemill', CHART, '--namespace', 'filemill', ...args]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  /** What the chart renders to follows from the arguments alone: tests ask for the same again and again. */
  const found = new Map<string, Promise<readonly Manifest[]>>();
  const manifests = (args: readonly string[]): Promise<readonly Manifest[]> => {
    const key = JSON.stringify(args);
    const all = found.get(key) ?? rendered(...args).then(manifestsOf);
    found.set(key, all);
    return all;
  };
  return {
    folder,
    run,
    rendered,
    async objects(...args) {
      const all = await manifests(args);
      return (kind, name) => {
        const found = all.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
        if (found === undefined)
          throw new Error(`no ${kind} ${name} among ${all.map((manifest) => `${manifest.kind} ${manifest.metadata.name}`)}`);
        return found;
      };
    },
    values(values) {
      const path = join(folder, `values-${++files}.yaml`);
      writeFileSync(path, JSON.stringify(values));
      return ['--values', path];
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
