/** Parses the JSON lines of our own programs, and validates them: a hostile document may have taken the program over. */
import type { EngineWarning, ProgramAnswer } from '../../catalog/engine.ts';
import { isOption } from '../../catalog/options/options.ts';
import { isReason, type OptionMisfit } from '../../errors.ts';

export type { ProgramAnswer };

/** Our programs send no longer lines, characters. */
export const LONGEST_LINE = 64 * 1024;
/** All warnings are stored in the job's record of 16 kB; the longest lists names of fonts. */
const MOST_WARNINGS = 10;
const LONGEST_WARNING_BYTES = 600;
/** Our programs write plain English. */
const SENTENCE = /^[\x20-\x7e]{1,200}$/;
/** Names in a warning are in any script, without marks that change how their neighbours are read. */
const WITH_NAMES = /^[\x20-\x7e\p{L}\p{N}]+$/u;

/** @returns undefined if the line is no JSON object */
export function readMessage(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const message: unknown = line.length > LONGEST_LINE ? undefined : JSON.parse(line);
    return typeof message === 'object' && message !== null ? (message as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** @returns undefined for messages that are no answer, such as progress */
export function readAnswer(answer: Readonly<Record<string, unknown>>): ProgramAnswer | undefined {
  const { ok, reason, words: message, details, says, warnings, deviceRefused } = answer;
  if (typeof ok !== 'boolean') return undefined;
  const [bound, misfit] = [readBound(details), readMisfit(answer['misfit'])];
  return {
    ok,
    words: typeof message === 'string' ? message.slice(0, 2000) : '',
    ...(isReason(reason) && { reason }),
    ...(bound && { details: bound }),
    ...(isSentence(says) && { says }),
    ...(misfit && { misfit }),
    ...(typeof deviceRefused === 'string' && { deviceRefused: deviceRefused.replaceAll(/[^\x20-\x7e]/g, ' ').slice(0, 500) }),
    ...(Array.isArray(warnings) && { warnings: warnings.slice(0, MOST_WARNINGS).flatMap(readWarning) }),
  };
}

/** The answer of a program that served one request and ended: its last line. */
export function lastAnswer(stdout: string): ProgramAnswer | undefined {
  const message = stdout.trimEnd();
  return readAnswer(readMessage(message.slice(message.lastIndexOf('\n') + 1)) ?? {});
}

function readBound(value: unknown): ProgramAnswer['details'] | undefined {
  const { limit, max, min, received } = (value ?? {}) as Record<string, unknown>;
  if (!isSentence(limit) || !isNumber(received)) return undefined;
  if (isNumber(max)) return { limit, max, received };
  return isNumber(min) ? { limit, min, received } : undefined;
}

function readMisfit(value: unknown): OptionMisfit | undefined {
  const { option, received, allowed, says } = (value ?? {}) as Record<string, unknown>;
  const isKnown = typeof option === 'string' && isOption(option);
  return isKnown && isSentence(received) && isSentence(allowed) && isSentence(says) ? { option, received, allowed, says } : undefined;
}

function readWarning(value: unknown): EngineWarning[] {
  const { code, message } = (value ?? {}) as Record<string, unknown>;
  return typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) && isWarning(message) ? [{ code, message }] : [];
}

const isSentence = (value: unknown): value is string => typeof value === 'string' && SENTENCE.test(value);
const isWarning = (value: unknown): value is string =>
  typeof value === 'string' && Buffer.byteLength(value) <= LONGEST_WARNING_BYTES && WITH_NAMES.test(value);
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
