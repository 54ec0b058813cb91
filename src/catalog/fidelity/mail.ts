/** What an e-mail has that its result should have too, and which formats can contain it. */
import type { Options } from '../options/options.ts';
import type { DocumentFacts } from '../planning/contents/documents/facts.ts';
import type { ArchiveFacts } from '../planning/contents/others/archive.ts';
import type { MailFacts } from '../planning/contents/others/mail.ts';
import { among, counted } from './counted.ts';
import { type DocumentSide, documentSides, unsureTextProperty } from './document.ts';
import type { FidelityProperty } from './fidelity.ts';

/** The message, or the page, the text or the archive that was made of it. */
export interface MailSide extends DocumentSide {
  /** Names of headers that are there. */
  readonly headers: readonly string[] | undefined;
  readonly files: number | undefined;
  readonly shown: number | undefined;
}

type MailProperty = FidelityProperty<MailSide, Options>;

export const mailProperties: readonly MailProperty[] = [
  {
    name: 'headers',
    show: ({ headers }) => (headers === undefined || headers.length === 0 ? undefined : headers.join(', ')),
    same: (source, result) => (source.headers ?? []).every((name) => result.headers?.includes(name)),
    unsure: (_, { headers }) => headers === undefined,
    fits: () => true,
  },
  unsureTextProperty,
  counted({ name: 'attached_files', count: ({ files }) => files, fits: among('zip') }),
  {
    ...counted<MailSide, Options>({ name: 'inline_pictures', count: ({ shown }) => shown, fits: among('zip html') }),
    // One that is shown twice may be stored once, and one may be left where it is.
    unsure: (_, { shown }) => shown !== 0,
  },
];

/** @param archive of a result that is one @param document of a result that is a text */
export function mailSides(
  mail: MailFacts,
  text: DocumentFacts,
  { archive, document = {} }: { readonly archive?: ArchiveFacts | undefined; readonly document?: DocumentFacts | undefined },
): readonly [MailSide, MailSide] {
  const [source, result] = documentSides(text, document);
  const names = Object.keys(mail.headers);
  const { words } = document;
  const there = new Set(words);
  const found = names.filter((name) => mail.headers[name]?.every((word) => there.has(word)));
  // In an archive each file is an entry, beside the page of the message.
  const files = archive === undefined ? 0 : archive.files - 1;
  return [
    { ...source, headers: names, files: mail.attachments, shown: mail.inlinePictures },
    { ...result, headers: words && found, files, shown: archive === undefined ? document.pictures : files - mail.attachments },
  ];
}

/** Has all that an e-mail may have. */
export const RICH_MAIL: MailSide = { found: 100, headers: ['from', 'subject'], files: 1, shown: 1 };
