/** What a ConversionJob is done next, what its status says, and whose turn it is: without a cluster. */
import { describe, expect, it } from 'vitest';
import type { Job } from '../../../src/contracts/api/job.ts';
import {
  type ConversionJobStatus,
  ConversionJobStatus as ConversionJobStatusSchema,
} from '../../../src/contracts/kubernetes/conversion-job.ts';
import type { SubmissionAnswer } from '../../../src/contracts/messages/submission.ts';
import type { Ask } from '../../../src/controller/conversion-jobs/ask.ts';
import {
  askAgainAfterMs,
  CANCEL_WITHIN_MS,
  leavesJob,
  nextStep,
  UPLOAD_PAUSES_MS,
  uploadAgainAfterMs,
} from '../../../src/controller/conversion-jobs/decide.ts';
import { eventDraftOf } from '../../../src/controller/conversion-jobs/events.ts';
import { reconcileConversionJob } from '../../../src/controller/conversion-jobs/reconcile.ts';
import { createRemovals } from '../../../src/controller/conversion-jobs/removals.ts';
import { type ConversionJobObject, FINALIZER } from '../../../src/controller/conversion-jobs/resource.ts';
import { isNews, notUploaded, statusAfter, uploaded } from '../../../src/controller/conversion-jobs/status.ts';
import { newJobTurns } from '../../../src/controller/conversion-jobs/turns.ts';
import { errorTable } from '../../../src/errors.ts';
import type { Kube } from '../../../src/kube/connection/connect.ts';
import type { Recorder } from '../../../src/kube/events.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const HOUR = 3_600_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const ID = '0123456789abcdef0123456789abcdef';
const OUTPUT = { url: 'https://a.example/o', filename: 'a.webp', sizeBytes: 1, contentType: 'image/webp', sha256: ID + ID };

const HELD = { finalizers: [FINALIZER] };
function job(status?: ConversionJobStatus, metadata: object = {}): ConversionJobObject {
  return {
    metadata: { name: 'a', namespace: 'b', uid: 'c', generation: 1, ...metadata },
    spec: { source: { key: 'imports/b/a.png' }, toFormat: 'webp', ttlSecondsAfterFinished: 7_200 },
    ...(status === undefined ? {} : { status }),
  };
}
const ended = (phase: 'Complete' | 'Failed', endedMs: number, expiresMs = 2 * HOUR): ConversionJobStatus => ({
  phase,
  completionTime: at(endedMs),
  ...(phase === 'Complete' ? { output: { ...OUTPUT, expiresAt: at(expiresMs) } } : {}),
});
const leaving = (ms: number, finalizers = [FINALIZER]) => ({ deletionTimestamp: at(ms), finalizers });

describe('the next step', () => {
  it.each([
    ['of a new resource is its submission, without a finalizer', job(), { is: 'ask', question: 'convert' }],
    ["of one with an earlier version's finalizer is to remove that", job(undefined, HELD), { is: 'release' }],
    ["of a finished one with an earlier version's finalizer, too", job(ended('Failed', -HOUR), HELD), { is: 'release' }],
    ['of one whose source is fetched is to submit it again', job({ phase: 'Pending' }), { is: 'ask', question: 'convert' }],
    ['of one with a job is a look at it', job({ phase: 'Running', jobId: ID }), { is: 'ask', question: 'look' }],
    ['of a finished one is to wait for its end', job(ended('Failed', -HOUR)), { is: 'rest', forMs: HOUR }],
    ['of a complete one is to wait for its output to expire', job(ended('Complete', 0, HOUR)), { is: 'rest', forMs: HOUR }],
    ['of one whose output has expired is to say so', job(ended('Complete', -HOUR, -1)), { is: 'expire' }],
    ['of one whose time is over is to remove it', job(ended('Complete', -2 * HOUR)), { is: 'remove' }],
    [
      'of a deleted one that an earlier version holds is to cancel it',
      job(ended('Complete', 0), leaving(-1_000)),
      { is: 'ask', question: 'cancel' },
    ],
    ['of one that could not be cancelled in time is to let go of it', job({}, leaving(-CANCEL_WITHIN_MS)), { is: 'release' }],
    ['of a deleted one that others hold is nothing', job({}, leaving(-HOUR, ['example.com/other'])), { is: 'rest' }],
  ] as const)('%s', (_, object, step) => expect(nextStep(object, NOW)).toEqual(step));
});

