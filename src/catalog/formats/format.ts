/** What is known of a file format, and the rows of the tables. */

import type { SearchWords } from '../../contracts/search-words.ts';
import type { Family } from '../../contracts/toolchains.ts';
import type { Sample } from '../looks/sample.ts';

export interface Format {
  /** Canonical extension, which is also the format's id everywhere in the code. */
  readonly id: string;
  /** As people know it: a proper name, the same in every language. */
  readonly name: string;
  readonly family: Family;
  /** IANA media type, or the usual one. */
  readonly mime: string;
  /** What else people look for it by, beside its name and extensions. */
  readonly search?: SearchWords;
  /** Other extensions of the same format. */
  readonly aliases: readonly string[];
  /** Whether a file contains one picture or page, or many. */
  readonly holds: 'one' | 'many';
  /** No side is longer than 256 px: too small for OCR. */
  readonly tiny?: boolean;
  /** The beginnings of its files, any of which is enough. Unset: `looks`, `zip` or a sniffer of its container recognises them. */
  readonly signatures?: readonly Signature[];
  /** Whether a file has a plausible header, where bytes at its beginning are too short to be sure. Tried after all signatures, in the order of the tables. */
  readonly looks?: (sample: Sample) => boolean;
  /** How a ZIP is recognised as this format. `mimetype`: its first part holds the media type; a pattern: the name of its main part, beside `[Content_Types].xml`. */
  readonly zip?: 'mimetype' | RegExp;
  /** How files that we write in it begin, where detection would say something else: its readers run code in it, so that it is never opened, or its content may make it another format. */
  readonly writtenAs?: string;
  /** Group of formats whose content cannot be distinguished: within it, the file's name or `from_format` decides. */
  readonly tie?: string;
  /** Text with a structure that plain text cannot have by chance: an extension alone does not make a text one. */
  readonly structured?: true;
  /** Group of related formats that are often named for each other, which needs no warning. */
  readonly kin?: string;
  /** Formats that each of its files is valid as, too. */
  readonly also?: readonly string[];
  /** How many people have such files. A rare format is converted from and to common ones only: every rare one to every other would be pairs without a use. */
  readonly use?: 'common' | 'rare';
  /** No free program writes such a file, so that no test converts one: it is accepted, and listed apart. */
  readonly unproven?: true;
  /** Chains of conversions may pass through it, since it holds nearly everything that its neighbours hold: from every format, or from pictures too. */
  readonly carries?: 'documents' | 'everything';
}

/** Bytes as Latin-1 characters, at the beginning or each at its offset. */
export type Signature = string | readonly (readonly [at: number, bytes: string])[];

export type Traits = Omit<Partial<Format>, 'id' | 'name' | 'family' | 'mime'>;

export const format = (family: Family, id: string, name: string, mime: string, traits: Traits = {}): Format => ({
  id,
  name,
  family,
  mime,
  aliases: [],
  holds: 'one',
  ...traits,
});
