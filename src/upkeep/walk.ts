/** A slow walk through stored objects, some at each run and round and round, so that neither time nor memory follows how many there are. */
import type { ObjectInfo, ObjectStore } from '../objects/store.ts';

export interface Stretch {
  /** The next objects, by whom they belong to; those of the last owner may go on in the next stretch. */
  readonly byOwner: ReadonlyMap<string, readonly ObjectInfo[]>;
  /** Objects passed in this round, these among them. */
  readonly listed: number;
  /** Of those passed before in this round, how many nobody knew. */
  readonly unknown: number;
}

export interface Walk {
  /** @throws what the listing throws: the next call then begins anew */
  next(count: number): Promise<Stretch>;
  /** Of the stretch just passed, how many objects nobody knows. */
  count(unknown: number): void;
  close(): Promise<void>;
}

/** @param ownerOf whom an object belongs to; others' are passed over */
export function walkThrough(objects: ObjectStore, prefix: string, ownerOf: (key: string) => string | undefined): Walk {
  /** Stays open between two calls: the listing goes on where it was left. */
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
