/** Every toolchain: what the image of a worker holds, fixed by the release, and what its conversions may use. Nothing else lists them. */

export interface Bounds {
  /** The setting of a worker that bounds the run time of a step. */
  readonly time: 'maxSeconds' | 'mediaMaxSeconds';
  /** Of one slot's user at a time, threads included. */
  readonly processes: number;
}

interface ToolchainRow {
  readonly name: string;
  /** What its engines are, as health shows their versions. An engine may also be in the image of another toolchain. */
  readonly roles: readonly string[];
  /** Repository of its container image; `images/<name>` lists what is installed there. */
  readonly image: string;
  readonly bounds: Bounds;
  /** `internet`: by the egress proxy, and no other way. */
  readonly reaches: 'nothing' | 'internet';
  /** Families of the formats that it is there for; where other toolchains read them too, they are listed here all the same, and only here. */
  readonly families: readonly string[];
}

/** In order of preference where two toolchains could do the same: the lightest image first. */
const TABLE = [
  {
    name: 'image',
    roles: ['image'],
    image: 'filemill/image',
    bounds: { time: 'maxSeconds', processes: 128 },
    reaches: 'nothing',
    families: ['image', 'vector'],
  },
  {
    name: 'media',
    roles: ['audio_video'],
    image: 'filemill/media',
    bounds: { time: 'mediaMaxSeconds', processes: 128 },
    reaches: 'nothing',
    families: ['audio', 'video'],
  },
  {
    name: 'pdf',
    roles: ['pdf', 'ocr'],
    image: 'filemill/pdf',
    bounds: { time: 'maxSeconds', processes: 128 },
    reaches: 'nothing',
    families: ['pdf'],
  },
  {
    name: 'office',
    roles: ['office', 'markup'],
    image: 'filemill/office',
    bounds: { time: 'maxSeconds', processes: 128 },
    reaches: 'nothing',
    families: ['document', 'sheet', 'slides', 'markup'],
  },
  {
    name: 'web',
    roles: ['web'],
    image: 'filemill/web',
    // A browser has eighty threads at rest, and a slot's user may have two browsers warm.
    bounds: { time: 'maxSeconds', processes: 512 },
    reaches: 'internet',
    families: [],
  },
] as const satisfies readonly ToolchainRow[];

type Row = (typeof TABLE)[number];
export type Toolchain = Row['name'];
export type EngineRole = Row['roles'][number];
export type Family = Row['families'][number];

export const toolchainTable: readonly (ToolchainRow & { readonly name: Toolchain; readonly families: readonly Family[] })[] = TABLE;
export const toolchains: readonly Toolchain[] = TABLE.map(({ name }) => name);
export const engineRoles: readonly EngineRole[] = TABLE.flatMap(({ roles }) => roles);
export const families: readonly Family[] = TABLE.flatMap(({ families }) => families);

export const toolchainRow = (name: Toolchain): ToolchainRow => TABLE[toolchains.indexOf(name)] as ToolchainRow;
