/** Constructors of sniffing results. */
import { tieGroup } from '../formats.ts';
import type { Detected } from '../looks/sample.ts';

export const asFormat = (id: string): Detected => ({ kind: 'format', format: id });

/** @param id of what its beginning is */
export const asCut = (id: string): Detected => ({ kind: 'cut', format: id });

/** @param what a short noun, shown to the client */
export const asRefused = (what: string): Detected => ({ kind: 'refused', what });

/** Recognised as a format that filemill does not support: later sniffers are not tried. */
export const UNKNOWN: Detected = { kind: 'unknown' };

/** @param otherwise the default if the name does not decide */
export const tieAmong = (among: readonly string[], otherwise: string): Detected => ({ kind: 'tie', among, otherwise });

/** A tie between all members of a tie group. */
export const tie = (group: string, otherwise: string): Detected =>
  tieAmong(
    tieGroup(group).map(({ id }) => id),
    otherwise,
  );
