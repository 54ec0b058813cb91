/** What has to be said of a subject that may have been found wrongly. */
import type { Told } from '../../process/answer.ts';

/** Below this confidence, the result has to be looked at. */
const SURE = 0.8;
/** Less of a picture is a speck. */
const LEAST_SHARE = 0.002;

export function doubtOf({ confidence, share }: { readonly confidence: number; readonly share: number }): Told | undefined {
  if (share < LEAST_SHARE)
    return { code: 'no_subject', message: 'Nothing in the picture stands out from its background: check the result.' };
  if (confidence >= SURE) return undefined;
  return {
    code: 'low_confidence',
    message: `It is not clear what belongs to the background (confidence ${confidence.toFixed(2)} of 1): check the result.`,
  };
}
