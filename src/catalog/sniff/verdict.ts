/** The three ways in which a sniffer that recognises something says so. */
import { tieGroup } from '../formats.ts';
import type { Detected } from './sample.ts';

export const format = (id: string): Detected => ({ kind: 'format', format: id });

/** @param what a short noun, shown to the client */
export const refused = (what: string): Detected => ({ kind: 'refused', what });

/** Recognised, and of no format that filemill knows: no later sniffer shall have a try. */
export const UNKNOWN: Detected = { kind: 'unknown' };

/** @param otherwise the member that is meant when the name says nothing */
export const tieAmong = (among: readonly string[], otherwise: string): Detected => ({ kind: 'tie', among, otherwise });

/** A tie between all members of a group of the format table. */
export const tie = (group: string, otherwise: string): Detected =>
  tieAmong(
    tieGroup(group).map(({ id }) => id),
    otherwise,
  );
