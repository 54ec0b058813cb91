/** Configuration: every noun's slice in one schema, read from a YAML file and the environment, checked once with every mistake named. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parse, parseDocument } from 'yaml';
import { z } from 'zod';
import { outputSettings } from './api/outputs/settings.ts';
import { webSettings } from './api/page/settings.ts';
import { apiSettings, secretSettings } from './api/settings.ts';
import { controllerSettings } from './controller/settings.ts';
import { connectionSettings, destinationSettings } from './destinations/settings.ts';
import { egressSettings, fetchSettings } from './fetch/settings.ts';
import { limitSettings } from './limits/settings.ts';
import { natsSettings } from './nats/settings.ts';
import { s3Settings, storageSettings } from './objects/settings.ts';
import { poolSettings } from './pools/settings.ts';
import { logSettings } from './telemetry/log.ts';
import { upkeepSettings } from './upkeep/settings.ts';
import { uploadSettings } from './uploads/settings.ts';
import { webhookSettings } from './webhooks/settings.ts';
import { workerSettings } from './worker/settings.ts';

export const configSchema = z.strictObject({
  dataDir: z.string().min(1).default('data').describe('Folder of the embedded store: jobs, queue and files'),
  api: apiSettings.prefault({}),
  web: webSettings.prefault({}),
  output: outputSettings.prefault({}),
  secret: secretSettings.prefault({}),
  worker: workerSettings(availableParallelism()).prefault({}),
  controller: controllerSettings.prefault({}),
  nats: natsSettings.optional(),
  pools: poolSettings.prefault({}),
  s3: s3Settings.optional(),
  storage: storageSettings.prefault({}),
  connections: connectionSettings.prefault({}),
  destinations: destinationSettings.prefault({}),
  fetch: fetchSettings.prefault({}),
  egress: egressSettings.prefault({}),
  limits: limitSettings.prefault({}),
  upkeep: upkeepSettings.prefault({}),
  uploads: uploadSettings.prefault({}),
  webhooks: webhookSettings.prefault({}),
  log: logSettings.prefault({}),
});
export type Config = Readonly<z.infer<typeof configSchema>>;

/** Environment variables, and the setting that each stands for. */
export const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  PORT: ['api', 'port'],
  LISTEN_ADDRESS: ['api', 'host'],
  PUBLIC_URL: ['api', 'publicUrl'],
  ALLOWED_HOSTS: ['api', 'allowedHosts'],
  TRUST_PROXY: ['api', 'trustProxy'],
  LIMITS_ENABLED: ['limits', 'enabled'],
  DATA_DIR: ['dataDir'],
  LOG_LEVEL: ['log', 'level'],
  SECRET_KEY: ['secret', 'key'],
  SECRET_SALT: ['secret', 'salt'],
  WORK_DIR: ['worker', 'dir'],
  FILEMILL_MODELS: ['worker', 'models'],
  POOL: ['worker', 'pool'],
  TOOLCHAIN: ['worker', 'toolchain'],
  TOOLCHAINS: ['worker', 'toolchains'],
  WORKER_NAME: ['worker', 'name'],
  METRICS_PORT: ['worker', 'metricsPort'],
  MEMORY_LIMIT: ['worker', 'limitBytes'],
  WORK_DIR_LIMIT: ['worker', 'dirBytes'],
  KUBECONFIG: ['controller', 'kubeconfig'],
  EGRESS_URL: ['egress', 'url'],
  EGRESS_TOKEN: ['egress', 'token'],
  EGRESS_PORT: ['egress', 'port'],
  NATS_URL: ['nats', 'servers'],
  NATS_CREDS: ['nats', 'credentialsFile'],
  NATS_USER: ['nats', 'user'],
  NATS_PASSWORD: ['nats', 'password'],
  NATS_CA: ['nats', 'caFile'],
  NATS_CERT: ['nats', 'certFile'],
  NATS_KEY: ['nats', 'keyFile'],
  S3_ENDPOINT: ['s3', 'endpoint'],
  S3_REGION: ['s3', 'region'],
  S3_BUCKET: ['s3', 'bucket'],
  S3_ACCESS_KEY_ID: ['s3', 'accessKeyId'],
  S3_SECRET_ACCESS_KEY: ['s3', 'secretAccessKey'],
};

/** Settings whose values no message repeats. */
const SECRET = new Set(['key', 'salt', 'secretAccessKey', 'password', 'token']);

/** Variables that hold several values, parted by commas. */
const LISTS = new Set(['ALLOWED_HOSTS', 'TRUST_PROXY', 'NATS_URL', 'SECRET_KEY', 'EGRESS_TOKEN', 'TOOLCHAINS']);

/** @throws ConfigError with every mistake in one message */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const mistakes: string[] = [];
  const settings = merge(readFile(environment['CONFIG_FILE'], mistakes), readInline(environment['SETTINGS'], mistakes));
  for (const [variable, path] of Object.entries(VARIABLES)) {
    const value = environment[variable];
    if (value !== undefined && value !== '') put(settings, path, LISTS.has(variable) ? value.split(',').map((item) => item.trim()) : value);
  }
  const read = configSchema.safeParse(settings);
  if (!read.success) mistakes.push(...read.error.issues.flatMap((issue) => describe(issue, settings)));
  if (!read.success || mistakes.length > 0) throw new ConfigError(mistakes);
  return Object.freeze({ ...read.data, dataDir: resolve(read.data.dataDir) });
}

