/** Every toolchain: what the image of a worker holds, fixed by the release, and what its conversions may use. Nothing else lists them. */

export interface ToolchainBounds {
  /** The setting of a worker that bounds the run time of a step. */
  readonly time: 'maxSeconds' | 'mediaMaxSeconds';
  /** Processes of one slot's user at a time, threads included. */
  readonly processes: number;
}

/**
 * How long a step may run, in seconds for the smallest file (enough for the largest picture, page or sheet that a few bytes can describe) and for
 * each MiB of input. Each about ten times the measured time of an honest file of that size; the operator's maximum applies as well.
 */
export interface Allowance {
  readonly base: number;
  readonly perMiB: number;
}

/** Kinds of devices that programs can use beside the processors; `exec/confine/devices.ts` knows their files. */
export const deviceKinds = ['nvidia', 'render'] as const;
export type DeviceKind = (typeof deviceKinds)[number];

export interface DeviceUse {
  readonly kinds: readonly DeviceKind[];
  /** Conversions at a time on each device: they share its memory. */
  readonly slotsEach: number;
}

interface ToolchainRow {
  readonly name: string;
  /** What its engines are, as health shows their versions, and how long each may take. An engine may also be in the image of another toolchain. */
  readonly roles: Readonly<Record<string, Allowance>>;
  /** Repository of its container image; `images/<name>` lists what is installed there. */
  readonly image: string;
  readonly bounds: ToolchainBounds;
  /** `internet`: by the egress proxy, and no other way. */
  readonly reaches: 'nothing' | 'internet';
  /** What its programs use where a worker finds it; a worker that finds none converts on its processors. Unset: nothing. */
  readonly devices?: DeviceUse;
  /** Families of the formats that it is there for; where other toolchains read them too, they are listed here all the same, and only here. */
  readonly families: readonly string[];
}

/** In order of preference where two toolchains could do the same: the lightest image first. */
const TABLE = [
  {
    name: 'image',
    // A few kilobytes may be a plain picture of 100 megapixels, which is slow to encode.
    roles: { image: { base: 180, perMiB: 60 } },
    image: 'filemill/image',
    bounds: { time: 'maxSeconds', processes: 128 },
    reaches: 'nothing',
    families: ['image', 'vector'],
  },
  {
    name: 'media',
    // A minute of still video or silence is a few kilobytes.
    roles: { audio_video: { base: 300, perMiB: 900 } },
    image: 'filemill/media',
    bounds: { time: 'mediaMaxSeconds', processes: 128 },
    reaches: 'nothing',
    families: ['audio', 'video', 'subtitle'],
  },
  {
    name: 'pdf',
    // A scanned page may be ten kilobytes and take ten seconds of OCR.
    roles: { pdf: { base: 120, perMiB: 240 }, ocr: { base: 180, perMiB: 900 } },
    image: 'filemill/pdf',
    bounds: { time: 'maxSeconds', processes: 128 },
    reaches: 'nothing',
    families: ['pdf'],
  },
  {
    name: 'office',
    // Office packages are compressed to a twentieth or less.
    roles: { office: { base: 120, perMiB: 240 }, markup: { base: 60, perMiB: 60 } },
    image: 'filemill/office',
    bounds: { time: 'maxSeconds', processes: 128 },
    reaches: 'nothing',
    families: ['document', 'sheet', 'slides', 'markup'],
  },
  {
    name: 'assets',
    // An archive of a few kilobytes may hold the greatest number of entries. A font of a few kilobytes has hundreds of glyphs.
    roles: { archive: { base: 120, perMiB: 60 }, font: { base: 120, perMiB: 120 }, '3d': { base: 120, perMiB: 120 } },
    image: 'filemill/assets',
    bounds: { time: 'maxSeconds', processes: 128 },
    reaches: 'nothing',
    families: ['archive', 'font', '3d'],
  },
  {
    name: 'web',
    // The input is only the URL.
    roles: { web: { base: 180, perMiB: 60 } },
    image: 'filemill/web',
    // A browser has eighty threads at rest, and a slot's user may have two browsers warm.
    bounds: { time: 'maxSeconds', processes: 512 },
    reaches: 'internet',
    families: [],
  },
  {
    name: 'ai',
    // A model takes minutes for each megapixel, of which its tools bound the number, on one processor. An hour of speech may be seven megabytes.
    roles: { ai: { base: 600, perMiB: 0 }, speech: { base: 300, perMiB: 900 } },
    image: 'filemill/ai',
    bounds: { time: 'mediaMaxSeconds', processes: 128 },
    reaches: 'nothing',
    // A model and what CUDA keeps beside it may take two gigabytes of the device.
    devices: { kinds: ['nvidia'], slotsEach: 2 },
    families: [],
  },
] as const satisfies readonly ToolchainRow[];

type Row = (typeof TABLE)[number];
export type Toolchain = Row['name'];
export type EngineRole = Row extends infer Each ? (Each extends Row ? keyof Each['roles'] : never) : never;
export type Family = Row['families'][number];

export const toolchainTable: readonly (ToolchainRow & { readonly name: Toolchain; readonly families: readonly Family[] })[] = TABLE;
export const toolchains: readonly Toolchain[] = TABLE.map(({ name }) => name);
const allowances = new Map(TABLE.flatMap(({ roles }) => Object.entries<Allowance>(roles)));
export const engineRoles = [...allowances.keys()] as readonly EngineRole[];
export const families: readonly Family[] = TABLE.flatMap(({ families }) => families);

export const toolchainRow = (name: Toolchain): ToolchainRow => TABLE[toolchains.indexOf(name)] as ToolchainRow;
export const allowanceOf = (role: EngineRole): Allowance => allowances.get(role) as Allowance;
