/** The bands of a lane in JetStream: an order waits in the band that says how many orders its client has in the pool already. */
import { type Lane, lanes } from '../../contracts/messages/order.ts';

/** From how many orders of the same client on an order waits in the band; the last one is the backlog. */
const BANDS = [0, 1, 8] as const;

export const BACKLOG = BANDS.length - 1;

/** @param ahead orders that the client has in the pool already */
export const bandFor = (ahead: number): number => BANDS.findLastIndex((from) => ahead >= from);

/** A token of subjects and the name of a consumer. The first band's is the lane's own, which is all that older workers and replicas know. */
export const bandOf = (lane: Lane, band: number): string => (band === 0 ? lane : `${lane}-${band}`);

/** Of all lanes. */
export const allBands: readonly string[] = lanes.flatMap((lane) => BANDS.map((_, band) => bandOf(lane, band)));

/** The bands of a lane in the order in which they are asked: the backlog last, or another than the first before all. */
export function bandsOf(lane: Lane, first = 0): readonly string[] {
  const others = BANDS.map((_, band) => band).filter((band) => band !== first);
  return [first, ...others].map((band) => bandOf(lane, band));
}
