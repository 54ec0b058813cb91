/** The requests that would do the same, for a shell, JavaScript and Python. */
import { useSignal } from '@preact/signals';
import { at } from '../api/client.ts';
import { t } from '../words/words.ts';
import { Copy } from './copy.tsx';

export interface Request {
  readonly path: string;
  readonly field: string;
  readonly files: readonly string[];
  /** A further file, in the field `mask`. */
  readonly mask?: string | undefined;
  readonly urls: readonly string[];
  readonly fields: Readonly<Record<string, string>>;
}

/** Each file's field and name. */
const partsOf = ({ field, files, mask }: Request): readonly (readonly [field: string, name: string])[] => [
  ...files.map((name) => [field, name] as const),
  ...(mask === undefined ? [] : [['mask', mask] as const]),
];
const shell = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
/** In a form of curl's a name with a comma or a semicolon has to be quoted. */
const curlFile = (name: string): string => (/[,;"\\]/.test(name) ? `@"${name.replace(/["\\]/g, '\\$&')}"` : `@${name}`);
/** A string of JavaScript and of Python alike. */
const quoted = (text: string): string => JSON.stringify(text);

const curlOf = (requests: readonly Request[]): string => requests.map(command).join('\n\n');

function command(request: Request): string {
  const { path, field, files, urls, fields } = request;
  const many = field.endsWith('[]');
  const parts = [
    ...partsOf(request).map(([field, name]) => `-F ${shell(`${field}=${curlFile(name)}`)}`),
    ...urls.map((url) => `--form-string ${shell(`${many ? 'urls[]' : 'url'}=${url}`)}`),
    ...Object.entries(fields).map(([name, value]) => `--form-string ${shell(`${name}=${value}`)}`),
  ];
  const address = path.endsWith('/convert') && files.length + urls.length === 1 ? `${at(path)}?download=1` : at(path);
  const start = address.endsWith('download=1') ? 'curl -sSfL --retry 3 -OJ' : 'curl -sSf --retry 3';
  return [start, ...parts, shell(address)].join(' \\\n  ');
}

function scriptOf(requests: readonly Request[]): string {
  const all = requests.map(call);
  return [
    ...(requests.some(({ files }) => files.length > 0) ? ["import { openAsBlob } from 'node:fs';", ''] : []),
    // Each in a block: all declare the same names.
    ...(all.length === 1 ? all.flat() : all.flatMap((lines) => ['{', ...lines.map((line) => `  ${line}`), '}'])),
  ].join('\n');
}

function call(request: Request): readonly string[] {
  const { path, field, urls, fields } = request;
  const many = field.endsWith('[]');
  return [
    'const form = new FormData();',
    ...partsOf(request).map(([field, name]) => `form.append(${quoted(field)}, await openAsBlob(${quoted(name)}), ${quoted(name)});`),
    ...urls.map((url) => `form.append(${quoted(many ? 'urls[]' : 'url')}, ${quoted(url)});`),
    ...Object.entries(fields).map(([name, value]) => `form.append(${quoted(name)}, ${quoted(value)});`),
    `const answer = await fetch(${quoted(at(path))}, { method: 'POST', body: form });`,
    'const { data, error } = await answer.json();',
    'console.log(error ?? data);',
  ];
}

const pythonOf = (requests: readonly Request[]): string => ['import requests', ...requests.map(post)].join('\n\n');

function post(request: Request): string {
  const { path, field, files, urls, fields } = request;
  const many = field.endsWith('[]');
  const data = [...urls.map((url) => [many ? 'urls[]' : 'url', url] as const), ...Object.entries(fields)];
  return [
    'answer = requests.post(',
    `    ${quoted(at(path))},`,
    ...(files.length > 0
      ? ['    files=[', ...partsOf(request).map(([field, name]) => `        (${quoted(field)}, open(${quoted(name)}, "rb")),`), '    ],']
      : []),
    ...(data.length > 0 ? ['    data=[', ...data.map(([name, value]) => `        (${quoted(name)}, ${quoted(value)}),`), '    ],'] : []),
    ')',
    'print(answer.json())',
  ].join('\n');
}

const LANGUAGES = { curl: curlOf, JavaScript: scriptOf, Python: pythonOf } as const;
type Language = keyof typeof LANGUAGES;

export function AsRequest({ requests }: { requests: readonly Request[] }) {
  const language = useSignal<Language>('curl');
  const text = LANGUAGES[language.value](requests);
  return (
    <details class="request">
      <summary>{t('asRequest')}</summary>
      <p class="quiet">{t('requestLead')}</p>
      <div class="tabs" role="group" aria-label={t('asRequest')}>
        {(Object.keys(LANGUAGES) as Language[]).map((each) => (
          <button
            key={each}
            type="button"
            class="chip"
            aria-pressed={each === language.value}
            onClick={() => {
              language.value = each;
            }}
          >
            {each}
          </button>
        ))}
        <Copy end text={text} label={t('copy')} done={t('copied')} />
      </div>
      <pre tabIndex={0} dir="ltr">
        <code>{text}</code>
      </pre>
    </details>
  );
}
