/** The settings of a service for a stranger's eyes: which are set, and the values of those that can name nothing. */
import { z } from 'zod';
import { type Config, configSchema, loadConfig, VARIABLES } from '../../config.ts';

type Rule = z.core.JSONSchema.JSONSchema;
type Environment = Readonly<Record<string, string | undefined>>;

/** Said of a value that is not shown. */
const IS_SET = 'set';

/** Numbers, truth values, and words of a list; of other texts, those that are the default. */
export function shownSettings(config: Config): unknown {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Rule;
  return shown(config, loadConfig({}), schema);
}

function shown(value: unknown, preset: unknown, rule: Rule): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined) return value;
  if (typeof value === 'string') return rule.enum?.includes(value) || value === preset ? value : IS_SET;
  if (Array.isArray(value)) return shownList(value, preset, (rule.items ?? {}) as Rule);
  const inner = (key: string): Rule => (rule.properties?.[key] ?? rule.additionalProperties ?? {}) as Rule;
  const presets = (typeof preset === 'object' && preset !== null ? preset : {}) as Readonly<Record<string, unknown>>;
  const entries = Object.entries(value as object).filter(([, each]) => each !== undefined);
  return Object.fromEntries(entries.map(([key, each]) => [key, shown(each, presets[key], inner(key))]));
}

function shownList(values: readonly unknown[], preset: unknown, rule: Rule): unknown {
  if (values.every((each) => typeof each === 'number' || typeof each === 'boolean' || rule.enum?.includes(each as string))) return values;
  return JSON.stringify(values) === JSON.stringify(preset) ? values : `${values.length} ${IS_SET}`;
}

/** Names of the variables that are set, not their values. */
export const variablesSet = (environment: Environment): readonly string[] =>
  [...Object.keys(VARIABLES), 'CONFIG_FILE', 'SETTINGS', 'NODE_OPTIONS', 'TMPDIR'].filter((name) => (environment[name] ?? '') !== '');

/** Settings whose values are secrets; those of all others name machines, folders and users. */
const SECRETS = new Set(['key', 'salt', 'secretAccessKey', 'accessKeyId', 'password', 'token']);

/** Every text that settings hold, apart from words of a list, numbers and truth values. @param settings of whatever shape */
export function valuesIn(settings: unknown): { readonly secrets: readonly string[]; readonly names: readonly string[] } {
  const [secrets, names]: [string[], string[]] = [[], []];
  const presets = new Set(textsOf(loadConfig({})).map(([, text]) => text));
  for (const [path, text] of textsOf(settings)) {
    if (SECRETS.has(path.at(-1) ?? '')) secrets.push(text);
    else if (!presets.has(text) && !isWord(text) && !/^(?:true|false|\d+)$/.test(text)) names.push(text, ...hostsIn(text));
  }
  return { secrets, names };
}

function textsOf(value: unknown, path: readonly string[] = []): readonly (readonly [readonly string[], string])[] {
  if (typeof value === 'string') return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each, path));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => textsOf(each, [...path, key]));
}

/** As the schema lists them: `image`, `info`. They name nothing. */
const isWord = (text: string): boolean => WORDS.has(text);
const WORDS: ReadonlySet<string> = new Set(enumsOf(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' })));
function enumsOf(rule: unknown): readonly string[] {
  if (typeof rule !== 'object' || rule === null) return [];
  return Object.entries(rule).flatMap(([key, inner]) => (key === 'enum' && Array.isArray(inner) ? inner.map(String) : enumsOf(inner)));
}

/** Whether a path, such as `api.publicUrl`, has the names of the schema alone, which the operator has not chosen. */
export const isSetting = (path: string): boolean =>
  path.split('.').every((part) => NAMES.has(part) || WORDS.has(part) || /^\d+$/.test(part));
const NAMES: ReadonlySet<string> = new Set(namesOf(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' })));
function namesOf(rule: unknown): readonly string[] {
  if (typeof rule !== 'object' || rule === null) return [];
  const own = 'properties' in rule ? Object.keys(rule.properties as object) : [];
  return [...own, ...Object.values(rule).flatMap(namesOf)];
}

function hostsIn(text: string): readonly string[] {
  const url = URL.parse(text.includes('://') ? text : `nats://${text}`);
  return [url?.hostname ?? '', url?.username ?? '', url?.password ?? ''].filter(Boolean);
}
