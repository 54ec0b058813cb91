/**
 * An e-mail, a mailbox of them, or a web page that was saved as one, as a page, as plain text, or as a ZIP of the page and the attached files.
 *
 *   mail.ts INPUT eml|mbox|msg|mhtml OUTPUT html|txt|zip
 *
 * Pictures that the text shows are inside the page; other attached files are named. The page runs nothing and loads nothing. Prints an answer as residents
 * give: warnings, or why the file is refused.
 */
import { readFileSync } from 'node:fs';
import { namesCollide } from '../../../catalog/archive-phrases.ts';
import { type EntryNames, entryNames } from '../archives/entry-names.ts';
import { zipOf } from '../archives/zip.ts';
import { beyond } from '../data/values/value.ts';
import { answering, lossy, type Told } from '../process/answer.ts';
import { writePieces } from '../process/pieces.ts';
import { escaped } from '../text/html.ts';
import { QUIET_FOOT, quietHead } from '../text/quiet-page.ts';
import { htmlOf, plainTextOf } from './mail/body.ts';
import { type MailedFile, type Message, messagesIn } from './mail/messages.ts';
import { attachedName } from './mail/names.ts';
import { outlookMessage } from './mail/outlook.ts';
import { type PictureUrls, picturesOf } from './mail/shown.ts';
import { type WebArchive, webArchiveIn } from './mail/web-archive.ts';
import { type WebPage, webPageOf } from './mail/web-page.ts';

const VERSION = '1.0';
/** In one archive. */
const MOST_FILES = 10_000;
const STYLES = `.mail-head { border-collapse: collapse; margin-bottom: 1.5em }
.mail-head th { text-align: left; vertical-align: top; padding: 0.1em 1em 0.1em 0; font-weight: bold }
hr { margin: 2em 0 }`;

type Fields = readonly (readonly [string, string])[];
interface Entry {
  readonly name: string;
  readonly bytes: Buffer;
}

const [input = '', source = '', output = '', target = ''] = process.argv.slice(2);

if (input === '--version') process.stdout.write(`mail ${VERSION}\n`);
else
  await answering(async () => {
    const file = readFileSync(input);
    if (source === 'mhtml') return writeWebPage(await webArchiveIn(file));
    return writeMessages(source === 'msg' ? [await outlookMessage(file)] : await messagesIn(file, source === 'mbox'));
  });

function writeMessages(messages: readonly Message[]): readonly Told[] {
  const damaged = messages.flatMap(withAttached).filter(({ isDamaged }) => isDamaged).length;
  const lost = damaged === 0 ? [] : [`Texts in RTF that are damaged are not part of the result: ${damaged}.`];
  const guesses = [...new Set(messages.flatMap(({ guessed }) => guessed ?? []))];
  const said = guesses.map((guessed) => ({
    code: 'charset_guessed',
    message: `The e-mail does not name the encoding of its text: it was read as ${guessed}.`,
  }));
  if (target === 'zip') {
    const names = entryNames({ forWindows: true });
    writePieces(output, zipOf(bounded(entriesOf(messages, names))));
    return [...said, ...lossy(lost), ...namesCollide(names.changes.apart)];
  }
  const left: MailedFile[] = [];
  writePieces(
    output,
    target === 'html' ? document(messages[0]?.subject ?? '', messagePages(messages, left, picturesOf())) : messageTexts(messages, left),
  );
  return [
    ...said,
    ...lossy([...lost, ...(left.length === 0 ? [] : [`Attached files are listed, but not included in the result: ${left.length}.`])]),
  ];
}

function writeWebPage(archive: WebArchive): readonly Told[] {
  const page = webPageOf(archive);
  const { fields } = archive;
  const names = entryNames({ forWindows: true });
  if (target === 'zip') writePieces(output, zipOf(bounded(entriesOfPage(archive, page, names))));
  else
    writePieces(output, [
      target === 'html' ? page.write(headOf(fields)) : `${plain(fields)}${fields.length === 0 ? '' : '\n'}${page.words()}`,
    ]);
  return [
    ...page.told,
    ...lossy(page.frames === 0 ? [] : [`Frames of the page are not included in the result: ${page.frames}.`]),
    ...namesCollide(names.changes.apart),
  ];
}

