/** A refusal or a failure as a sentence that says what to do. Codes without a sentence here have the service's. */
import { usualOf } from '../api/catalog.ts';
import type { Refusal } from '../api/client.ts';
import type { Told } from '../words/catalog.ts';
import { allFailures, bytes, failureText, inList, type Key, t } from '../words/words.ts';

const OF_CODE: Readonly<Record<string, Key>> = {
  JOB_EXPIRED: 'expired',
  JOB_NOT_FOUND: 'unknownJob',
  UPLOAD_NOT_FOUND: 'restarted',
  UNSUPPORTED_MIME: 'refusedFile',
  FILE_TOO_LARGE: 'tooLarge',
  FILE_CHANGED: 'fileChanged',
  RESULT_GONE: 'resultGone',
};
const OF_REASON: Readonly<Record<string, Key>> = {
  corrupt_input: 'damaged',
  password_required: 'password_required',
  wrong_password: 'wrong_password',
  unsupported_mime: 'refusedFile',
  file_too_large: 'tooLarge',
  timeout: 'timeout',
};

export function sentenceOf({ code, reason, message, details }: Refusal): Told {
  if (details['limit'] === 'pixels to remove' && details['max'] !== undefined) return { text: t('tooMuchToRemove'), lang: undefined };
  const most = Number(details['max_bytes']);
  if (code === 'FILE_TOO_LARGE' && most > 0) return { text: t('tooLargeIs', { most: bytes(most) }), lang: undefined };
  if (details['ends_early'] === true) return { text: t('endsEarly'), lang: undefined };
  const targets = details['targets'];
  if (code === 'INVALID_FORMAT' && Array.isArray(targets) && targets.length > 0)
    return { text: noRoute(details, targets), lang: undefined };
  const key = (reason === undefined ? undefined : OF_REASON[reason]) ?? OF_CODE[code];
  if (key !== undefined) return { text: t(key, { name: String(details['name'] ?? '') }), lang: undefined };
  if (typeof details['option'] === 'string') return failureText(['INVALID_OPTION'], message, details['option']);
  return failureText([...(reason === undefined ? [] : [reason]), code], message || code);
}
/** All of them by code and reason, but for those of the service's own. */
export function sentences(): Readonly<Record<string, string>> {
  const own = Object.entries({
    ...OF_CODE,
    ...OF_REASON,
    ends_early: 'endsEarly',
    RATE_LIMITED: 'plainLater',
    OVERLOADED: 'plainLater',
  } as const);
  const told = [...allFailures(), ...own.map(([code, key]) => [code, t(key)] as const)];
  // Without those that name what only a request has.
  return Object.fromEntries(told.filter(([, text]) => !/[{}]/.test(text)));
}

/** What most people make of it, and no list of all. */
const NAMED = 5;
function noRoute({ from, to_format: to }: Refusal['details'], targets: readonly unknown[]): string {
  const named = usualOf(String(from), targets.map(String)).slice(0, NAMED);
  return t('noRoute', {
    from: String(from).toUpperCase(),
    to: String(to).toUpperCase(),
    targets: inList(named.map((each) => each.toUpperCase())),
  });
}
export const wantsPassword = ({ reason }: Refusal): boolean => reason === 'password_required' || reason === 'wrong_password';
