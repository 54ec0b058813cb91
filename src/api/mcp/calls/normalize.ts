/** What models usually write, as a form writes it: defaults sent explicitly, extensions with a dot, languages by their other codes. */
import { formatByExtension, formats } from '../../../catalog/formats.ts';
import { OCR } from '../tools/convert-params.ts';
import type { McpTool } from '../tools/tool.ts';

/** @param fields of a form, by their names @returns the same as they are meant */
export function normalized(fields: ReadonlyMap<string, string>, tool: McpTool): ReadonlyMap<string, string> {
  const language = fields.get('ocr_lang');
  const read = new Map(fields);
  if (language !== undefined) read.set('ocr_lang', ocrLanguages(language));
  if (tool.slug !== undefined) return read;
  for (const name of ['to_format', 'from_format']) {
    const sent = read.get(name);
    if (sent !== undefined) read.set(name, extensionIn(sent));
  }
  const ocr = readsText(read.get(OCR));
  read.delete(OCR);
  for (const [name, value] of [...read]) if (isDefault(tool, name, value)) read.delete(name);
  // For other targets the language of a form is itself the request for OCR.
  if (formatByExtension(read.get('to_format') ?? '')?.id === 'pdf') {
    if (ocr) read.set('ocr_lang', read.get('ocr_lang') ?? 'eng');
    else read.delete('ocr_lang');
  }
  return read;
}

const readsText = (sent: string | undefined): boolean => ['true', '1', 'on', 'yes'].includes(sent?.trim().toLowerCase() ?? '');

/** The service does the same without it, and would warn of it where it has no effect. */
function isDefault({ params }: McpTool, field: string, value: string): boolean {
  const preset = Object.values(params).find((param) => param.field === field)?.preset;
  return preset !== undefined && String(preset) === value.trim().toLowerCase();
}

/** The extension of a format that is written `.jpg`, `JPG` or `image/jpeg`. */
function extensionIn(sent: string): string {
  const text = sent.trim().toLowerCase();
  if (text.includes('/')) return [...formats.values()].find(({ mime }) => mime === text)?.id ?? text;
  return text.startsWith('.') ? text.slice(1) : text;
}

/** ISO 639-1 and names of what Tesseract calls by ISO 639-2/T. */
const LANGUAGES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'eng en english',
    'deu de ger german',
    'fra fr fre french',
    'spa es spanish',
    'ita it italian',
    'por pt portuguese',
    'nld nl dut dutch',
    'pol pl polish',
    'rus ru russian',
    'ukr uk ukrainian',
    'tur tr turkish',
    'ara ar arabic',
    'hin hi hindi',
    'jpn ja japanese',
    'kor ko korean',
    'chi_sim zh zh-cn zh-hans zho chi chinese',
    'chi_tra zh-tw zh-hant',
  ].flatMap((line) => {
    const [code = '', ...others] = line.split(' ');
    return others.map((other) => [other, code]);
  }),
);
const CODES = new Set(Object.values(LANGUAGES));
/** Longer than any list of languages, characters. */
const MOST_LANGUAGES = 200;

/** `en` and `en-US` are `eng`; several may be separated by commas. An unknown name stays, to be refused. */
function ocrLanguages(sent: string): string {
  if (sent.length > MOST_LANGUAGES) return sent;
  const codes = sent.split(/[+,]/).map((code) => code.trim().toLowerCase());
  return codes.map((code) => LANGUAGES[code] ?? (CODES.has(code) ? code : (LANGUAGES[code.split(/[-_]/)[0] ?? ''] ?? code))).join('+');
}
