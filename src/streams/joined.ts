/** Several streams read one after the other as if they were one: each is opened when its turn comes, and closed with the whole. */
import { finished, Readable } from 'node:stream';

/** Destroying it destroys the stream that is being read, and none is opened any more. Unread, it has opened none. */
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
    // An early end is an error here, and without a listener an error would end the process.
    finished(stream, (error) => {
      this.#current = undefined;
      if (error) this.destroy(error);
      else if (!this.destroyed) this.#openNext();
    });
    if (this.destroyed) stream.destroy();
    else stream.on('data', (chunk: Buffer) => void (this.push(chunk) || stream.pause()));
  }
}
