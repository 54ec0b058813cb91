/** A text that stands where a file is expected: whether it is one, and of which kind, where the call shows that. */
import { formatByExtension, formatOf } from '../../../catalog/formats.ts';

export interface TextClues {
  readonly filename?: string | undefined;
  /** As sent. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** How much of a text is looked at, characters. */
const LOOKED_AT = 4_096;

/** Whether it is no base64: that has white space only where its lines end. */
export function isProse(text: string): boolean {
  const start = text.slice(0, LOOKED_AT);
  if (/^[<{[#]/.test(start) && /[\s<{}]/.test(start.slice(1))) return true;
  return /[^\s] [^\s]/.test(start) || (/\n/.test(start) && /[^\sA-Za-z0-9+/=_-]/.test(start));
}

/** @returns `named` where the call itself says the format; undefined where nothing shows it */
export function kindOfText(text: string, { filename = '', from = '', to = '' }: TextClues): { format: string; named: boolean } | undefined {
  const extension = /\.([A-Za-z0-9]{1,10})$/.exec(filename)?.[1] ?? from;
  const said = formatByExtension(extension.toLowerCase())?.id;
  if (said !== undefined) return { format: said, named: filename !== '' };
  const start = text.slice(0, LOOKED_AT);
  const shown = markupIn(start);
  if (shown !== undefined) return { format: shown, named: false };
  const target = formatByExtension(to.toLowerCase())?.id;
  const family = target === undefined ? undefined : formatOf(target).family;
  if (family === 'sheet') return inKind(tableIn(start));
  if (family === 'document' || family === 'pdf' || family === 'markup') return inKind(isMarkdown(start) ? 'md' : 'txt');
  return undefined;
}

const inKind = (format: string | undefined) => (format === undefined ? undefined : { format, named: false });

function markupIn(start: string): string | undefined {
  const head = start.trimStart().slice(0, 300).toLowerCase();
  if (/^(?:<\?xml[^>]*>\s?)?<svg[\s>]/.test(head)) return 'svg';
  return /^<(?:!doctype html|html|head|body|main|article|div|p|h1|h2|table|ul)[\s>]/.test(head) ? 'html' : undefined;
}

/** A table has as many separators in its second line as in its first. */
function tableIn(start: string): string | undefined {
  const [first = '', second = first] = start.split('\n', 2);
  const count = (line: string, separator: string) => line.split(separator).length - 1;
  return (
    [
      ['\t', 'tsv'],
      [',', 'csv'],
      [';', 'csv'],
    ] as const
  ).find(([separator]) => count(first, separator) > 0 && count(first, separator) === count(second, separator))?.[1];
}

/** CommonMark: headings, lists, quotations, fences; tables and links of its usual extensions. */
const isMarkdown = (start: string): boolean =>
  /^(?:#{1,6} |[-*+] |\d{1,9}[.)] |> |```|\|.{0,200}\|)/m.test(start) || /\*\*\S|\]\(http/.test(start);