describe('what a resource leaves when it is gone', () => {
  it.each([
    ['a job that was submitted, or may have been', job(), true],
    ['a job that runs', job({ phase: 'Running', jobId: ID }), true],
    ['the output of a finished one', job(ended('Complete', -HOUR)), true],
    ['nothing of a failed one', job(ended('Failed', -HOUR)), false],
    ['the output for clients with its URL, where its time was over', job(ended('Complete', -2 * HOUR)), false],
  ] as const)('is %s', (_, object, leaves) => expect(leavesJob(object, NOW)).toBe(leaves));

  it('is cancelled as often as it takes, for a minute, and by its uid where its name is used again', async () => {
    let now = NOW;
    const asked: string[] = [];
    let answer: SubmissionAnswer = { error: { code: 'OVERLOADED', message: 'No.', details: { request_id: '', retryable: true } } };
    const ask: Ask = async (question, { metadata }) => {
      asked.push(`${question} ${metadata.uid}`);
      return answer;
    };
    const removals = createRemovals({ ask, clock: () => now });
    expect(removals.add('b/a', job(undefined, { uid: 'first' }))).toBe(true);
    expect(removals.add('b/a', job(undefined, { uid: 'second' }))).toBe(true);
    expect(await removals.cancel('b/a')).toEqual({ againAfterMs: 1_000 });
    answer = { cancelled: true };
    expect(await removals.cancel('b/a')).toBeUndefined();
    expect(asked).toEqual(['cancel first', 'cancel second', 'cancel first', 'cancel second']);
    expect([...removals.keys()]).toEqual([]);
    removals.add('b/late', job());
    now += CANCEL_WITHIN_MS;
    removals.add('b/other', job());
    expect([...removals.keys()]).toEqual(['b/other']);
  });
});

/** Which of kstatus' conditions is true. */
const STANDING: Readonly<Record<string, readonly string[]>> = {
  Pending: ['Reconciling'],
  Running: ['Reconciling'],
  Complete: ['Ready'],
  Expired: ['Ready'],
  Failed: ['Stalled'],
  Cancelled: ['Stalled'],
};

describe('the status', () => {
  const refusal = (code: string, retryable: boolean, details: object = {}): SubmissionAnswer => ({
    error: { code, message: 'So it is.', details: { request_id: '', retryable, ...details } },
  });
  const statusOf = (answer: SubmissionAnswer, before?: ConversionJobStatus) => statusAfter(job(before), answer, new Date(NOW));
  /** What kstatus reads of it. */
  const STANDARD: readonly string[] = ['Ready', 'Reconciling', 'Stalled'];
  const said = ({ conditions = [] }: ConversionJobStatus) =>
    conditions.filter(({ type }) => !STANDARD.includes(type)).map(({ type, status, reason }) => `${type} ${status} ${reason}`);
  const standing = ({ conditions = [] }: ConversionJobStatus) =>
    STANDARD.filter((type) => conditions.some((one) => one.type === type && one.status === 'True'));

  it.each([
    [{ fetching: true }, undefined, 'Pending', ['Complete False Fetching']],
    [refusal('OVERLOADED', true), undefined, 'Pending', ['Complete False OVERLOADED']],
    [refusal('OVERLOADED', true), { phase: 'Running', jobId: ID }, 'Running', []],
    [refusal('URL_REFUSED', false), undefined, 'Failed', ['Complete False URL_REFUSED', 'Failed True URL_REFUSED']],
    [
      refusal('JOB_EXPIRED', false),
      { phase: 'Running', jobId: ID, startTime: at(-3 * HOUR) },
      'Expired',
      ['Complete False JOB_EXPIRED', 'Failed True JOB_EXPIRED', 'Expired True JOB_EXPIRED'],
    ],
    [
      refusal('JOB_EXPIRED', false),
      { phase: 'Running', jobId: ID, startTime: at(-HOUR) },
      'Cancelled',
      ['Complete False JOB_EXPIRED', 'Failed True JOB_EXPIRED'],
    ],
  ] as const)('after %j and %j is true', (answer, before, phase, conditions) => {
    const status = statusOf(answer as SubmissionAnswer, before as ConversionJobStatus | undefined);
    expect([status.phase, said(status)]).toEqual([phase, conditions]);
    if (conditions.length > 0) expect(standing(status)).toEqual(STANDING[phase]);
  });

  it('names the reason of a failed conversion, and cuts what is too long for it', () => {
    const { error } = statusOf({
      error: { code: 'CONVERSION_FAILED', message: 'x'.repeat(5_000), details: { request_id: '', retryable: false, reason: 'memory' } },
    });
    expect(error).toEqual({ code: 'CONVERSION_FAILED', message: 'x'.repeat(1_024), reason: 'memory' });
  });

  it('takes every code as a reason', () => {
    for (const code of Object.keys(errorTable)) expect(code).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
  });

  it('is news in steps of ten per cent, and not for the order of its fields', () => {
    expect(isNews({ phase: 'Running', progress: 11, jobId: ID }, { jobId: ID, phase: 'Running', progress: 19 })).toBe(false);
    expect(isNews({ phase: 'Running', progress: 19 }, { phase: 'Running', progress: 20 })).toBe(true);
    expect(isNews(undefined, {})).toBe(true);
  });
});

