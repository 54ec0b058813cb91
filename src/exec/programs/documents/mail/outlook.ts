/** A message as Outlook stores it: a compound file of properties ([MS-OXMSG]). */
import msgreader, { type FieldsData as Fields } from '@kenjiuno/msgreader';
import { FileRefused } from '../../data/values/value.ts';
import { type MailedFile, type Message, MOST_ATTACHED, MOST_INSIDE } from './messages.ts';
import { type RtfText, textInRtf } from './rtf.ts';

/** @param level how many messages it is attached in */
export async function outlookMessage(file: Buffer, level = 0): Promise<Message> {
  // A module of CommonJS: its default export is a property.
  const reader = new msgreader.default(new Uint8Array(file).buffer);
  const found = reader.getFileData();
  if (found.dataType !== 'msg') throw new FileRefused('corrupt_input');
  const files: MailedFile[] = [];
  for (const [i, attachment] of (found.attachments ?? []).entries()) {
    const { fileName, content } = reader.getAttachment(attachment);
    const bytes = Buffer.from(content);
    const isRead = attachment.innerMsgContent === true && level < MOST_INSIDE && i < MOST_ATTACHED;
    files.push({
      name: fileName === '' ? `part-${i + 1}` : fileName,
      type: attachment.attachMimeTag ?? typeOf(fileName),
      id: attachment.pidContentId,
      bytes,
      ...(isRead ? { message: await outlookMessage(bytes, level + 1) } : {}),
    });
  }
  const html = htmlIn(found);
  const { compressedRtf = new Uint8Array() } = found;
  // It has the formatting where there is no HTML, and all of the text where there is nothing else.
  const rtf: RtfText | undefined =
    html !== undefined || compressedRtf.length === 0 ? {} : await textInRtf(compressedRtf, (bytes, page) => decoderOf(page).decode(bytes));
  const text = { html: html ?? rtf?.html, text: found.body ?? rtf?.text, isDamaged: rtf === undefined };
  return { fields: fieldsOf(found), subject: found.subject ?? '', ...text, files };
}

/** What its text shows has no type more often than not. */
function typeOf(name: string): string {
  const extension = /\.(png|jpe?g|gif|webp|bmp)$/i.exec(name)?.[1]?.toLowerCase();
  return extension === undefined ? 'application/octet-stream' : `image/${extension.replace('jpg', 'jpeg')}`;
}

/** As a text, or as bytes in the message's code page. */
function htmlIn({ bodyHtml, html, internetCodepage = 65_001 }: Fields): string | undefined {
  if (bodyHtml !== undefined || html === undefined) return bodyHtml;
  return decoderOf(internetCodepage).decode(html);
}

/** Windows' numbers of encodings that have another name. */
const ENCODINGS: Readonly<Record<number, string>> = {
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  1200: 'utf-16le',
  20866: 'koi8-r',
  21866: 'koi8-u',
  50220: 'iso-2022-jp',
  51932: 'euc-jp',
  54936: 'gb18030',
};

function decoderOf(page: number): TextDecoder {
  const iso = page > 28_590 && page < 28_606 ? `iso-8859-${page - 28_590}` : undefined;
  const windows = page >= 1250 && page <= 1258 ? `windows-${page}` : undefined;
  return new TextDecoder(ENCODINGS[page] ?? iso ?? windows ?? 'utf-8');
}

function fieldsOf(found: Fields): readonly (readonly [string, string])[] {
  const to = (type: string) =>
    (found.recipients ?? [])
      .filter(({ recipType = 'to' }) => recipType === type)
      .map(({ name, smtpAddress, email }) => personOf(name, smtpAddress ?? email))
      .join(', ');
  const fields: readonly (readonly [string, string])[] = [
    ['From', personOf(found.senderName, found.senderSmtpAddress ?? found.senderEmail)],
    ['To', to('to')],
    ['Cc', to('cc')],
    ['Bcc', to('bcc')],
    ['Date', found.messageDeliveryTime ?? found.clientSubmitTime ?? ''],
    ['Subject', found.subject ?? ''],
  ];
  return fields.filter(([, value]) => value !== '');
}

/** Inside a company, an address may be a path of its directory, which says nothing to others. */
function personOf(name = '', address = ''): string {
  const shown = address.includes('@') ? address : '';
  return shown === '' || shown === name ? name || shown : name === '' ? shown : `${name} <${shown}>`;
}
