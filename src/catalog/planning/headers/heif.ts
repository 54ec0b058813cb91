/** The boxes of a HEIC or AVIF that describe its main picture (ISO 14496-12, 8.11; ISO 23008-12, 6.5). */
import { latin1, u8, u16be, u32be } from '../../looks/bytes.ts';
import { boxesIn, type HeifBox } from '../pictures/heif-depth.ts';
import type { Pieces } from '../pieces.ts';
import { asShown, BARE, type PictureHeader } from './picture.ts';

/** Pictures are often stored as hundreds of tiles. */
const MOST_ITEMS = 4096;
const MOST_PROPERTIES = 512;

/** What describes a picture: read as far as the longest needs, bytes. */
interface Property extends HeifBox {
  readonly data: Buffer;
}

export function heifHeader(file: Pieces): PictureHeader | undefined {
  const meta = boxesIn(file, 0, file.size).find(({ type }) => type === 'meta');
  if (meta === undefined) return undefined;
  const parts = new Map(boxesIn(file, meta.at + 4, meta.end).map((box) => [box.type, box]));
  const main = mainItem(file, parts.get('pitm'));
  const described = parts.get('iprp');
  if (main === undefined || described === undefined) return undefined;
  const { all, of } = propertiesIn(file, described);
  const mine = of(main);
  const size = mine.find(({ type }) => type === 'ispe');
  if (size === undefined) return undefined;
  const [width, height] = [u32be(size.data, 4), u32be(size.data, 8)];
  const turns = mine.find(({ type }) => type === 'irot');
  const types = itemTypes(file, parts.get('iinf'));
  const auxiliary = all.filter(({ type }) => type === 'auxC').map(({ data }) => latin1(data, 4, data.length));
  const bits = mine.find(({ type }) => type === 'pixi')?.data;
  return {
    ...BARE,
    // What turns the picture is a property of the container: the pixels are shown upright by every reader.
    ...asShown(width, height, turns !== undefined && (u8(turns.data, 0) & 1) === 1 ? 6 : 1),
    orientation: 1,
    depth: bits === undefined ? 8 : u8(bits, 5),
    colours: bits !== undefined && u8(bits, 4) === 1 ? 'grey' : 'rgb',
    frames: Math.max(1, samplesOf(file)),
    alpha: auxiliary.some((name) => name.includes('alpha')),
    profile: mine.some(({ type, data }) => type === 'colr' && ['prof', 'rICC'].includes(latin1(data, 0, 4))),
    exif: types.includes('Exif'),
    xmp: types.includes('mime'),
    gainMap: types.includes('tmap') || auxiliary.some((name) => name.includes('hdrgainmap')),
  };
}

/** A sequence has a movie beside its main picture: how many samples its first track has (ISO 14496-12, 8.7.3; ISO 23008-12, 7). */
function samplesOf(file: Pieces): number {
  let inside: HeifBox | undefined = boxesIn(file, 0, file.size).find(({ type }) => type === 'moov');
  for (const name of ['trak', 'mdia', 'minf', 'stbl', 'stsz'])
    inside = inside && boxesIn(file, inside.at, inside.end).find(({ type }) => type === name);
  return inside === undefined ? 1 : u32be(file.read(inside.at, 12), 8) || 1;
}

/** Version 0 has an id of two bytes, version 1 one of four. */
function mainItem(file: Pieces, box: HeifBox | undefined): number | undefined {
  if (box === undefined) return undefined;
  const data = Buffer.from(file.read(box.at, 8));
  return u8(data, 0) === 0 ? u16be(data, 4) : u32be(data, 4);
}

function itemTypes(file: Pieces, box: HeifBox | undefined): readonly string[] {
  if (box === undefined) return [];
  const wide = u8(file.read(box.at, 1), 0) > 0;
  return boxesIn(file, box.at + (wide ? 8 : 6), box.end)
    .filter(({ type }) => type === 'infe')
    .take(MOST_ITEMS)
    .map(({ at }) => {
      const data = file.read(at, 12);
      return latin1(data, u8(data, 0) >= 3 ? 10 : 8, 4);
    })
    .toArray();
}

/** All properties of the file, and those of one item, in the order in which they apply. */
function propertiesIn(file: Pieces, described: HeifBox) {
  const parts = boxesIn(file, described.at, described.end).toArray();
  const container = parts.find(({ type }) => type === 'ipco');
  const all: Property[] = [];
  if (container !== undefined)
    for (const box of boxesIn(file, container.at, container.end).take(MOST_PROPERTIES))
      all.push({ ...box, data: Buffer.from(file.read(box.at, Math.min(box.end - box.at, 64))) });
  const places = new Map<number, number[]>();
  for (const { at } of parts.filter(({ type }) => type === 'ipma')) readPlaces(file, at, places);
  const of = (item: number) => (places.get(item) ?? []).flatMap((place) => all[place - 1] ?? []);
  return { all, of };
}

/** `ipma`: for each item the numbers of its properties, from 1. */
function readPlaces(file: Pieces, from: number, places: Map<number, number[]>): void {
  const head = Buffer.from(file.read(from, 8));
  const [longIds, longPlaces] = [u8(head, 0) > 0, (u8(head, 3) & 1) === 1];
  const count = Math.min(u32be(head, 4), MOST_ITEMS);
  for (let index = 0, at = from + 8; index < count; index++) {
    const entry = Buffer.from(file.read(at, 5));
    const item = longIds ? u32be(entry, 0) : u16be(entry, 0);
    const length = u8(entry, longIds ? 4 : 2);
    at += longIds ? 5 : 3;
    const bytes = Buffer.from(file.read(at, length * (longPlaces ? 2 : 1)));
    const numbers = Array.from({ length }, (_, place) => (longPlaces ? u16be(bytes, 2 * place) & 0x7fff : u8(bytes, place) & 0x7f));
    places.set(item, numbers);
    at += bytes.length;
    if (entry.length === 0) return;
  }
}
