/** A file that is read piece by piece. Synchronous: a file of one-byte blocks has as many pieces as bytes. */
export interface Pieces {
  /** Bytes. */
  readonly size: number;
  /** @returns fewer bytes than requested at the end of the file */
  read(at: number, length: number): Uint8Array;
  /** @returns undefined at the end of the file */
  byte(at: number): number | undefined;
}
