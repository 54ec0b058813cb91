/** A slow, repeated walk through stored objects, some at each run, so that neither time nor memory grows with their number. */
import type { ObjectInfo, ObjectStore } from '../objects/store.ts';

export interface Stretch {
  /** The next objects by owner; those of the last owner may continue in the next stretch. */
  readonly byOwner: ReadonlyMap<string, readonly ObjectInfo[]>;
  /** Objects passed in this round, these among them. */
  readonly listed: number;
  /** How many of those passed before in this round have no known owner. */
  readonly unknown: number;
}

export interface Walk {
  /** @throws the listing's error: the next call then starts again */
  next(count: number): Promise<Stretch>;
  /** Reports how many objects of the last stretch have no known owner. */
  count(unknown: number): void;
  close(): Promise<void>;
}

/** @param ownerOf whom an object belongs to; objects without an owner are skipped */
export function walkThrough(objects: ObjectStore, prefix: string, ownerOf: (key: string) => string | undefined): Walk {
  /** Stays open between two calls: the listing continues where it stopped. */
  let listing: AsyncIterator<ObjectInfo> | undefined;
  let listed = 0;
  let unknown = 0;

  const close = async (): Promise<void> => {
    const open = listing;
    listing = undefined;
    await open?.return?.();
  };
  const begin = (): AsyncIterator<ObjectInfo> => {
    listed = 0;
    unknown = 0;
    return objects.scan(prefix)[Symbol.asyncIterator]();
  };

  return {
    async next(count) {
      const byOwner = new Map<string, ObjectInfo[]>();
      listing ??= begin();
      try {
        for (let passed = 0; passed < count; passed++) {
          const { value, done } = await listing.next();
          if (done) {
            listing = undefined;
            break;
          }
          const owner = ownerOf(value.key);
          if (owner === undefined) continue;
          listed++;
          const sofar = byOwner.get(owner);
          if (sofar === undefined) byOwner.set(owner, [value]);
          else sofar.push(value);
        }
      } catch (error) {
        listing = undefined;
        throw error;
      }
      return { byOwner, listed, unknown };
    },
    count(more) {
      unknown += more;
    },
    close,
  };
}
