/** The interface of object stores: objects are written once as a stream, read by range, listed, and shared by presigned URL. */
import type { Readable } from 'node:stream';

export interface ObjectInfo {
  readonly key: string;
  readonly sizeBytes: number;
  /** Ms since the epoch. */
  readonly modifiedAt: number;
}

export interface Written {
  readonly sizeBytes: number;
  /** Lower-case hex; empty where it was not asked for. */
  readonly sha256: string;
}

export interface PutOptions {
  /** False: the caller does not read the digest, and a store that needs none need not compute it. Unset: true. */
  readonly digest?: boolean | undefined;
}

export interface ObjectStore {
  /**
   * Stores the whole stream under `key`, or nothing: a stream that fails, an aborted signal or a crash leaves no object behind.
   * A `source` that was not stored is destroyed. Among concurrent puts of one key, the last to end wins as a whole.
   * @throws TooLarge as soon as more than `maxBytes` arrived · StoreFull when no space is left · the stream's own error
   */
  put(key: string, source: Readable, maxBytes: number, signal?: AbortSignal, options?: PutOptions): Promise<Written>;
  /**
   * The stream holds a descriptor or a connection until it ends, fails or is destroyed: the caller must read it to the end or destroy it.
   * @param range bytes, both ends included
   * @throws Missing
   */
  get(key: string, range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  head(key: string): Promise<ObjectInfo | undefined>;
  /** Deleting a missing object is no error. */
  delete(key: string): Promise<void>;
  /** Objects whose key begins with `prefix`, in no order. */
  scan(prefix: string): AsyncIterable<ObjectInfo>;
  /**
   * A URL from which its holder may read one object, or to which it may write one, for `ttlMs`, or for as long as the store's own credentials last where
   * that is less: after that it is refused, and its holder asks for another.
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

/** The store is unreachable or unhealthy: another try may succeed later. */
export class Unreachable extends Error {
  override readonly name: string = 'Unreachable';
}

/** The store refused the signature of a granted URL: a new grant may work. */
export class AccessDenied extends Unreachable {
  override readonly name = 'AccessDenied';
}

export class Missing extends Error {
  override readonly name = 'Missing';
}
