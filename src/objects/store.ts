/** Where files live: written once as a stream, read by range, listed, granted by URL. */
import type { Readable } from 'node:stream';

export interface ObjectInfo {
  readonly key: string;
  readonly sizeBytes: number;
  /** Ms since the epoch. */
  readonly modifiedAt: number;
}

export interface Written {
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

export interface ObjectStore {
  /**
   * Stores the whole stream under `key`, or nothing: a stream that fails, an aborted signal or a crash leaves no object behind.
   * A `source` that was not stored is destroyed. Of concurrent puts of one key the last to end stays, whole.
   * @throws TooLarge as soon as more than `maxBytes` came · StoreFull when there is no room · the stream's own error
   */
  put(key: string, source: Readable, maxBytes: number, signal?: AbortSignal): Promise<Written>;
  /**
   * What it returns holds a descriptor or a connection until it ends, fails or is destroyed: whoever asked for it sees to one of these.
   * @param range bytes, both ends included
   * @throws Missing
   */
  get(key: string, range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  head(key: string): Promise<ObjectInfo | undefined>;
  /** Not an error when there is none. */
  delete(key: string): Promise<void>;
  /** Objects whose key begins with `prefix`, in no order. */
  scan(prefix: string): AsyncIterable<ObjectInfo>;
  /**
   * A URL that whoever holds it may read from, or write one object to, for `ttlMs`, or for as long as the store's own credentials last where
   * that is less: at its end it is refused, and whoever needs another asks again.
   */
  grantRead(key: string, ttlMs: number): Promise<string>;
  grantWrite(key: string, ttlMs: number): Promise<string>;
}

export class TooLarge extends Error {
  override readonly name = 'TooLarge';
  readonly receivedBytes: number;
  constructor(receivedBytes: number) {
    super(`more than allowed: ${receivedBytes} bytes so far`);
    this.receivedBytes = receivedBytes;
  }
}

export class StoreFull extends Error {
  override readonly name = 'StoreFull';
}

/** The store cannot be reached, or is not well: the same may succeed later. */
export class Unreachable extends Error {
  override readonly name: string = 'Unreachable';
}

/** The signature of a granted URL does not count, or no longer: another may. */
export class AccessDenied extends Unreachable {
  override readonly name = 'AccessDenied';
}

export class Missing extends Error {
  override readonly name = 'Missing';
}
