/** Reads a watch: one JSON object a line, for as long as the server has something to say in time. */
import type { IncomingMessage } from 'node:http';
import { refusal } from './error.ts';

export interface WatchEvent<T> {
  /** A bookmark carries a resourceVersion and nothing else. */
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

interface Line {
  readonly type: string;
  readonly object: unknown;
}

/** @param heard called at each sign of life @throws KubeError when the server says that the watch has failed */
export async function* readWatch<T>(response: IncomingMessage, heard: () => void): AsyncGenerator<WatchEvent<T>> {
  response.setEncoding('utf8');
  let rest = '';
  for await (const chunk of response as AsyncIterable<string>) {
    heard();
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as Line;
      // What follows an error is the end of the stream.
      if (type === 'ERROR') throw refusal((object as { code?: number }).code ?? 500, JSON.stringify(object));
      yield { type, object } as WatchEvent<T>;
    }
  }
}
