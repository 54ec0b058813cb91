/** A refusal or a failure as a sentence that says what to do. Codes without a sentence here have the service's. */
import type { Refusal } from '../api/client.ts';
import type { Told } from '../words/catalog.ts';
import { failureText, type Key, t } from '../words/words.ts';

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
  const key = (reason === undefined ? undefined : OF_REASON[reason]) ?? OF_CODE[code];
  if (key !== undefined) return { text: t(key, { name: String(details['name'] ?? '') }), lang: undefined };
  if (typeof details['option'] === 'string') return failureText(['INVALID_OPTION'], message, details['option']);
  return failureText([...(reason === undefined ? [] : [reason]), code], message || code);
}
export const wantsPassword = ({ reason }: Refusal): boolean => reason === 'password_required' || reason === 'wrong_password';
