/** The secrets of a submission: decrypted where they are used, and stored nowhere. */
import { boundTo, SubmissionSecrets } from '../../contracts/messages/submission.ts';
import { Failure } from '../../errors.ts';
import type { ApiDeps } from '../deps.ts';

interface Encrypted {
  readonly namespace: string;
  readonly uid: string;
  readonly encrypted?: string | undefined;
}

/** @throws Failure `OVERLOADED` where it was encrypted with a key that is not known here: another replica may know it, or this one soon */
export function secretsOf({ jobs: { encryption } }: Pick<ApiDeps, 'jobs'>, question: Encrypted): SubmissionSecrets {
  if (question.encrypted === undefined) return {};
  try {
    return SubmissionSecrets.parse(JSON.parse(encryption.decrypt(question.encrypted, boundTo(question))));
  } catch {
    // Not the cause: it could tell of what was inside.
    throw new Failure('OVERLOADED', { says: 'The credentials cannot be decrypted: give the controller the same secret.key as the API.' });
  }
}