function* document(title: string, pages: Iterable<string>): Generator<string> {
  yield quietHead(title, STYLES);
  yield* pages;
  yield QUIET_FOOT;
}

/** Attached messages follow the one that they came with. */
function withAttached(message: Message): readonly Message[] {
  return [message, ...message.files.flatMap((file) => (file.message === undefined ? [] : withAttached(file.message)))];
}

/** @param left is added the files that are only named */
function* messagePages(messages: readonly Message[], left: MailedFile[], pictures: PictureUrls): Generator<string> {
  for (const [i, message] of messages.flatMap(withAttached).entries()) {
    const { fragment, shown } = htmlOf(message, pictures);
    const rest = message.files.filter((each) => !shown.has(each) && each.message === undefined);
    left.push(...rest);
    yield `${i === 0 ? '' : '<hr>\n'}${headOf(fieldsWith(message, rest))}${fragment()}\n`;
  }
}

function* messageTexts(messages: readonly Message[], left: MailedFile[]): Generator<string> {
  for (const [i, message] of messages.flatMap(withAttached).entries()) {
    const { shown } = htmlOf(message, picturesOf());
    const rest = message.files.filter((each) => !shown.has(each) && each.message === undefined);
    left.push(...rest);
    yield `${i === 0 ? '' : '\n\f'}${plain(fieldsWith(message, rest))}\n${plainTextOf(message)}`;
  }
}

/** Each message of a mailbox has a folder. */
function* entriesOf(messages: readonly Message[], names: EntryNames): Generator<Entry> {
  const pictures = picturesOf();
  for (const [i, message] of messages.entries()) {
    const folder = source === 'mbox' ? `${String(i + 1).padStart(4, '0')}/` : '';
    const take = (name: string) => takenName(names, name, folder);
    const page = [...document(message.subject, messagePages([message], [], pictures))].join('');
    yield { name: take('message.html'), bytes: Buffer.from(page) };
    for (const { name, bytes } of message.files) yield { name: take(name), bytes };
  }
}

function* entriesOfPage({ fields, parts }: WebArchive, page: WebPage, names: EntryNames): Generator<Entry> {
  const take = (name: string) => takenName(names, name);
  yield { name: take('page.html'), bytes: Buffer.from(page.write(headOf(fields))) };
  for (const { name, bytes } of parts) yield { name: take(name), bytes };
}

/** A name of which nothing is left, such as a drive's, is that of any file. */
function takenName(names: EntryNames, name: string, folder = ''): string {
  return names.take(`${folder}${attachedName(name)}`) || names.take(`${folder}file`) || 'file';
}

function* bounded(entries: Iterable<Entry>): Generator<Entry> {
  let count = 0;
  for (const entry of entries) {
    if (++count > MOST_FILES) throw beyond('files', MOST_FILES);
    yield entry;
  }
}

function headOf(fields: Fields): string {
  const rows = fields.map(([name, value]) => `<tr><th>${name}</th><td>${escaped(value)}</td></tr>\n`);
  return rows.length === 0 ? '' : `<table class="mail-head">\n${rows.join('')}</table>\n`;
}

function plain(fields: Fields): string {
  return fields.map(([name, value]) => `${name}: ${value.replace(/\s+/g, ' ')}\n`).join('');
}

function fieldsWith({ fields }: Message, files: readonly MailedFile[]): Fields {
  const named = files.map(({ name, bytes }) => `${name} (${sizeOf(bytes.length)})`).join(', ');
  return [...fields, ...(files.length === 0 ? [] : [['Attachments', named] as const])];
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}
