/**
 * An e-mail, a mailbox of them, or a web page that was saved as one, as a page or as plain text.
 *
 *   mail.ts INPUT eml|mbox|msg|mhtml OUTPUT html|txt
 *
 * Pictures that the text shows are inside the page; other attached files are named. The page runs nothing and loads nothing. Prints an answer as residents
 * give: warnings, or why the file is refused.
 */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { escaped, htmlOf, plainTextOf } from './mail/body.ts';
import { type MailedFile, type Message, messagesIn } from './mail/messages.ts';
import { outlookMessage } from './mail/outlook.ts';
import { webArchiveIn } from './mail/web-archive.ts';
import { webPageOf } from './mail/web-page.ts';
import { answering, lossy, type Told } from './values/answer.ts';

const VERSION = '1.0';
/** The policy keeps the page from loading anything: a sender does not learn that it was opened. */
const HEAD = `<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>TITLE</title>
<style>
body { font-family: sans-serif; margin: 2em }
.mail-head { border-collapse: collapse; margin-bottom: 1.5em }
.mail-head th { text-align: left; vertical-align: top; padding: 0.1em 1em 0.1em 0; font-weight: bold }
hr { margin: 2em 0 }
</style>
</head>
<body>
`;

const [input = '', source = '', output = '', target = ''] = process.argv.slice(2);

if (input === '--version') process.stdout.write(`mail ${VERSION}\n`);
else await answering(() => (source === 'mhtml' ? writeWebPage() : writeMessages()));

async function writeMessages(): Promise<readonly Told[]> {
  const bytes = readFileSync(input);
  const messages = source === 'msg' ? [outlookMessage(bytes)] : await messagesIn(bytes, source === 'mbox');
  const file = openSync(output, 'wx');
  let left = 0;
  if (target === 'html')
    writeSync(
      file,
      HEAD.replace('TITLE', () => escaped(messages[0]?.subject ?? '')),
    );
  for (const [i, message] of messages.entries()) {
    const { fragment, shown } = htmlOf(message);
    const rest = message.files.filter((each) => !shown.has(each));
    left += rest.length;
    writeSync(file, target === 'html' ? page(message, fragment(), rest, i) : plain(message, rest, i));
  }
  if (target === 'html') writeSync(file, '</body>\n</html>\n');
  closeSync(file);
  return lossy(left === 0 ? [] : [`Attached files are named, and not part of the result: ${left}.`]);
}

async function writeWebPage(): Promise<readonly Told[]> {
  const archive = await webArchiveIn(readFileSync(input));
  const { frames, told, words, write } = webPageOf(archive);
  const fields = archive.fields.map(([name, value]) => `${name}: ${value}\n`).join('');
  writeFileSync(output, target === 'html' ? write(headOf(archive.fields)) : `${fields === '' ? '' : `${fields}\n`}${words()}`);
  return [...told, ...lossy(frames === 0 ? [] : [`Frames of the page are not part of the result: ${frames}.`])];
}

/** @param rest files that are only named */
function page(message: Message, fragment: string, rest: readonly MailedFile[], index: number): string {
  return `${index === 0 ? '' : '<hr>\n'}${headOf(fieldsWith(message, rest))}${fragment}\n`;
}

function headOf(fields: readonly (readonly [string, string])[]): string {
  const rows = fields.map(([name, value]) => `<tr><th>${name}</th><td>${escaped(value)}</td></tr>\n`);
  return rows.length === 0 ? '' : `<table class="mail-head">\n${rows.join('')}</table>\n`;
}

function plain(message: Message, rest: readonly MailedFile[], index: number): string {
  const fields = fieldsWith(message, rest).map(([name, value]) => `${name}: ${value.replace(/\s+/g, ' ')}\n`);
  return `${index === 0 ? '' : '\n\f'}${fields.join('')}\n${plainTextOf(message)}`;
}

function fieldsWith({ fields }: Message, files: readonly MailedFile[]): readonly (readonly [string, string])[] {
  const named = files.map(({ name, bytes }) => `${name} (${sizeOf(bytes.length)})`).join(', ');
  return [...fields, ...(files.length === 0 ? [] : [['Attachments', named] as const])];
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}
