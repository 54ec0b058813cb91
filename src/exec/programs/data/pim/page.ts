/** Records as a page and as plain text, for people. */
import { escaped } from '../../text/html.ts';
import { QUIET_FOOT, quietHead } from '../../text/quiet-page.ts';
import { asLine, type PimRecord } from './record.ts';

const STYLES = `table { border-collapse: collapse; margin-bottom: 2em }
th { text-align: left; vertical-align: top; padding: 0.1em 1em 0.1em 0 }
img { max-width: 12em; max-height: 12em }`;

/** `family_name` as `Family name`. */
const label = (column: string): string => `${column.charAt(0).toUpperCase()}${column.slice(1).replaceAll('_', ' ')}`;

/** What an entry has, but for what its heading says. */
const shown = ({ title, fields }: PimRecord): readonly (readonly [string, string])[] =>
  Object.entries(fields)
    .map(([column, field]) => [label(column), field === false ? '' : field === true ? 'yes' : asLine(field)] as const)
    .filter(([, text]) => text !== '' && text !== title);

export function* recordsPage(title: string, entries: readonly PimRecord[]): Generator<string> {
  yield quietHead(title, STYLES);
  for (const entry of entries) {
    const rows = shown(entry).map(([name, text]) => `<tr><th>${name}</th><td>${escaped(text).replaceAll('\n', '<br>\n')}</td></tr>\n`);
    const picture = entry.picture === undefined ? '' : `<p><img src="${entry.picture}" alt=""></p>\n`;
    yield `<h2>${escaped(entry.title)}</h2>\n${picture}<table>\n${rows.join('')}</table>\n`;
  }
  yield QUIET_FOOT;
}

export function* recordsText(entries: readonly PimRecord[]): Generator<string> {
  for (const [i, entry] of entries.entries()) {
    const lines = shown(entry).map(([name, text]) => `${name}: ${text.replaceAll('\n', '\n  ')}\n`);
    yield `${i === 0 ? '' : '\n'}${entry.title}\n${lines.join('')}`;
  }
}
