/** Headers and first lines of 3D models. Each looks at a bounded beginning of the file. */
import { has, latin1, u16le, u32be, u32le } from './bytes.ts';
import { decode, isText } from './charset.ts';
import type { Sample } from './sample.ts';
import { rootOf } from './xml.ts';

/** Bytes that a text sniffer reads: enough for the longest licence in comments. */
const BEGINNING = 32 * 1024;
/** Longer lines are looked at no further. */
const LONGEST_LINE = 400;

const beginning = (head: Uint8Array): string => decode(head.subarray(0, BEGINNING));

const linesOf = (head: Uint8Array, most: number): readonly string[] =>
  beginning(head)
    .split(/\r\n|\n|\r/, most)
    .map((line) => line.slice(0, LONGEST_LINE).trim());

/** A header of 80 bytes that may say anything, "solid" too; the number of facets; 50 bytes for each. */
export function isBinaryStl({ head, size }: Sample): boolean {
  const count = u32le(head, 80);
  if (!(count > 0) || size !== 84 + 50 * count) return false;
  // A text of just this length has no float that is this small, and no zero at all.
  return head.subarray(80, 134).includes(0);
}

export function isAsciiStl(sample: Sample): boolean {
  const lines = linesOf(sample.head, 12);
  return (
    /^solid\b/i.test(lines.find((line) => line !== '') ?? '') &&
    lines.some((line) => /^(?:facet\s{1,20}normal\s|endsolid\b)/i.test(line)) &&
    isText(sample)
  );
}

/** Statements of Wavefront's OBJ; among the first lines, nothing else but comments, and a point, a face, a material or an object. */
const STATEMENT =
  /^(?:(?:v|vn|vt|vp)\s{1,20}-?[\d.]|[fl]\s{1,20}-?\d|[ogs](?:\s|$)|(?:mtllib|usemtl)\s|(?:mg|deg|bmat|step|cstype|curv|curv2|surf|parm|trim|hole|scrv|sp|end|con|call|csh|bevel|c_interp|d_interp|lod|shadow_obj|trace_obj|usemap|maplib|group)(?:\s|$))/;
const MOST_STATEMENTS = 500;
/** Lines in a statement of another kind that are let pass in a hundred. */
const MOST_STRANGE = 0.02;

export function isObjectFile(sample: Sample): boolean {
  const { head } = sample;
  const first = head[0] ?? 0;
  // Comments, statements or blanks begin the file: most others need no lines.
  if (!(first === 0x23 || first <= 0x20 || first === 0xef || (first >= 0x61 && first <= 0x7a))) return false;
  const lines = linesOf(head, MOST_STATEMENTS).filter((line) => line !== '' && !line.startsWith('#'));
  // The last one may be cut.
  const whole = head.length > BEGINNING ? lines.slice(0, -1) : lines;
  const points = whole.filter((line) => /^v\s{1,20}-?[\d.]{1,30}(?:e[-+]?\d{1,3})?\s{1,20}-?[\d.]/i.test(line)).length;
  const strange = whole.filter((line) => !STATEMENT.test(line)).length;
  return points >= 3 && strange <= whole.length * MOST_STRANGE && isText(sample);
}

export const isPolygonFile = ({ head }: Sample): boolean =>
  /^ply\s{1,4}format (?:ascii|binary_little_endian|binary_big_endian) 1\.0\s/.test(latin1(head, 0, 64));

/** JSON whose `asset` has a version and that has meshes, nodes or scenes. Keys may stand in any order: of a large file the tail is looked at too. */
export function isGltf({ head, tail }: Sample): boolean {
  if (!/^\s{0,64}\{/.test(latin1(head, 0, 80).replace(/^\xef\xbb\xbf/, ''))) return false;
  const texts = [head, tail].map((bytes) => latin1(bytes, 0, bytes.length));
  return texts.some(hasAsset) && texts.some((text) => /"(?:meshes|nodes|scenes|accessors|buffers)"/.test(text));
}

function hasAsset(text: string): boolean {
  const at = text.indexOf('"asset"');
  return at >= 0 && /^"asset"\s{0,40}:\s{0,40}\{[^{}]{0,2000}"version"\s{0,40}:\s{0,40}"[12]\.\d"/.test(text.slice(at, at + 2200));
}

export const isXmlModel =
  (name: string) =>
  ({ head }: Sample): boolean => {
    const start = latin1(head, 0, 64).trimStart();
    return (
      (start.startsWith('<') || start.startsWith('\xef\xbb\xbf<') || start.startsWith('\xff\xfe')) &&
      rootOf(decode(head).trimStart())?.name === name
    );
  };

/** The main chunk is as long as the file, or nearly; a known chunk is its first. */
export function isThreeDs({ head, size }: Sample): boolean {
  if (u16le(head, 0) !== 0x4d4d) return false;
  const length = u32le(head, 2);
  return length > 16 && length <= size && [0x0002, 0x3d3d, 0x3daa, 0xb000].includes(u16le(head, 6)) && u32le(head, 8) <= length;
}

/** Pairs of lines, a code and a value: after comments (999) comes a section. Or the marker of the binary kind. */
export function isDrawing({ head }: Sample): boolean {
  if (has(head, 0, 'AutoCAD Binary DXF\r\n\x1a\0')) return true;
  const lines = linesOf(head, 200);
  let at = 0;
  while (lines[at] === '999') at += 2;
  return (
    lines[at] === '0' &&
    lines[at + 1] === 'SECTION' &&
    lines[at + 2] === '2' &&
    /^(?:HEADER|CLASSES|TABLES|BLOCKS|ENTITIES|OBJECTS)$/.test(lines[at + 3] ?? '')
  );
}

export const isAc3d = ({ head }: Sample): boolean => /^AC3D[a-c]\r?\n(?:MATERIAL|OBJECT) /.test(latin1(head, 0, 32));

/** An IFF form whose length is that of the file, but for a byte of padding. */
export const isLightWave = ({ head, size }: Sample): boolean =>
  has(head, 0, 'FORM') && ['LWOB', 'LWO2', 'LWLO'].some((kind) => has(head, 8, kind)) && Math.abs(u32be(head, 4) + 8 - size) <= 1;
