/** What was found in an archive, and what is too much of it. */
import { MAX_ENTRIES, MAX_NODES } from '../../../../catalog/bounds.ts';

export interface Found {
  /** Files and folders. */
  entries: number;
  folders: number;
  /** Files that may be run. */
  programs: number;
  /** Time of the newest file, s since 1970. */
  newest: number;
  /** Size of all files, unpacked. */
  bytes: number;
  /** The bound of `bytes`. */
  readonly most: number;
  /** Symbolic and hard links, and what is neither a file nor a folder. */
  links: number;
  /** How many of the links are hard links. */
  hardLinks: number;
  devices: number;
  /** Entries for the top folder itself. */
  own: number;
  /** Files with holes, whose map lies in their content. */
  sparse: number;
  /** Names that lead out of the folder that an archive is unpacked into, or that no system can have. */
  unsafe: number;
  /** Names in no encoding that is known, taken as CP437, that of ZIP (APPNOTE 4.4.4). */
  guessed: number;
  /** Names that were replaced, as they mislead or are invalid on the system that the result is for. */
  changed: number;
  /** Names that an earlier entry had: they got a number. */
  apart: number;
  /** Names that differ from an earlier one only in capital letters. */
  alike: number;
  /** Files and folders, including those that only appear in the path of a file. */
  nodes: number;
  /** Folders within one another. */
  deepest: number;
  /** Bytes of the longest path as Joliet has it, for Windows: each name cut to 103 units of UTF-16. */
  longest: number;
}

const MAX_UNPACKED_BYTES = 4 * 1024 ** 3;
/** Ratio allowed for an archive beyond its first 100 MiB: text compresses to a hundredth at best, zeros to a thousandth. */
const MAX_RATIO = 250;
const FREE_BYTES = 100 * 1024 ** 2;

/** @param size of the archive, bytes @returns the bound of all its files together, bytes */
export const mostUnpacked = (size: number): number => Math.min(MAX_UNPACKED_BYTES, FREE_BYTES + MAX_RATIO * size);

export const isTooMuch = ({ entries, links, devices, unsafe, own, nodes, bytes, most }: Found): boolean =>
  entries + links + devices + unsafe + own > MAX_ENTRIES || nodes > MAX_NODES || bytes > most;
