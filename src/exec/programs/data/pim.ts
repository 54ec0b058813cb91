/**
 * Address cards or a calendar as a table, as data, as a page or as plain text.
 *
 *   pim.ts INPUT vcf|ics OUTPUT csv|json|html|txt [CHARSET]
 *
 * A card, an event, a task or a journal entry is a row. Nothing that they refer to is loaded. Prints an answer as residents give: warnings, or why the file
 * is refused.
 */
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { answering, lossy, type Told } from '../process/answer.ts';
import { writePieces } from '../process/pieces.ts';
import { decodeText, toldOf } from '../text/charset.ts';
import { cardRecord } from './pim/card.ts';
import { entriesIn, entryRecord } from './pim/event.ts';
import { type Component, componentsIn } from './pim/lines.ts';
import { recordsPage, recordsText } from './pim/page.ts';
import { asDatum, asLine, firstText, type PimRecord } from './pim/record.ts';
import { json } from './values/json.ts';
import { csv } from './values/rows.ts';
import { beyond, type Entries, FileRefused, fieldsFrom } from './values/value.ts';

const VERSION = '1.0';
const MOST_BYTES = 32 << 20;
const MOST_ENTRIES = 100_000;

const [input = '', source = '', output = '', target = '', charset] = process.argv.slice(2);

if (input === '--version') process.stdout.write(`pim ${VERSION}\n`);
else
  await answering(() => {
    const bytes = readFileSync(input);
    if (bytes.length > MOST_BYTES) throw beyond('bytes of cards or entries', MOST_BYTES, bytes.length);
    const decoded = decodeText(wholeLetters(bytes), [], charset);
    const { components, skipped, unended } = componentsIn(decoded.text);
    const found = source === 'ics' ? calendars(components).flatMap(entriesIn) : cards(components);
    if (found.length > MOST_ENTRIES) throw beyond('cards or entries', MOST_ENTRIES, found.length);
    const entries = found.map(source === 'ics' ? entryRecord : cardRecord);
    writePieces(output, piecesOf(entries, titleOf(components)));
    return [...toldOf(decoded), ...warningsOf(skipped, unended, entries)];
  });

/** Lines may be folded between the bytes of a letter (RFC 5545, 3.1). */
function wholeLetters(bytes: Buffer): Buffer {
  if (isUtf8(bytes)) return bytes;
  const unfolded = Buffer.from(bytes.toString('latin1').replace(/\r?\n[ \t]/g, ''), 'latin1');
  return isUtf8(unfolded) ? unfolded : bytes;
}

/** @throws FileRefused where there is none */
function calendars(components: readonly Component[]): readonly Component[] {
  const found = components.filter(({ name }) => name === 'VCALENDAR');
  if (found.length === 0) throw new FileRefused('corrupt_input', 'There is no calendar in the file.');
  return found;
}

/** @throws FileRefused where there is none */
function cards(components: readonly Component[]): readonly Component[] {
  const found = components.filter(({ name }) => name === 'VCARD');
  if (found.length === 0) throw new FileRefused('corrupt_input', 'There is no address card in the file.');
  return found;
}

function titleOf([first]: readonly Component[]): string {
  if (source === 'vcf') return 'Address cards';
  return (first === undefined ? '' : firstText(first, 'x-wr-calname')) || 'Calendar';
}

function piecesOf(entries: readonly PimRecord[], title: string): Iterable<string> {
  if (target === 'html') return recordsPage(title, entries);
  if (target === 'txt') return recordsText(entries);
  const rows = entries.map(({ fields }) => rowOf(fields));
  return [(target === 'csv' ? csv : json).write(rows).text];
}

/** Lists stay lists in JSON, and become one text in a cell of CSV. */
function rowOf(fields: PimRecord['fields']): Entries {
  return fieldsFrom(Object.entries(fields).map(([column, field]) => [column, target === 'csv' ? asLine(field) : asDatum(field)]));
}

function warningsOf(skipped: number, unended: number, entries: readonly PimRecord[]): readonly Told[] {
  const pictures = target === 'html' ? 0 : entries.filter(({ picture }) => picture !== undefined).length;
  return lossy([
    ...(skipped === 0 ? [] : [`Lines that cannot be read were left out: ${skipped}.`]),
    ...(unended === 0 ? [] : [`Parts of the file that have no end may lack something: ${unended}.`]),
    ...(pictures === 0 ? [] : [`Photos are not included in the result: ${pictures}.`]),
  ]);
}
