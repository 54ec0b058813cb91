/** What `--help` says of the commands on files: usage, examples, and the flags, made from the tables that they are read by. */
import type { z } from 'zod';
import { isRequired } from '../../catalog/options/field-schema.ts';
import { wordsOf } from '../../catalog/options/fields.ts';
import { optionSchemas } from '../../catalog/options/options.ts';
import { textOf } from '../../catalog/options/texts.ts';
import type { Tool } from '../../catalog/tool.ts';
import { absentTools, toolNamed, tools } from '../../catalog/tools.ts';
import { FILE_COMMANDS } from '../usage.ts';
import { COMMON_FLAGS, CONVERT_FLAGS, type Fields, flagOf, isSwitch } from './arguments.ts';

export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  convert: [
    'filemill convert report.docx report.pdf',
    'filemill convert ./*.heic --to jpg --out photos/ --img-quality 85',
    'filemill convert photos/ --to webp --recursive --out small/ --skip-existing',
    "filemill convert ./*.png --to jpg --name '{name}-web' --dry-run",
    'filemill convert paper.pdf --to png --pages 1-3 --dpi 200',
    'filemill convert secret.pdf secret.docx --password-file secret.txt',
    'curl -s https://example.org/a.svg | filemill convert - --to png > a.png',
    'filemill convert talk.wav talk.mp3 --server https://files.example.org',
  ],
  tool: [
    'filemill tool compress-pdf in.pdf',
    'filemill tool compress-pdf ./*.pdf --out small/',
    'filemill tool merge-pdf cover.pdf body.pdf --out book.pdf',
    'filemill tool image-to-text scan.png --ocr-lang deu',
    'filemill tool resize-image --help',
  ],
  run: ['filemill run book.yaml cover.docx body.docx --out book/', 'filemill run invoice scan.pdf --server https://files.example.org'],
  info: ['filemill info ./*.pdf', 'filemill info --json film.mkv'],
  formats: [
    'filemill formats',
    'filemill formats docx',
    'filemill formats png jpg',
    'filemill formats --json --server https://files.example.org',
  ],
  completion: [
    'source <(filemill completion bash)',
    'filemill completion powershell | Out-String | Invoke-Expression',
    'filemill completion fish > ~/.config/fish/completions/filemill.fish',
  ],
};
const WIDTH = 26;

/** @param args after the command: of `tool`, its first names the tool */
export function helpOfFiles(command: string, args: readonly string[] = []): string {
  const tool = command === 'tool' ? toolNamed(args[0]) : undefined;
  const { usage = '', summary = '' } = FILE_COMMANDS[command] ?? {};
  const head = tool === undefined ? `${usage}\n  ${summary}` : `filemill tool ${tool.slug} <file>…\n  ${tool.summary}`;
  return [
    head,
    '',
    'Examples',
    ...(tool === undefined ? (EXAMPLES[command] ?? []) : examplesOf(tool)).map((line) => `  ${line}`),
    ...flagsFor(command, tool),
  ].join('\n');
}

/** One that needs no more than its files, and one with a name for the result. */
function examplesOf({ slug, files, accepts, answersText, input }: Tool): readonly string[] {
  const end = accepts?.[0] ?? 'pdf';
  const given = files.min > 1 ? `one.${end} two.${end}` : `in.${end}`;
  const needed = Object.entries(input.shape).flatMap(([name, schema]) => (isRequired(schema) ? [`--${flagOf(name)} …`] : []));
  const call = ['filemill tool', slug, given, ...needed].join(' ');
  return [call, answersText ? `${call} --out out.txt` : `${call} --out results/`];
}

function flagsFor(command: string, tool: Tool | undefined): readonly string[] {
  const common = Object.entries(COMMON_FLAGS).map(([name, flag]) => row(name, flag.means, 'short' in flag ? flag.short : undefined));
  const codes = ['', 'Exit codes: 0 all done, 1 some files failed, 2 wrong arguments, 3 cannot start, 130 interrupted (docs/cli.md)'];
  if (command === 'convert') {
    const own = Object.entries(CONVERT_FLAGS).map(([name, flag]) => row(name, flag.means, 'short' in flag ? flag.short : undefined));
    return ['', 'Flags', ...own, ...common, '', 'Options', ...optionRows(optionSchemas), ...codes];
  }
  if (tool !== undefined) return ['', 'Options', ...optionRows(tool.input.shape, tool), '', 'Flags', ...common, ...codes];
  if (command !== 'tool') return [];
  const known = tools.filter(({ takesPage }) => takesPage !== true).map(({ slug, summary }) => row(slug, summary, undefined, ''));
  return [
    '',
    'Tools',
    ...known,
    ...absentTools.map(({ slug, reason }) => row(slug, `not available: ${reason}`, undefined, '')),
    '',
    'Flags',
    ...common,
    ...codes,
  ];
}

const row = (name: string, means: string, short?: string, dashes = '--'): string =>
  `  ${`${short === undefined ? '' : `-${short}, `}${dashes}${name}`.padEnd(WIDTH)} ${means}`;

const optionRows = (fields: Fields, tool?: Tool): string[] => Object.entries(fields).map(([name, schema]) => optionRow(name, schema, tool));

function optionRow(name: string, schema: z.ZodType, tool: Tool | undefined): string {
  const { means = '', preset, where } = textOf(name, tool?.texts) ?? {};
  const takes = isSwitch(schema) ? '' : `Takes ${wordsOf(schema)}.`;
  const said = [
    means,
    takes,
    tool === undefined && preset !== undefined ? `Default: ${preset}.` : '',
    tool === undefined && where !== undefined ? `For ${where}.` : '',
    tool !== undefined && isRequired(schema) ? 'Required.' : '',
  ];
  return row(flagOf(name), said.filter(Boolean).join(' '));
}
