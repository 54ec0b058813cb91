/** The language of `native/vips-server` (operations.c): operations of libvips on numbered images, and what is known of an image. */
import { PictureRefusal, refusalFor } from './request.ts';

/** An image that the program keeps under this number. */
export interface Image {
  readonly place: number;
}

type Value = string | number | boolean | readonly number[] | Image | readonly Image[];
/** By libvips' names. */
export type Properties = Readonly<Record<string, Value>>;
/** What the program is told, and replies. */
export type Talk<Result> = Generator<string, Result, string>;

export interface ImageHeader {
  readonly width: number;
  /** Height of all frames together: libvips stores them as one tall picture. */
  readonly height: number;
  readonly bands: number;
  /** Nicknames of libvips, as `uchar` and `srgb`. */
  readonly format: string;
  readonly space: string;
  readonly alpha: boolean;
  /** Its rows can be read once, from the top. */
  readonly sequential: boolean;
  /** `height` unless there are several frames of one height. */
  readonly pageHeight: number;
  /** What the file says, if it does. */
  readonly stated: {
    readonly pageHeight: number | undefined;
    readonly pages: number | undefined;
    /** EXIF: 1 to 8. */
    readonly orientation: number | undefined;
    /** In an AVIF, the item that is meant to be shown. */
    readonly primary: number | undefined;
    readonly profile: boolean;
    readonly timing: boolean;
    readonly gainMap: boolean;
  };
}

/** Longer lines are sent before more is added: the program takes 64 KiB. */
const LONG = 16 * 1024;

/** Collects operations, and sends them when something must be known of their result. libvips works on pixels only when it saves. */
export class Session {
  private pending: string[] = [];
  private length = 0;
  private places = 0;

  /** One whose result is an image. */
  run(operation: string, properties: Properties): Image {
    const image = { place: this.places++ };
    this.add(`${image.place}=${operation}${written(properties)}`);
    return image;
  }

  save(operation: string, properties: Properties): void {
    this.add(operation + written(properties));
  }

  /** The same image with fields of its metadata set, or removed where the value is undefined. */
  meta(image: Image, fields: Readonly<Record<string, number | undefined>>): Image {
    const changed = { place: this.places++ };
    const words = Object.entries(fields).map(([name, value]) => ` ${name}=${value ?? ''}`);
    this.add(`${changed.place}=meta in@${image.place}${words.join('')}`);
    return changed;
  }

  /** The same image with what EXIF and IPTC say of another. */
  said(image: Image, other: Image): Image {
    const changed = { place: this.places++ };
    this.add(`${changed.place}=meta in@${image.place} exif@${other.place} iptc@${other.place}`);
    return changed;
  }

  /** All pixels are computed, and can be read in any order. */
  memory(image: Image): Image {
    return this.meta(this.run('memory', { in: image }), { 'vips-sequential': undefined });
  }

  /** What has been made since, except for one image, is forgotten. @param first the first place to forget */
  settle(image: Image, first: number): Image {
    this.add(`${first}=memory in@${image.place}`);
    this.forget(first + 1);
    return { place: first };
  }

  /** @param first the first place to forget */
  forget(first: number): void {
    for (let place = first; place < this.places; place++) this.add(`drop ${place}`);
    this.places = first;
  }

  get nextPlace(): number {
    return this.places;
  }

  *look(image: Image): Talk<ImageHeader> {
    return headerIn(yield* this.send(`info ${image.place}`));
  }

  /** @throws PictureRefusal if an operation failed */
  *send(last?: string): Talk<string> {
    if (last !== undefined) this.add(last);
    if (this.pending.length === 0) return '';
    const line = this.pending.join(' ; ');
    this.pending = [];
    this.length = 0;
    const reply = yield line;
    if (/^ok\b/.test(reply)) return reply;
    throw refusalFor(reply.replace(/^error /, ''));
  }

  *sendIfLong(): Talk<void> {
    if (this.length > LONG) yield* this.send();
  }

  /** @returns undefined if the operation fails, as with a broken profile @throws PictureRefusal if an earlier one failed */
  *attempt(operation: string, properties: Properties): Talk<Image | undefined> {
    yield* this.send();
    const image = { place: this.places++ };
    return /^ok\b/.test(yield `${image.place}=${operation}${written(properties)}`) ? image : undefined;
  }

  /** @returns whether it could be saved @throws PictureRefusal if an earlier operation failed */
  *trySave(operation: string, properties: Properties): Talk<boolean> {
    yield* this.send();
    return /^ok\b/.test(yield operation + written(properties));
  }

  private add(operation: string): void {
    this.pending.push(operation);
    this.length += operation.length;
  }
}

const isImage = (value: unknown): value is Image => typeof value === 'object' && value !== null && 'place' in value;

function written(properties: Properties): string {
  return Object.entries(properties)
    .map(([name, value]) => ` ${name}${assigned(value)}`)
    .join('');
}

function assigned(value: Value): string {
  if (isImage(value)) return `@${value.place}`;
  if (!Array.isArray(value)) return `=${encodeURIComponent(String(value))}`;
  return value.every(isImage) ? `@@${value.map(({ place }) => place).join(',')}` : `=${encodeURIComponent(value.join(' '))}`;
}

/** Above what libvips takes for a side. */
const MOST = 2 ** 31;
/** More than any picture that we convert has on its way. Lists of colours are as long as this says. */
const MOST_BANDS = 16;

/** @throws PictureRefusal if the reply is none: a hostile picture may have taken its process over */
function headerIn(reply: string): ImageHeader {
  const words = new Map(
    reply.split(' ').map((word): [string, string] => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  );
  const number = (name: string): number | undefined => {
    const value = Number(words.get(name) ?? Number.NaN);
    return Number.isInteger(value) && Math.abs(value) < MOST ? value : undefined;
  };
  const count = (name: string): number => {
    const value = number(name);
    if (value === undefined || value < 1) throw new PictureRefusal('corrupt_input', `no ${name} in ${reply.slice(0, 200)}`);
    return value;
  };
  const [width, height, bands] = [count('width'), count('height'), count('bands')];
  if (bands > MOST_BANDS) throw new PictureRefusal('corrupt_input', `${bands} bands, at most ${MOST_BANDS}`);
  return {
    width,
    height,
    bands,
    format: words.get('format') ?? '',
    space: words.get('space') ?? '',
    alpha: number('alpha') === 1,
    sequential: number('sequential') === 1,
    pageHeight: count('page'),
    stated: {
      pageHeight: number('page-height'),
      pages: number('n-pages'),
      orientation: number('orientation'),
      primary: number('heif-primary'),
      profile: words.has('icc-profile-data'),
      timing: words.has('delay') || words.has('loop'),
      gainMap: words.has('gainmap') || words.has('gainmap-data'),
    },
  };
}
