/** What was found in an archive, and what is too much of it. */
import { MAX_ENTRIES } from '../../../../catalog/bounds.ts';

export interface Found {
  /** Files and folders. */
  entries: number;
  /** Size of all files, unpacked. */
  bytes: number;
  /** What `bytes` may be. */
  readonly most: number;
  /** Symbolic and hard links, and what is neither a file nor a folder. */
  links: number;
  /** Those of them that are another name of a file. */
  hardLinks: number;
  devices: number;
  /** The folder that all are in. */
  own: number;
  /** Files with holes, whose map lies in their content. */
  sparse: number;
  /** Names that lead out of the folder that an archive is unpacked into, or that no system can have. */
  unsafe: number;
  /** Names in no encoding that is known, taken as CP437, that of ZIP (APPNOTE 4.4.4). */
  guessed: number;
  /** Names that Windows reserves for devices. */
  reserved: number;
}

const MAX_UNPACKED_BYTES = 4 * 1024 ** 3;
/** Ratio allowed for an archive beyond its first 100 MiB: text compresses to a hundredth at best, zeros to a thousandth. */
const MAX_RATIO = 250;
const FREE_BYTES = 100 * 1024 ** 2;

/** @param size of the archive, bytes @returns what all its files may have, bytes */
export const mostUnpacked = (size: number): number => Math.min(MAX_UNPACKED_BYTES, FREE_BYTES + MAX_RATIO * size);

export const isTooMuch = ({ entries, links, devices, unsafe, own, bytes, most }: Found): boolean =>
  entries + links + devices + unsafe + own > MAX_ENTRIES || bytes > most;