/** What the file and the variables say, a tree for each, checked by nothing: of a file that is no YAML, what can be read of it. */
export function givenSettings(environment: Readonly<Record<string, string | undefined>>): readonly unknown[] {
  const { CONFIG_FILE: path = '', SETTINGS: inline = '' } = environment;
  const loose = (text: string): unknown => {
    try {
      return parseDocument(text).toJS();
    } catch {
      return text.split(/[\s"',[\]{}]+/);
    }
  };
  let file = '';
  try {
    if (path !== '') file = readFileSync(path, 'utf8');
  } catch {
    // It says nothing.
  }
  const variables: Tree = {};
  for (const [variable, at] of Object.entries(VARIABLES))
    put(
      variables,
      at,
      environment[variable]?.split(',').map((item) => item.trim()),
    );
  return [loose(file), loose(inline), variables];
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

/** YAML that is no configuration. Aliases, by which a few lines would stand for millions, are refused. @throws an Error */
export const readYaml = (text: string): unknown => parse(text, { maxAliasCount: 0 });

function readFile(path: string | undefined, mistakes: string[]): Tree {
  if (path === undefined || path === '') return {};
  try {
    const content: unknown = parse(readFileSync(path, 'utf8')) ?? {};
    if (typeof content === 'object' && !Array.isArray(content)) return content as Tree;
    mistakes.push(`CONFIG_FILE: ${path} has no settings but ${JSON.stringify(content).slice(0, 50)}`);
  } catch (error) {
    mistakes.push(`CONFIG_FILE: ${path} cannot be read: ${(error as Error).message.split('\n')[0]}`);
  }
  return {};
}

/** Settings of the file's shape in a variable: it holds what is set for this process alone. */
function readInline(text: string | undefined, mistakes: string[]): Tree {
  if (text === undefined || text === '') return {};
  try {
    const content: unknown = parse(text) ?? {};
    if (typeof content === 'object' && !Array.isArray(content)) return content as Tree;
  } catch {
    // Told below: what it holds is not to be repeated.
  }
  mistakes.push('SETTINGS: it is not a group of settings in YAML or JSON');
  return {};
}

/** What the second says counts. */
function merge(first: Tree, second: Tree): Tree {
  const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);
  const both = (name: string) => {
    const [below, above] = [first[name], second[name]];
    return isTree(below) && isTree(above) ? merge(below, above) : above;
  };
  return { ...first, ...Object.fromEntries(Object.keys(second).map((name) => [name, both(name)])) };
}

function put(tree: Tree, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) tree[first] = value;
  else {
    tree[first] ??= {};
    // What is no group of settings stays as it is, to be found wrong.
    if (typeof tree[first] === 'object') put(tree[first] as Tree, rest, value);
  }
}

/** One sentence a mistake: an issue may have several. */
function describe(issue: z.core.$ZodIssue, settings: Tree): string[] {
  const path = withoutOnlyIndex(issue.path.map(String), settings);
  const named = (at: readonly string[]) => {
    const variable = Object.entries(VARIABLES).find(([, target]) => target.join('.') === at.join('.').replace(/\.\d+$/, ''))?.[0];
    return `${variable === undefined ? '' : `${variable}, `}${at.join('.') || 'the file'}`;
  };
  const rule = ruleAt(issue.path.map(String));
  if (issue.code === 'unrecognized_keys') {
    const has = Object.keys(rule.properties ?? {}).join(', ');
    return issue.keys.map((key) => `${named([...path, key])}: there is no such setting; ${path.join('.') || 'the file'} accepts ${has}`);
  }
  const found = valueAt(path, settings);
  const shown = path.some((part) => SECRET.has(part)) ? '(hidden)' : JSON.stringify(found, withoutSecrets);
  return [`${named(path)}: received ${shown}; expected ${issue.code === 'custom' ? issue.message : (allowed(rule) ?? issue.message)}`];
}

/** For a group of settings that is shown whole. */
const withoutSecrets = (name: string, value: unknown): unknown => (SECRET.has(name) ? '(hidden)' : value);

/** For a list with one entry, such as a key, that entry is the setting. */
function withoutOnlyIndex(path: readonly string[], settings: Tree): readonly string[] {
  if (path.at(-1) !== '0') return path;
  const list = valueAt(path.slice(0, -1), settings);
  return Array.isArray(list) && list.length > 1 ? path : path.slice(0, -1);
}

const valueAt = (path: readonly string[], settings: Tree): unknown =>
  path.reduce<unknown>((at, part) => (typeof at === 'object' && at !== null ? (at as Tree)[part] : undefined), settings);

type Rule = z.core.JSONSchema.JSONSchema;

/** What the schema says of one setting. */
function ruleAt(path: readonly string[]): Rule {
  const below = (rule: Rule, part: string) => rule.properties?.[part] ?? rule.items ?? rule.additionalProperties ?? {};
  return path.reduce<Rule>(
    (rule, part) => below(rule, part) as Rule,
    z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Rule,
  );
}

function allowed(rule: Rule): string | undefined {
  if (rule.enum !== undefined) return `one of ${rule.enum.join(', ')}`;
  if (rule.format === 'uri') return 'an http or https URL';
  switch (rule.type) {
    case 'integer':
      return `a whole number ${(rule.maximum ?? Number.MAX_SAFE_INTEGER) < Number.MAX_SAFE_INTEGER ? `from ${rule.minimum} to ${rule.maximum}` : `from ${rule.minimum} on`}`;
    case 'string':
      return rule.minLength === undefined ? 'text' : `text of at least ${rule.minLength} characters`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return 'a list';
    case 'object':
      return `settings: ${Object.keys(rule.properties ?? {}).join(', ')}`;
    default:
      return undefined;
  }
}
