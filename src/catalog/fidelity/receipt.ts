/** The receipt of a conversion: what its source had, and what of it the result has. */
import type { Facts } from '../engine.ts';
import { AUDIO, VIDEO } from '../engines/media/ffmpeg/containers.ts';
import type { AudioStream, MediaFacts } from '../engines/media/ffmpeg/streams.ts';
import type { Options } from '../options/options.ts';
import { type Contents, kindsOf } from '../planning/contents/measure.ts';
import { type PictureHeader, pictureOf } from '../planning/headers/picture.ts';
import { hasPictureHeader } from '../planning/headers/read.ts';
import { archiveProperties, RICH_ARCHIVE } from './archive.ts';
import { documentProperties, documentSides, linksProperty, RICH_DOCUMENT, textProperty, unsureTextProperty } from './document.ts';
import { compare, type FidelityProperty, type JudgedProperty } from './fidelity.ts';
import { fontProperties, RICH_FONT } from './font.ts';
import { mailProperties, mailSides, RICH_MAIL } from './mail.ts';
import { modelProperties, RICH_MODEL } from './model.ts';
import { pictureProperties } from './picture.ts';
import { filmReceipt, type RecordingSide, soundReceipt } from './recording.ts';
import { printedProperties, RICH_TABLE, tableProperties } from './table.ts';

/**
 * @param source what the judge and the engine found in the source, and `result` in the result @param target its format
 * @returns undefined where not both are of a kind that is measured: a page that becomes a picture has no properties in common with it
 */
export function receiptOf(source: Facts, result: Facts, options: Options, target: string): readonly JudgedProperty[] | undefined {
  const [picture, made] = [pictureOf(source), pictureOf(result)];
  if (picture !== undefined && made !== undefined) return compare(pictureProperties, picture, made, options, target);
  const [recording, media] = [recordingOf(source), recordingOf(result)];
  if (recording === undefined || media === undefined) return contentsReceipt(contentsIn(source), contentsIn(result), options, target);
  const asked: RecordingSide = { ...recording, track: options.track ?? options.audio_track };
  if (target in AUDIO) return compare(soundReceipt, asked, media, options, target);
  return target in VIDEO ? compare(filmReceipt, asked, media, options, target) : undefined;
}

/** The receipt of files that are neither pictures nor recordings. A table is compared as one where both files are, and else by its text; so is an e-mail, with its headers. */
function contentsReceipt(source: Contents, result: Contents, options: Options, target: string): readonly JudgedProperty[] | undefined {
  const { document, table, archive, font, model } = result;
  if (source.archive && archive) return compare(archiveProperties, source.archive, archive, options, target);
  if (source.font && font) return compare(fontProperties, source.font, font, options, target);
  if (source.model && model) return compare(modelProperties, source.model, model, options, target);
  if (source.mail && source.document && (document ?? archive))
    return compare(mailProperties, ...mailSides(source.mail, source.document, result), options, target);
  if (source.document === undefined || document === undefined) return undefined;
  const sides = documentSides(source.document, document);
  if (source.table === undefined) return compare(documentProperties, ...sides, options, target);
  if (table === undefined)
    return [
      ...compare(printedProperties, source.table, {}, options, target),
      ...compare([unsureTextProperty, ...documentProperties.slice(1)], ...sides, options, target),
    ];
  const about = documentProperties.filter((property) => property !== textProperty && property !== linksProperty);
  return [
    ...compare(tableProperties, source.table, table, options, target),
    // Sheets and rows that are hidden may have all of the words.
    ...compare([unsureTextProperty, ...about], ...sides, options, target),
  ];
}

/** With the words that an engine has read, where it has. */
function contentsIn({ contents, words, joined = [] }: Facts): Contents {
  const { document, ...others } = (contents as Contents | undefined) ?? {};
  if (document === undefined) return others;
  if (words === undefined) return { ...others, document };
  return { ...others, document: { ...document, words: words as readonly string[], joined: joined as readonly string[] } };
}

