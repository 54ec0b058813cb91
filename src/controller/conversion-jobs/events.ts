/** The Events of a ConversionJob for `kubectl describe`: it was admitted, how it ended, and what prevents either. */
import type { ConversionJobStatus } from '../../contracts/kubernetes/conversion-job.ts';
import type { EventDraft } from '../../kube/events.ts';

type Phase = NonNullable<ConversionJobStatus['phase']>;

interface EventOfPhase {
  /** The condition with the reason. */
  readonly by: string;
  readonly type: EventDraft['type'];
  readonly action: string;
}

const EVENTS: Readonly<Record<Phase, EventOfPhase>> = {
  Pending: { by: 'Complete', type: 'Warning', action: 'Submit' },
  Running: { by: 'Complete', type: 'Normal', action: 'Submit' },
  Complete: { by: 'Complete', type: 'Normal', action: 'Convert' },
  Failed: { by: 'Failed', type: 'Warning', action: 'Convert' },
  Cancelled: { by: 'Failed', type: 'Warning', action: 'Convert' },
  Expired: { by: 'Expired', type: 'Normal', action: 'Expire' },
};

const QUIET: ReadonlySet<string> = new Set(['Waiting', 'Fetching']);
/** Whether something prevents the upload of a running job's result. */
const isTrouble = (phase: Phase, reason: string): boolean => phase === 'Running' && !['Processing', 'Uploading'].includes(reason);

/** @returns undefined if `after` has nothing new */
export function eventDraftOf(
  before: ConversionJobStatus | undefined,
  after: ConversionJobStatus,
): Omit<EventDraft, 'regarding'> | undefined {
  const summary = summaryOf(after);
  if (summary === undefined || summary.key === summaryOf(before)?.key) return undefined;
  const { reason, note, phase } = summary;
  const { type, action } = isTrouble(phase, reason) ? { type: 'Warning' as const, action: 'Upload' } : EVENTS[phase];
  return { type, reason, action, note };
}

function summaryOf({ phase, conditions = [] }: ConversionJobStatus = {}) {
  if (phase === undefined) return undefined;
  const found = conditions.find(({ type }) => type === EVENTS[phase].by);
  // Waiting for a turn, or for the source, is normal.
  if (found === undefined || (phase === 'Pending' && QUIET.has(found.reason))) return undefined;
  return { phase, reason: found.reason, note: found.message, key: `${phase} ${found.reason}` };
}
