/** Reads several streams one after the other as if they were one, opening each only when its turn comes. */
import { finished, Readable } from 'node:stream';

/** Destroying it destroys the stream that is being read, and opens no more. It opens nothing before it is read. */
export class Joined extends Readable {
  readonly #openings: Iterator<() => Promise<Readable>>;
  #current: Readable | undefined;
  #opening = false;

  constructor(openings: Iterable<() => Promise<Readable>>) {
    super();
    this.#openings = openings[Symbol.iterator]();
  }

  override _read(): void {
    if (this.#current !== undefined) this.#current.resume();
    else if (!this.#opening) this.#openNext();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#current?.destroy();
    done(error);
  }

  #openNext(): void {
    const next = this.#openings.next();
    if (next.done === true) {
      this.push(null);
      return;
    }
    this.#opening = true;
    next.value().then(
      (stream) => this.#follow(stream),
      (error: Error) => this.destroy(error),
    );
  }

  #follow(stream: Readable): void {
    this.#opening = false;
    this.#current = stream;
    // `finished` reports an early end as an error. An error without a listener would end the process.
    finished(stream, (error) => {
      this.#current = undefined;
      if (error) this.destroy(error);
      else if (!this.destroyed) this.#openNext();
    });
    if (this.destroyed) stream.destroy();
    else stream.on('data', (chunk: Buffer) => void (this.push(chunk) || stream.pause()));
  }
}