/** The names of all that a receipt may name. */
export const allProperties: readonly string[] = [
  ...new Set(
    [
      ...[pictureProperties, soundReceipt, filmReceipt, documentProperties, tableProperties],
      ...[mailProperties, archiveProperties, fontProperties, modelProperties],
    ].flatMap((properties) => properties.map(({ name }) => name)),
  ),
];

/** Has all that a picture may have. */
const RICH_PICTURE: PictureHeader = {
  ...{ width: 64, height: 64, orientation: 1, depth: 16, colours: 'rgb', alpha: true, frames: 2, loops: 3, durationMs: 200, density: 300 },
  ...{ profile: true, exif: true, xmp: true, iptc: true, gainMap: false },
};

const RICH_SOUND: AudioStream = {
  index: 1,
  codec: 'flac',
  rate: 192_000,
  channels: 8,
  bits: 24,
  float: false,
  lossless: true,
  bitrate: undefined,
};
/** Has all that a recording may have, but for the pictures of a film. */
const RICH_RECORDING: MediaFacts = {
  ...{
    duration: 1,
    video: [],
    audio: [RICH_SOUND, RICH_SOUND],
    subtitles: [{ index: 3, codec: 'subrip' }],
    covers: [{ index: 4, codec: 'png' }],
  },
  ...{ others: 0, attachments: [], tags: ['title', 'artist', 'album'], chapters: 2, marks: [] },
};

/**
 * @param from @param to formats
 * @returns names of properties that files in the first may have and files in the second cannot; empty for kinds that are not measured
 */
export function propertiesWithoutRoom(from: string, to: string): readonly string[] {
  if (hasPictureHeader(from) && hasPictureHeader(to)) return withoutRoom(pictureProperties, RICH_PICTURE, from, to);
  const isRecording = from in AUDIO || from in VIDEO;
  if (isRecording && to in AUDIO) return withoutRoom(soundReceipt, RICH_RECORDING, from, to);
  if (from in VIDEO && to in VIDEO) return withoutRoom(filmReceipt, RICH_RECORDING, from, to);
  return contentsWithoutRoom(from, to);
}

function contentsWithoutRoom(from: string, to: string): readonly string[] {
  const [source, target] = [kindsOf(from), kindsOf(to)];
  const both = (kind: keyof Contents) => source.has(kind) && target.has(kind);
  if (both('archive')) return lacking(archiveProperties, RICH_ARCHIVE, to);
  if (both('font')) return lacking(fontProperties, RICH_FONT, to);
  if (both('model')) return withoutRoom(modelProperties, RICH_MODEL, from, to);
  if (source.has('mail')) return target.has('document') || target.has('archive') ? lacking(mailProperties, RICH_MAIL, to) : [];
  if (!both('document')) return [];
  const tables = source.has('table') ? withoutRoom(both('table') ? tableProperties : printedProperties, RICH_TABLE, from, to) : [];
  return [...tables, ...withoutRoom(documentProperties, RICH_DOCUMENT, from, to)];
}

/** Those for which the target has no room, whatever the source's format. */
const lacking = <Kind>(properties: readonly FidelityProperty<Kind, Options>[], rich: Kind, to: string): readonly string[] =>
  properties.filter(({ fits }) => !fits(to, rich)).map(({ name }) => name);

/** Whether what a file of one format has is compared with what one of the other has. */
export function areCompared(from: string, to: string): boolean {
  const [source, target] = [kindsOf(from), kindsOf(to)];
  return source.has('mail') ? target.has('document') || target.has('archive') : [...source].some((kind) => target.has(kind));
}

const withoutRoom = <Kind>(
  properties: readonly FidelityProperty<Kind, Options>[],
  rich: Kind,
  from: string,
  to: string,
): readonly string[] => properties.filter(({ fits }) => fits(from, rich) && !fits(to, rich)).map(({ name }) => name);

function recordingOf({ media, cutOff }: Facts): MediaFacts | undefined {
  return media === undefined ? undefined : { ...(media as MediaFacts), cutOff: cutOff === true };
}
