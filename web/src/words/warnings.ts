/** The service's warnings, in another language than its own. */
import type { CatalogTexts, CatalogWords } from './catalog.ts';

export interface Warning {
  readonly code: string;
  readonly message: string;
}

/** Parts of a warning's sentence that its translation repeats. */
const PARTS: Readonly<Record<string, RegExp>> = {
  charset_guessed: /it was read as (.{1,60})\.$/,
  content_differs: /^The file was read as (\w{1,40}),/,
  end_past_end: /^The recording ends after ([\d.]{1,20}) seconds/,
  entries_dropped: /^Not in the result: (.{1,200})\.$/,
  font_substituted: /lines may break elsewhere: (.{1,600})\.$/,
  format_assumed: /^The text was read as (\w{1,40});/,
  language_detected: /\((\w{2,3})\), (\d{1,3}) % sure\.$/,
  length_unknown: /at most its first (\d{1,10}) seconds/,
  lossy: /^This conversion from (\w{1,40}) does not keep: (.{1,2000})\.$/,
  low_resolution: /enlarged ([\d.]{1,10}) times\.$/,
  option_ignored: /^The option (\w{1,40}) has no effect/,
  option_unknown: /^There is no option "(.{1,200})"/,
  page_incomplete: /after ([\d.]{1,10}) seconds/,
  pages_beyond_end: /^The document has (\d{1,10}) pages/,
  property_lost: /what the source has: (.{1,2000})\.$/,
  tables_left_out: /^The document has (\d{1,10}) tables/,
  zip_of_pages: /^One (\w{1,40}) file can contain only one page: the (\d{1,10}) parts/,
};
/** Between losses. */
const BETWEEN = ', ';

/** Warnings whose first part is a format. */
const OF_FORMAT = ['content_differs', 'format_assumed', 'lossy', 'zip_of_pages'];

/** @returns undefined where there is no translation */
export function translate(
  { code, message }: Warning,
  { options }: CatalogWords,
  { warnings, losses, remarks }: CatalogTexts,
  locale: string,
): string | undefined {
  const pattern = PARTS[code];
  const parts = pattern === undefined ? [] : pattern.exec(message);
  const sentence = warnings[code];
  if (parts === null) return remarkOf(message, remarks, locale);
  if (sentence === undefined) return undefined;
  return sentence.replace(/\{(\d)\}/g, (_, place: string) => {
    const part = parts[Number(place)] ?? '';
    if (code === 'lossy' && place === '2') return lost(part, losses);
    // Names of fonts and what stood in for them; names are in quotes.
    if (code === 'font_substituted') return part.replaceAll('" by ', '" → ').replace(/and (\d+) more$/, '+ $1');
    if (code === 'entries_dropped') return counted(part, losses);
    if (code === 'option_ignored') return options[part] ?? part;
    if (code === 'language_detected' && place === '1') return new Intl.DisplayNames(locale, { type: 'language' }).of(part) ?? part;
    if (place === '1' && OF_FORMAT.includes(code)) return part.toUpperCase();
    return /^\d+\.\d+$/.test(part) ? new Intl.NumberFormat(locale).format(Number(part)) : part;
  });
}

/** A sentence that is known but for its numbers. */
function remarkOf(message: string, remarks: CatalogTexts['remarks'], locale: string): string | undefined {
  const numbers: string[] = [];
  const known = message.replace(/\d+/g, (number) => `{${numbers.push(number)}}`);
  return remarks[known]?.replace(/\{(\d)\}/g, (_, place: string) =>
    new Intl.NumberFormat(locale).format(Number(numbers[Number(place) - 1])),
  );
}

/** Some names of losses have commas themselves: the longest that fits is taken. */
function lost(list: string, names: CatalogTexts['losses']): string {
  const words = list.split(BETWEEN);
  const told: string[] = [];
  for (let at = 0; at < words.length; ) {
    const longest = [3, 2, 1].find((count) => names[words.slice(at, at + count).join(BETWEEN)] !== undefined) ?? 1;
    const name = words.slice(at, at + longest).join(BETWEEN);
    told.push(names[name] ?? name);
    at += longest;
  }
  return told.join(BETWEEN);
}

/** Names with numbers, such as `links: 3`. */
const counted = (list: string, names: CatalogTexts['losses']): string =>
  list
    .split(BETWEEN)
    .map((each) => {
      const [what = '', count = ''] = each.split(': ');
      return `${names[what] ?? what}: ${count}`;
    })
    .join(BETWEEN);
