/** The pools that there are: what their workers can do, and how many there are of them. */

export interface Pool {
  /** Orders that its workers can hold at a time, all together. */
  readonly slots: number;
  /** Versions by engine id, as last heard: those of a pool without workers stay. */
  readonly engines: ReadonlyMap<string, string>;
}

export interface Registry {
  /** By name. A new object after every change. */
  pools(): ReadonlyMap<string, Pool>;
  close(): Promise<void>;
}
