/** The words of the language that the browser asks for, with its plurals and numbers. */
import { signal } from '@preact/signals';
import type { CatalogTexts, CatalogWords, Told } from './catalog.ts';
import { en, type Key, type Words } from './en.ts';
import type { translate, Warning } from './warnings.ts';

interface Catalog {
  readonly words: CatalogWords;
  readonly texts: CatalogTexts;
  readonly translate: typeof translate;
}

/** Each language has separate files, fetched when it is chosen. */
export const LANGUAGES: Readonly<Record<string, () => Promise<readonly [Words, Catalog?]>>> = {
  en: async () => [en],
  de: async () => {
    const [{ de }, { catalog }, { texts }, { translate }] = await Promise.all([
      import('./de.ts'),
      import('./catalog.de.ts'),
      import('./texts.de.ts'),
      import('./warnings.ts'),
    ]);
    return [de, { words: catalog, texts, translate }];
  },
  es: async () => {
    const [{ es }, { catalog }, { texts }, { translate }] = await Promise.all([
      import('./es.ts'),
      import('./catalog.es.ts'),
      import('./texts.es.ts'),
      import('./warnings.ts'),
    ]);
    return [es, { words: catalog, texts, translate }];
  },
};
const RIGHT_TO_LEFT = new Set(['ar', 'fa', 'he', 'ur']);

export type { Key };

const words = signal<Words>(en);
/** Undefined in the service's own language. */
let catalog: Catalog | undefined;
let locale = 'en';
let plural = new Intl.PluralRules('en');

/** @param wanted languages as the browser lists them, the best first */
export async function chooseLanguage(wanted: readonly string[]): Promise<void> {
  const asked = wanted.find((each) => Object.hasOwn(LANGUAGES, each.split('-')[0] ?? '')) ?? 'en';
  const language = asked.split('-')[0] ?? 'en';
  const [found, told] = (await LANGUAGES[language]?.().catch(() => undefined)) ?? [en];
  catalog = told;
  words.value = found;
  locale = words.value === en && language !== 'en' ? 'en' : asked;
  plural = new Intl.PluralRules(locale);
  document.documentElement.lang = locale;
  document.documentElement.dir = RIGHT_TO_LEFT.has(language) ? 'rtl' : 'ltr';
}

/** Such as `de`, whatever the country. */
export const language = (): string => locale.split('-')[0] ?? 'en';

type Values = Readonly<Record<string, string | number>>;

/** A sentence. @param values `n` chooses the plural */
export function t(key: Key, values: Values = {}): string {
  const entry = words.value[key];
  const form = typeof entry === 'string' ? entry : (entry[plural.select(Number(values['n'] ?? 0))] ?? entry.other ?? '');
  return form.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? '';
    return typeof value === 'number' ? count(value) : value;
  });
}
export const hasWord = (key: string): key is Key => Object.hasOwn(en, key);

export const count = (value: number): string => new Intl.NumberFormat(locale).format(value);
/** With what is behind the point, as far as it tells something. */
export const decimal = (value: number): string =>
  new Intl.NumberFormat(locale, { maximumFractionDigits: 3, useGrouping: false }).format(value);
export const percent = (share: number): string =>
  new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 }).format(share);

/** How much smaller or larger: of what is nearly all, the tenths tell, and something is always left. */
export const change = (share: number): string =>
  new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: share > 0.95 && share < 1 ? 1 : 0 }).format(
    share < 1 ? Math.min(share, 0.999) : share,
  );

/** `a, b and c`. */
export const inList = (parts: readonly string[]): string => new Intl.ListFormat(locale, { type: 'conjunction' }).format(parts);

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;
export function bytes(size: number): string {
  const step = Math.min(UNITS.length - 1, size < 1000 ? 0 : Math.floor(Math.log10(size) / 3));
  const maximumFractionDigits = step === 0 || size / 1000 ** step >= 100 ? 0 : 1;
  return new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: UNITS[step] ?? 'byte',
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits,
  }).format(size / 1000 ** step);
}

