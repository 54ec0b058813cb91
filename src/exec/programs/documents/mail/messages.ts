/** The messages of a file: one (RFC 5322), or a mailbox of many (RFC 4155). */
import PostalMime, { type Address, type Email } from 'postal-mime';
import { entriesIn, entryRecord } from '../../data/pim/event.ts';
import { componentsIn } from '../../data/pim/lines.ts';
import { beyond, FileRefused } from '../../data/values/value.ts';

import { inUtf8 } from './eight-bit.ts';

export { decodeWords } from 'postal-mime';

/** As pages of a document. */
const MOST_MESSAGES = 2000;
/** Nested parts: more than any mail program writes. */
const MOST_LEVELS = 50;
/** Attached messages that are read: in each other, and among the first files of one. */
export const MOST_INSIDE = 5;
export const MOST_ATTACHED = 100;
/** Events of invitations that are shown. */
const MOST_EVENTS = 20;
/** Bytes of an invitation that is read. */
const MOST_CALENDAR = 1 << 20;

export interface Message {
  /** Names and values, as they are shown above the text. */
  readonly fields: readonly (readonly [string, string])[];
  readonly subject: string;
  readonly html: string | undefined;
  readonly text: string | undefined;
  /** Whether it has a text, or its formatting, that cannot be read. */
  readonly isDamaged?: boolean;
  /** The encoding that it does not name. */
  readonly guessed?: string;
  readonly files: readonly MailedFile[];
}

export interface MailedFile {
  readonly name: string;
  readonly type: string;
  /** Without its brackets; what `cid:` URLs of the text name. */
  readonly id: string | undefined;
  readonly bytes: Buffer;
  /** What it says, where it is a message itself. */
  readonly message?: Message;
}

/** @param isMailbox whether the file begins with a line `From ` */
export async function messagesIn(file: Buffer, isMailbox: boolean): Promise<readonly Message[]> {
  const parts = isMailbox ? split(file) : [file];
  const messages: Message[] = [];
  for (const part of parts) {
    const { bytes, guessed } = inUtf8(part);
    const message = await messageIn(bytes);
    messages.push(guessed === undefined ? message : { ...message, guessed });
  }
  return messages;
}

const SEPARATOR = Buffer.from('\nFrom ');

/** Where a message of a mailbox begins, the line before it is empty; a line of a text that begins so has a `>` before it. */
function split(file: Buffer): Buffer[] {
  const starts = file.subarray(0, 5).equals(SEPARATOR.subarray(1)) ? [0] : [];
  for (let at = file.indexOf(SEPARATOR); at >= 0; at = file.indexOf(SEPARATOR, at + 1)) {
    const isAfterEmpty = file[at - 1] === 0x0a || (file[at - 1] === 0x0d && file[at - 2] === 0x0a);
    if (isAfterEmpty) starts.push(at + 1);
    if (starts.length > MOST_MESSAGES) throw beyond('messages', MOST_MESSAGES);
  }
  return starts.map((start, i) => {
    const end = starts[i + 1] ?? file.length;
    const line = file.indexOf('\n', start);
    return file.subarray(line < 0 || line > end ? end : line + 1, end);
  });
}

/** @param level how many messages it is attached in */
async function messageIn(bytes: Buffer, level = 0): Promise<Message> {
  const mail = await PostalMime.parse(bytes, { maxNestingDepth: MOST_LEVELS, rfc822Attachments: true }).catch((error: unknown) => {
    // It tells what is too large or too deep.
    if (error instanceof Error && /exceeded/.test(error.message))
      throw new FileRefused('input_limit', `The e-mail is too complex: ${error.message}.`);
    throw error;
  });
  const files = mail.attachments.map(
    ({ filename, mimeType, contentId, content }, i): MailedFile => ({
      name: filename ?? `part-${i + 1}${endingOf(mimeType)}`,
      type: mimeType,
      id: contentId?.replace(/^<|>$/g, ''),
      bytes: typeof content === 'string' ? Buffer.from(content) : Buffer.from(content as ArrayBuffer),
    }),
  );
  const read = await Promise.all(files.map((file, i) => (level < MOST_INSIDE && i < MOST_ATTACHED ? withMessage(file, level) : file)));
  const events = await Promise.all(files.map(eventsIn));
  const fields = [...fieldsOf(mail), ...events.flat().slice(0, MOST_EVENTS)];
  return { fields, subject: mail.subject ?? '', html: mail.html, text: mail.text, files: read };
}

async function withMessage(file: MailedFile, level: number): Promise<MailedFile> {
  if (file.type !== 'message/rfc822') return file;
  const message = await ifReadable(() => messageIn(file.bytes, level + 1));
  if (message === undefined) return file;
  return { ...file, name: file.name.startsWith('part-') && message.subject !== '' ? `${message.subject}.eml` : file.name, message };
}

/** @returns undefined for an attached file that cannot be read: the message is converted without it */
async function ifReadable<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FileRefused) return undefined;
    throw error;
  }
}

/** The events of an attached invitation. */
async function eventsIn({ type, bytes }: MailedFile): Promise<readonly (readonly [string, string])[]> {
  if (type !== 'text/calendar' || bytes.length > MOST_CALENDAR) return [];
  const found = await ifReadable(() => componentsIn(bytes.toString()));
  return (found?.components ?? [])
    .flatMap(entriesIn)
    .map(entryRecord)
    .map(({ title, fields }) => {
      const [start, end, zone, endZone] = ['start', 'end', 'time_zone', 'end_time_zone'].map((name) => String(fields[name]));
      const places = [zone, endZone].filter((each) => each !== '').join(' to ');
      const times = [start, end].filter((time) => time !== '').join(' to ');
      return [
        'Event',
        [title, places === '' ? times : `${times} (${places})`, fields['location']].filter((part) => part !== '').join(', '),
      ];
    });
}

/** Pictures that a text shows have no name more often than not. */
function endingOf(type: string): string {
  if (type === 'text/calendar') return '.ics';
  const kind = /^image\/(png|jpeg|gif|webp|bmp)$/.exec(type)?.[1];
  return kind === undefined ? '' : `.${kind.replace('jpeg', 'jpg')}`;
}

function fieldsOf(mail: Email): readonly (readonly [string, string])[] {
  const fields: readonly (readonly [string, string])[] = [
    ['From', mail.from === undefined ? '' : shown([mail.from])],
    ['To', shown(mail.to)],
    ['Cc', shown(mail.cc)],
    ['Bcc', shown(mail.bcc)],
    ['Reply-To', shown(mail.replyTo)],
    // As it was written, with the sender's time zone.
    ['Date', mail.headers.find(({ key }) => key === 'date')?.value.trim() ?? ''],
    ['Subject', mail.subject ?? ''],
  ];
  return fields.filter(([, value]) => value !== '');
}

const shown = (addresses: readonly Address[] = []): string => addresses.map(addressOf).join(', ');

function addressOf({ name, address, group }: Address): string {
  if (group !== undefined) return `${name}: ${group.map(addressOf).join(', ')};`;
  return name === '' || name === address ? (address ?? '') : `${name} <${address}>`;
}