it('one resource of a namespace submits at a time, and none while a refusal holds', () => {
  let now = 0;
  const turns = newJobTurns(
    () => now,
    () => {},
  );
  const leave = turns.take('a', 'a/1');
  expect([turns.wait('a', 'a/2')?.refusal, turns.wait('b', 'b/1')]).toEqual([undefined, undefined]);
  expect(turns.wait('a', 'a/2')).toBeDefined();
  leave();
  const refusal = { code: 'RATE_LIMITED', message: 'Not now.' };
  turns.hold('a', 1_000, refusal);
  now = 400;
  expect([turns.wait('a', 'a/2'), turns.wait('b', 'b/1')]).toEqual([{ ms: 600, refusal }, undefined]);
  now = 1_000;
  expect(turns.wait('a', 'a/2')).toBeUndefined();
});

describe('resources that wait for their turn', () => {
  const scene = () => {
    const woken: string[] = [];
    return {
      woken,
      turns: newJobTurns(
        () => 0,
        (key) => void woken.push(key),
      ),
    };
  };

  it('are woken one at a time, in their order, without those that were deleted', () => {
    const { woken, turns } = scene();
    let leave = turns.take('a', 'a/0');
    for (const key of ['a/1', 'a/2', 'a/3', 'a/1']) turns.wait('a', key);
    turns.forget('a', 'a/2');
    leave();
    expect(woken).toEqual(['a/1']);
    leave = turns.take('a', 'a/1');
    leave();
    turns.take('a', 'a/3')();
    expect(woken).toEqual(['a/1', 'a/3']);
  });

  it('look by themselves the less often the more of them there are, and every few seconds at least', () => {
    const { turns } = scene();
    turns.take('a', 'a/0');
    const waits = Array.from({ length: 1_000 }, (_, index) => turns.wait('a', `a/${index + 1}`)?.ms ?? Number.NaN);
    expect(waits.slice(0, 3)).toEqual([200, 400, 600]);
    expect(waits.at(-1)).toBe(3_000);
  });

  it('read no Secret until then, and are kept out by a refusal of all before the next one is woken', async () => {
    const { woken, turns } = scene();
    const read: string[] = [];
    const asked = Promise.withResolvers<SubmissionAnswer>();
    const deps = {
      kube: { apply: async (_: unknown, object: object) => object } as unknown as Kube,
      recorder: { record: () => {} } as unknown as Recorder,
      ask: () => asked.promise,
      secrets: async ({ metadata }: ConversionJobObject) => void read.push(metadata.name),
      turns,
      clock: () => NOW,
      unfinished: () => 2,
    };
    const { signal } = new AbortController();
    const first = reconcileConversionJob(deps, job(undefined, { name: 'first' }), signal);
    expect(await reconcileConversionJob(deps, job(undefined, { name: 'second' }), signal)).toEqual({ againAfterMs: 200 });
    expect(read).toEqual(['first']);
    const refusal = { code: 'RATE_LIMITED', message: 'Too many.', details: { request_id: '', retryable: true } };
    asked.resolve({ error: refusal, retry_after: 9 });
    await first;
    expect(woken).toEqual(['b/second']);
    expect(await reconcileConversionJob(deps, job(undefined, { name: 'second' }), signal)).toEqual({ againAfterMs: 9_000 });
    expect(read).toEqual(['first']);
  });
});

it('a job is asked about ever more seldom, and many of them share what is asked', () => {
  expect([100, 8_000, HOUR].map((age) => askAgainAfterMs(age, 1))).toEqual([250, 2_000, 15_000]);
  expect(askAgainAfterMs(100, 5_000)).toBe(100_000);
});

describe('an Event', () => {
  const status = (phase: ConversionJobStatus['phase'], reason: string, type = 'Complete'): ConversionJobStatus => {
    const given = { status: 'True' as const, message: `It is ${reason}.`, lastTransitionTime: at(0), observedGeneration: 1 };
    return {
      ...(phase && { phase }),
      conditions: [
        { ...given, type: 'Other', reason: 'Other' },
        { ...given, type, reason },
      ],
    };
  };
  it.each([
    ['of one that waits for its turn', undefined, status('Pending', 'Waiting'), undefined],
    ['of one whose source is fetched', status('Pending', 'Waiting'), status('Pending', 'Fetching'), undefined],
    ['of one that a limit keeps out', status('Pending', 'Waiting'), status('Pending', 'RATE_LIMITED'), 'Warning RATE_LIMITED'],
    ['of one that is still kept out', status('Pending', 'RATE_LIMITED'), status('Pending', 'RATE_LIMITED'), undefined],
    ['of one that is let in', status('Pending', 'RATE_LIMITED'), status('Running', 'Processing'), 'Normal Processing'],
    ['of one that goes on', status('Running', 'Processing'), status('Running', 'Processing'), undefined],
    ['of one that is done', status('Running', 'Processing'), status('Complete', 'Done'), 'Normal Done'],
    ['of one that failed', undefined, status('Failed', 'INVALID_FORMAT', 'Failed'), 'Warning INVALID_FORMAT'],
    ['of one that was cancelled', undefined, status('Cancelled', 'JOB_EXPIRED', 'Failed'), 'Warning JOB_EXPIRED'],
    ['of one whose output has gone', status('Complete', 'Done'), status('Expired', 'JOB_EXPIRED', 'Expired'), 'Normal JOB_EXPIRED'],
  ])('%s', (_, before, after, told) => {
    const happening = eventDraftOf(before, after);
    expect(happening && `${happening.type} ${happening.reason}`).toBe(told);
    if (happening !== undefined) expect(happening.note).toBe(`It is ${happening.reason}.`);
  });
});

