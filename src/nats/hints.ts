/** Messages to current subscribers only: never stored, never repeated, never an error. */
import type { Nats } from './connection.ts';
import { isToken, tokenOf } from './token.ts';

/** Drops the message while there is no connection: late hints mislead, and they would pile up. */
export function publish({ core, isConnected }: Nats, about: string, name: string, text: string): void {
  if (isConnected() && isToken(name)) core.publish(`${about}.${name}`, text);
}

/** @param name one token, `*` for any one, `>` for one or more @returns unsubscribe */
export function subscribe({ core }: Nats, about: string, name: string, callback: (name: string, text: string) => void): () => void {
  if (core.isClosed()) return () => {};
  const subscription = core.subscribe(`${about}.${['*', '>'].includes(name) ? name : tokenOf(name)}`, {
    callback: (error, message) => {
      if (error === null) callback(message.subject.slice(about.length + 1), message.string());
    },
  });
  return () => {
    if (!subscription.isClosed()) subscription.unsubscribe();
  };
}
