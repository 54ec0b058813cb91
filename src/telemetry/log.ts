/** Structured logs: one JSON line per event, with request and job ids, and never a file's name, a password, an address or a signed URL. */
import { type DestinationStream, type Logger, pino } from 'pino';
import { z } from 'zod';
import { plainOn } from './plain.ts';

export type Log = Logger;

export const logSettings = z.strictObject({
  level: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('The least important kind of event that is logged'),
});

/** @param stream where lines of JSON go; by default standard output, where a terminal gets plain text */
export function createLog(
  level: string,
  stream: DestinationStream = process.stdout.isTTY ? plainOn(process.stdout) : standardOutput(),
): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, stream);
}

/** Each line is written before the call ends, so that there is nothing to flush: where the reader is gone, flushing would try for ever. */
const standardOutput = (): DestinationStream => Object.assign(pino.destination({ dest: 1, sync: true }), { flushSync: () => {} });
