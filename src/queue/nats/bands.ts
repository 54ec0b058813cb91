/** The bands of a lane in JetStream: the band of an order depends on how many orders its client already has in the pool, and on its size. */
import { type Lane, lanes } from '../../contracts/messages/order.ts';

/**
 * In the order in which they are pulled from: a client's first order if it is small, which express slots take too; any other first order;
 * a few more; and the backlog. Each with the least number of earlier orders of its client, and with what it adds to the name of the lane.
 * Older workers and replicas know neither `-small` nor, before that, any but the lane's own name.
 */
const BANDS = [
  { from: 0, suffix: '-small' },
  { from: 0, suffix: '' },
  { from: 1, suffix: '-1' },
  { from: 8, suffix: '-2' },
] as const;

const SMALL = 0;
/** The band that every worker knows. */
export const OWN = 1;
export const BACKLOG = BANDS.length - 1;

/** @param ahead orders that the client already has in the pool @param isSmall as far as express slots are concerned */
export function bandFor(ahead: number, isSmall: boolean): number {
  const band = BANDS.findLastIndex(({ from }) => ahead >= from);
  return band === OWN && isSmall ? SMALL : band;
}

/** A token of subjects and the name of a consumer. */
export const bandOf = (lane: Lane, band: number): string => `${lane}${BANDS[band]?.suffix ?? ''}`;

/** The bands of all lanes. */
export const allBands: readonly string[] = lanes.flatMap((lane) => BANDS.map((_, band) => bandOf(lane, band)));

/** Where the first orders of clients wait: the small ones alone, or all. */
export const smallBands: readonly string[] = lanes.map((lane) => bandOf(lane, SMALL));
export const firstBands: readonly string[] = lanes.flatMap((lane) => [SMALL, OWN].map((band) => bandOf(lane, band)));

/** Where orders of clients wait that had others in the pool. */
export const laterBands: ReadonlySet<string> = new Set(lanes.flatMap((lane) => [bandOf(lane, OWN + 1), bandOf(lane, BACKLOG)]));

/** Where an order goes that gives way: behind all that wait. */
export const lastBand: string = bandOf('bulk', BACKLOG);

/** The bands of a lane in the order in which they are pulled from: ascending, but `first` before all others. */
export function bandsOf(lane: Lane, first = 0): readonly string[] {
  const others = BANDS.map((_, band) => band).filter((band) => band !== first);
  return [first, ...others].map((band) => bandOf(lane, band));
}
