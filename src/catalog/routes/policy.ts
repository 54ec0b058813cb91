/** Which ways make sense, whatever engines there are: by the formats that they lead from, through and to. */
import type { Format } from '../formats.ts';

export interface RoutePolicy {
  /** Formats that a file of this one may become on its way to another. */
  carriersOf(source: string): readonly string[];
  isCarrier(format: string): boolean;
  /** Whether ways from a format may lead to a target. Asked once for each source, and the result for each of thousands of targets. */
  leadsFrom(source: string): (target: string) => boolean;
}

/** Families that can contain a picture without text. */
const PICTURES: ReadonlySet<string> = new Set(['image', 'vector', 'video', 'pdf']);

export function policyOf(table: ReadonlyMap<string, Format>): RoutePolicy {
  const rows = [...table.values()];
  const carriers = rows.flatMap(({ id, carries }) => (carries === undefined ? [] : [id]));
  /** For pictures: wrapping one in a document gives neither text nor shapes. */
  const carriersOfPictures = carriers.filter((id) => table.get(id)?.carries === 'everything');
  const used = (use: Format['use']) => new Set(rows.flatMap((row) => (row.use === use ? [row.id] : [])));
  const [common, rare] = [used('common'), used('rare')];
  const hasPicture = (target: string): boolean => PICTURES.has(table.get(target)?.family ?? '');

  /** From and to a rare format lead only ways to and from common ones. */
  const usefulFrom = (source: string): ((target: string) => boolean) => {
    if (rare.has(source)) return (target) => common.has(target);
    return common.has(source) ? () => true : (target) => !rare.has(target);
  };

  return {
    carriersOf(source) {
      const family = table.get(source)?.family;
      // What files it holds is not known.
      if (family === 'archive') return [];
      return family === 'image' || family === 'vector' ? carriersOfPictures : carriers;
    },
    isCarrier: (format) => carriers.includes(format),
    leadsFrom(source) {
      const isUseful = usefulFrom(source);
      // No text can be read from the smallest pictures.
      return table.get(source)?.tiny === true ? (target) => isUseful(target) && hasPicture(target) : isUseful;
    },
  };
}
