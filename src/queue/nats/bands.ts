/** The bands of a lane in JetStream: the band of an order depends on how many orders its client already has in the pool. */
import { type Lane, lanes } from '../../contracts/messages/order.ts';

/** The least number of earlier orders of the same client for each band; the last band is the backlog. */
const BANDS = [0, 1, 8] as const;

export const BACKLOG = BANDS.length - 1;

/** @param ahead orders that the client already has in the pool */
export const bandFor = (ahead: number): number => BANDS.findLastIndex((from) => ahead >= from);

/** A token of subjects and the name of a consumer. The first band has the name of the lane: older workers and replicas know only that one. */
export const bandOf = (lane: Lane, band: number): string => (band === 0 ? lane : `${lane}-${band}`);

/** The bands of all lanes. */
export const allBands: readonly string[] = lanes.flatMap((lane) => BANDS.map((_, band) => bandOf(lane, band)));

/** The bands of a lane in the order in which they are pulled from: ascending, but `first` before all others. */
export function bandsOf(lane: Lane, first = 0): readonly string[] {
  const others = BANDS.map((_, band) => band).filter((band) => band !== first);
  return [first, ...others].map((band) => bandOf(lane, band));
}
