/** What `kubectl describe` tells of a ConversionJob: that it was let in, how it ended, and what keeps it from either. */
import type { ConversionJobStatus } from '../../contracts/kubernetes/conversion-job.ts';
import type { Happening } from '../../kube/events.ts';

type Phase = NonNullable<ConversionJobStatus['phase']>;

interface Told {
  /** The condition that says why. */
  readonly by: string;
  readonly type: Happening['type'];
  readonly action: string;
}

const TOLD: Readonly<Record<Phase, Told>> = {
  Pending: { by: 'Complete', type: 'Warning', action: 'Submit' },
  Running: { by: 'Complete', type: 'Normal', action: 'Submit' },
  Complete: { by: 'Complete', type: 'Normal', action: 'Convert' },
  Failed: { by: 'Failed', type: 'Warning', action: 'Convert' },
  Cancelled: { by: 'Failed', type: 'Warning', action: 'Convert' },
  Expired: { by: 'Expired', type: 'Normal', action: 'Expire' },
};

const QUIET: ReadonlySet<string> = new Set(['Waiting', 'Fetching']);
/** Of one that runs: what keeps its result from being uploaded. */
const isTrouble = (phase: Phase, reason: string): boolean => phase === 'Running' && !['Processing', 'Uploading'].includes(reason);

/** @returns undefined where `after` says nothing that is news */
export function happeningOf(before: ConversionJobStatus | undefined, after: ConversionJobStatus): Omit<Happening, 'regarding'> | undefined {
  const said = saidBy(after);
  if (said === undefined || said.key === saidBy(before)?.key) return undefined;
  const { reason, note, phase } = said;
  const { type, action } = isTrouble(phase, reason) ? { type: 'Warning' as const, action: 'Upload' } : TOLD[phase];
  return { type, reason, action, note };
}

function saidBy({ phase, conditions = [] }: ConversionJobStatus = {}) {
  if (phase === undefined) return undefined;
  const found = conditions.find(({ type }) => type === TOLD[phase].by);
  // Whoever merely waits for a turn, or for its source, is in nobody's way.
  if (found === undefined || (phase === 'Pending' && QUIET.has(found.reason))) return undefined;
  return { phase, reason: found.reason, note: found.message, key: `${phase} ${found.reason}` };
}
