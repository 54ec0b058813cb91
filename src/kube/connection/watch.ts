/** Parses the response of a watch: one JSON object per line. */
import type { IncomingMessage } from 'node:http';
import { kubeErrorOf } from './error.ts';

export interface WatchEvent<T> {
  /** A bookmark carries a resourceVersion and nothing else. */
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

interface Line {
  readonly type: string;
  readonly object: unknown;
}

/** @param onData called for each chunk @throws KubeError if the server reports that the watch failed */
export async function* readWatch<T>(response: IncomingMessage, onData: () => void): AsyncGenerator<WatchEvent<T>> {
  response.setEncoding('utf8');
  let rest = '';
  for await (const chunk of response as AsyncIterable<string>) {
    onData();
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as Line;
      // An error is the last event of a stream.
      if (type === 'ERROR') throw kubeErrorOf((object as { code?: number }).code ?? 500, JSON.stringify(object));
      yield { type, object } as WatchEvent<T>;
    }
  }
}
