/** Configuration: every noun's slice in one schema, read from a YAML file and the environment, checked once with every mistake named. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { apiSettings, secretSettings } from './api/settings.ts';
import { logSettings } from './telemetry/log.ts';
import { upkeepSettings } from './upkeep/settings.ts';
import { workerSettings } from './worker/settings.ts';

const schema = z.strictObject({
  dataDir: z.string().min(1).default('data').describe('Folder of the embedded store: jobs, queue and files'),
  api: apiSettings.prefault({}),
  secret: secretSettings.prefault({}),
  worker: workerSettings(availableParallelism()).prefault({}),
  upkeep: upkeepSettings.prefault({}),
  log: logSettings.prefault({}),
});
export type Config = Readonly<z.infer<typeof schema>>;

/** Environment variables, and the setting that each stands for. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  PORT: ['api', 'port'],
  PUBLIC_URL: ['api', 'publicUrl'],
  ALLOWED_HOSTS: ['api', 'allowedHosts'],
  DATA_DIR: ['dataDir'],
  LOG_LEVEL: ['log', 'level'],
  SECRET_KEY: ['secret', 'key'],
  WORK_DIR: ['worker', 'dir'],
};

/** Settings of other ways to run than this version has: better refused than ignored. */
const NOT_YET = ['NATS_URL', 'NATS_CREDS', 'S3_ENDPOINT', 'S3_BUCKET', 'TRUST_PROXY', 'LIMITS_ENABLED', 'POOL'];

/** @throws ConfigError with every mistake in one message */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const mistakes = NOT_YET.filter((name) => environment[name]).map(
    (name) => `${name}: this version runs on one machine only and does not know it; unset it`,
  );
  const settings = readFile(environment['CONFIG_FILE'], mistakes);
  for (const [variable, path] of Object.entries(VARIABLES)) {
    const value = environment[variable];
    if (value !== undefined && value !== '')
      put(settings, path, variable === 'ALLOWED_HOSTS' ? value.split(',').map((host) => host.trim()) : value);
  }
  const read = schema.safeParse(settings);
  if (!read.success) mistakes.push(...read.error.issues.map((issue) => describe(issue, settings)));
  if (!read.success || mistakes.length > 0) throw new ConfigError(mistakes);
  return Object.freeze({ ...read.data, dataDir: resolve(read.data.dataDir) });
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(mistakes: readonly string[]) {
    super(
      `The configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${mistakes.map((mistake) => `  ${mistake}`).join('\n')}`,
    );
  }
}

type Tree = { [name: string]: unknown };

function readFile(path: string | undefined, mistakes: string[]): Tree {
  if (path === undefined || path === '') return {};
  try {
    const content: unknown = parse(readFileSync(path, 'utf8')) ?? {};
    if (typeof content === 'object' && !Array.isArray(content)) return content as Tree;
    mistakes.push(`CONFIG_FILE: ${path} holds no settings but ${JSON.stringify(content).slice(0, 50)}`);
  } catch (error) {
    mistakes.push(`CONFIG_FILE: ${path} cannot be read: ${(error as Error).message.split('\n')[0]}`);
  }
  return {};
}

function put(tree: Tree, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) tree[first] = value;
  else {
    tree[first] ??= {};
    put(tree[first] as Tree, rest, value);
  }
}

function describe(issue: z.core.$ZodIssue, settings: Tree): string {
  const path = issue.path.map(String);
  const variable = Object.entries(VARIABLES).find(([, target]) => target.join('.') === path.join('.'))?.[0];
  const found = path.reduce<unknown>((at, part) => (typeof at === 'object' && at !== null ? (at as Tree)[part] : undefined), settings);
  const shown = path.includes('key') ? '(hidden)' : JSON.stringify(found);
  return `${variable === undefined ? '' : `${variable}, `}${path.join('.') || 'the file'}: found ${shown}; ${issue.message}`;
}