describe('a result that is uploaded', () => {
  const s3 = {
    endpoint: 'https://s3.example',
    region: 'r',
    bucket: 'own',
    key: 'a.webp',
    forcePathStyle: true,
    accessKeyIDSecretRef: { name: 'a', key: 'b' },
    secretAccessKeySecretRef: { name: 'a', key: 'b' },
  };
  const wanted: ConversionJobObject = { ...job(), spec: { ...job().spec, output: { s3 } } };
  const made = {
    job_id: ID,
    status: 'done',
    created_at: at(0),
    expires_at: at(2 * HOUR),
    warnings: [],
    output: { url: 'https://a.example/o', filename: 'a.webp', size_bytes: 1, content_type: 'image/webp', sha256: ID + ID },
  } as unknown as Job;
  const says = ({ conditions = [] }: ConversionJobStatus) =>
    conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).sort();

  it('is tried again after longer and longer pauses, and given up in the end', () => {
    let now = NOW;
    let seen = wanted;
    const phases: (string | undefined)[] = [];
    for (let failures = 1; failures <= UPLOAD_PAUSES_MS.length + 1; failures++) {
      const again = uploadAgainAfterMs(failures);
      const status = notUploaded(seen, made, new Date(now), 'there is no such bucket', again);
      expect(status.upload).toEqual({ failures, ...(again === undefined ? {} : { nextTime: expect.any(String) }) });
      now += again ?? 0;
      seen = { ...seen, status };
      phases.push(status.phase);
    }
    expect(phases).toEqual(['Running', 'Running', 'Running', 'Running', 'Running', 'Failed']);
    expect(now - NOW).toBe(1_000_000);
    expect(seen.status?.error?.code).toBe('UploadFailed');
    expect(says(seen.status ?? {})).toEqual([
      'Complete False UploadFailed',
      'Failed True UploadFailed',
      'Ready False UploadFailed',
      'Reconciling False UploadFailed',
      'Stalled True UploadFailed',
      'Uploaded False UploadFailed',
    ]);
  });

  it('is complete with its place and no URL, and does not expire', () => {
    const status = uploaded(wanted, made, new Date(NOW), 'a.webp');
    expect(status.output).toEqual({
      filename: 'a.webp',
      sizeBytes: 1,
      contentType: 'image/webp',
      sha256: ID + ID,
      s3: { endpoint: 'https://s3.example', bucket: 'own', key: 'a.webp' },
    });
    expect(JSON.stringify(status)).not.toContain('https://a.example');
    expect(nextStep({ ...wanted, status }, NOW + HOUR)).toEqual({ is: 'rest', forMs: HOUR });
  });

  it('says what became of the properties of its source, within the bounds of the schema', () => {
    const lost = { property: 'alpha', outcome: 'lost', source: 'x'.repeat(300) } as const;
    const { status } = {
      status: statusAfter(wanted, { data: { ...made, fidelity: { kept: 5, changes: Array(70).fill(lost) } } }, new Date(NOW)),
    };
    expect(status.fidelity?.kept).toBe(5);
    expect(status.fidelity?.changes).toHaveLength(64);
    expect(status.fidelity?.changes[0]).toEqual({ ...lost, source: 'x'.repeat(255) });
    expect(ConversionJobStatusSchema.safeParse(status).success).toBe(true);
  });

  it('that was removed before it was uploaded has failed', () => {
    const details = { request_id: '', retryable: false };
    const gone: SubmissionAnswer = { error: { code: 'JOB_EXPIRED', message: 'gone', details } };
    const seen = { ...wanted, status: { phase: 'Running', jobId: ID, startTime: at(0) } as ConversionJobStatus };
    expect(statusAfter(seen, gone, new Date(NOW + 3 * HOUR)).phase).toBe('Failed');
  });
});