/** A length of time, in hours and minutes, or seconds. */
export function duration(ms: number, unitDisplay: 'long' | 'short' = 'long'): string {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  const part = (value: number, unit: 'hour' | 'minute' | 'second') =>
    new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay }).format(value);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const parts =
    seconds < 60
      ? [part(seconds, 'second')]
      : [...(hours > 0 ? [part(hours, 'hour')] : []), ...(minutes > 0 ? [part(minutes, 'minute')] : [])];
  return new Intl.ListFormat(locale, { type: 'unit' }).format(parts);
}

const ACRONYMS = new Set(['pdf', 'gif', 'jpg', 'png', 'webp', 'og', 'dpi', 'fps', 'url', 'crf', 'csv', 'ocr', 'mp3', 'wav']);
/** `compress-pdf` as a title. Names of tools and options come from the API, in English. */
export function title(name: string): string {
  const parts = name.split(/[-_]/).map((part) => (ACRONYMS.has(part) ? part.toUpperCase() : part));
  const [first = '', ...rest] = parts;
  return [first.charAt(0).toUpperCase() + first.slice(1), ...rest].join(' ');
}

const toldOr = (here: string | undefined, text: string): Told =>
  here === undefined ? { text, lang: 'en' } : { text: here, lang: undefined };
/** A tool's name, by its slug. */
export const toolName = (slug: string): Told => toldOr(catalog?.words.tools[slug]?.[0], title(slug));
/** @param summary as the service says it */
export const toolSummary = (slug: string, summary: string): Told => toldOr(catalog?.words.tools[slug]?.[1], summary);
/** Why a tool is not there. @param reason as the service says it */
export const absentReason = (reason: string): Told => toldOr(catalog?.texts.reasons[reason], reason);
/** @param label as the service says it */
export const optionLabel = (name: string, label: string): Told => toldOr(catalog?.words.options[name], label);
/** @param means what an option does, as the service says it @returns undefined where it is not translated */
export const optionDoes = (means: string): string | undefined => catalog?.texts.does[means];
/** @param takes as the service says it */
export function optionTakes(takes: string): Told {
  const [, from, to, unit = ''] = /^([\d.]+) to ([\d.]+)( px| Hz| kbit\/s| %| ms)?$/.exec(takes) ?? [];
  if (from !== undefined && to !== undefined) return { text: t('range', { from: Number(from), to: Number(to), unit }), lang: undefined };
  return toldOr(catalog?.texts.takes[takes], takes);
}
export const warningText = (warning: Warning): Told =>
  toldOr(catalog?.translate(warning, catalog.words, catalog.texts, locale), warning.message);

/** @param keys a reason before a code @param message as the service says it @param option whose value is refused */
export function failureText(keys: readonly string[], message: string, option?: string): Told {
  const text = keys.map((key) => catalog?.texts.failures[key]).find((each) => each !== undefined);
  return toldOr(option === undefined ? text : text?.replace('{option}', optionLabel(option, title(option)).text), message);
}

/** In the service's own language there are none. */
export const allFailures = (): readonly (readonly [code: string, text: string])[] => Object.entries(catalog?.texts.failures ?? {});

/** What an option's value is called. */
export function valueName(option: string, value: string): string {
  const named = catalog?.texts.values[value];
  if (named !== undefined) return named;
  if (option === 'language' && value !== 'auto') return new Intl.DisplayNames(locale, { type: 'language' }).of(value) ?? value;
  // The code of the United Kingdom is another one (ISO 3166-1).
  if (option === 'country')
    return new Intl.DisplayNames(locale, { type: 'region' }).of(value === 'uk' ? 'GB' : value.toUpperCase()) ?? value;
  return value;
}
export const inOrder = (one: string, other: string): number => one.localeCompare(other, locale);
