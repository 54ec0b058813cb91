/** Gives a worker what its claim entitles it to: where the inputs are, where the output goes, and the password. */
import { GRANT_VERSION, type Grant, GrantRefused } from '../../contracts/messages/grant.ts';
import type { Encryption } from '../../jobs/encryption.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { JobStore } from '../../jobs/store.ts';
import { Unreadable } from '../../jobs/text.ts';
import { inputKey, outputKey } from '../../objects/keys.ts';
import type { ObjectStore } from '../../objects/store.ts';

/** The longest job, and time to upload its result. */
const GRANT_MS = 90 * 60_000;

/** Its sources, and behind them what a recipe has made so far. */
const keysOf = ({ id, sources, recipe }: JobRecord): readonly string[] => [
  ...sources.map(({ part }) => inputKey(id, part)),
  ...(recipe?.carried === undefined ? [] : [recipe.carried.key]),
];

export type Granting = (jobId: string, attempt: string, pool?: string) => Promise<Grant>;

/**
 * @param suffix of the names of outputs @returns takes the pool of the worker that asks, where it is known: a worker gets no grant for another
 * pool's job. Throws GrantRefused.
 */
export function grants(jobs: JobStore, objects: ObjectStore, encryption: Encryption, suffix?: string): Granting {
  const find = async (jobId: string) => {
    try {
      return (await jobs.get(jobId))?.record;
    } catch (error) {
      throw new GrantRefused(error instanceof Unreadable ? 'unreadable' : 'unavailable', 'the record cannot be read', error);
    }
  };
  const password = (jobId: string, sealed: string) => {
    try {
      return encryption.decrypt(sealed, jobId);
    } catch (error) {
      throw new GrantRefused('key_unknown', 'the password was encrypted with another key', error);
    }
  };
  return async (jobId, attempt, pool) => {
    const record = await find(jobId);
    if (record?.state !== 'running' || record.attempt !== attempt || record.pool !== (pool ?? record.pool))
      throw new GrantRefused('attempt_lost', 'the attempt does not hold this job');
    const [inputs, output] = await Promise.all([
      Promise.all(keysOf(record).map((key) => objects.grantRead(key, GRANT_MS))),
      objects.grantWrite(outputKey(jobId, attempt), GRANT_MS),
    ]).catch((cause: unknown) => {
      throw new GrantRefused('unavailable', 'no URL can be signed', cause);
    });
    return {
      version: GRANT_VERSION,
      inputs,
      output,
      ...(suffix === undefined ? {} : { suffix }),
      ...(record.sealed === undefined ? {} : { password: password(jobId, record.sealed) }),
    };
  };
}
