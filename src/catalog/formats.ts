/** All file formats that filemill supports, by id, extension and name. */
import { archives } from './formats/archive.ts';
import { sounds } from './formats/audio.ts';
import { data } from './formats/data.ts';
import { documents } from './formats/documents.ts';
import { fonts } from './formats/font.ts';
import type { Format } from './formats/format.ts';
import { pictures } from './formats/image.ts';
import { markups } from './formats/markup.ts';
import { models } from './formats/models.ts';
import { subtitles } from './formats/subtitles.ts';
import { videos } from './formats/video.ts';

export type { Format } from './formats/format.ts';

const TABLE: readonly Format[] = [
  ...pictures,
  ...sounds,
  ...videos,
  ...subtitles,
  ...documents,
  ...markups,
  ...data,
  ...archives,
  ...fonts,
  ...models,
];

export const formats: ReadonlyMap<string, Format> = new Map(TABLE.map((row) => [row.id, row]));

const byExtension: ReadonlyMap<string, Format> = new Map(
  TABLE.flatMap((row) => [row.id, ...row.aliases].map((extension) => [extension, row])),
);

/** @param id canonical, from our own code @throws an Error if there is no such format, which is a bug in the catalog */
export function formatOf(id: string): Format {
  const row = formats.get(id);
  if (row === undefined) throw new Error(`the catalog has no format ${id}`);
  return row;
}

/** Whether no test can convert one, since no free program writes it. */
export const isUnproven = (id: string): boolean => formatOf(id).unproven === true;

/** The format of an extension, with or without dot, in upper or lower case. */
export const formatByExtension = (extension: string): Format | undefined => byExtension.get(extension.replace(/^\./, '').toLowerCase());

/** The format that a file's name claims: its last extension, or its last two as one. */
export function formatByName(filename: string): Format | undefined {
  const dot = filename.lastIndexOf('.');
  if (dot < 0) return undefined;
  const two = filename.slice(filename.lastIndexOf('.', dot - 1) + 1);
  return formatByExtension(two) ?? formatByExtension(filename.slice(dot + 1));
}

/** All formats of a tie group, in the order of the table. */
export const tieGroup = (tie: string): readonly Format[] => TABLE.filter((row) => row.tie === tie);
