/** Serves the controller's requests about ConversionJobs: convert, look and cancel. Any replica answers, and nothing is done twice. */
import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import {
  SUBMISSION_VERSION,
  Submission,
  type SubmissionAnswer,
  type SubmissionQuestion,
  Submitted,
  UploadQuestion,
} from '../../contracts/messages/submission.ts';
import { Failure } from '../../errors.ts';
import { visibility } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { refuseWhileStopping } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { failureOf, problemOf } from '../http/problem.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { answersText } from '../jobs/text.ts';
import { shown, textViewOf, viewOf } from '../jobs/view.ts';
import { sourceShares, withPlace } from '../submit/fetches.ts';
import { createSubmitted } from './create.ts';
import { failureOfSubmitted } from './refused.ts';
import { endOf, uploadOutput } from './upload.ts';

/** The controller waits 5 s for an answer: it gets one before that, ms. */
const ANSWER_WITHIN_MS = 2_500;
/** When a replica dies while it fetches a source, another one may take the submission after this, ms. */
const LOCK_MS = 15_000;
/** Sources that one replica brings at a time, by where they are: what is in the bucket never waits for servers that take minutes. */
const PLACES = { url: 20, bucket: 20, upload: 10 };

const FETCHING: SubmissionAnswer = { fetching: true };
const UPLOADING: SubmissionAnswer = { uploading: true };

export interface Submissions {
  /** From the text of a request to the text of its answer. */
  readonly answers: Readonly<Record<SubmissionQuestion, (text: string) => Promise<string>>>;
  /** Resolves when no source is being fetched; `stopping` aborts the fetches. */
  idle(): Promise<void>;
}

/** @param base what links begin with */
export function submissionsTo(deps: ApiDeps, base: () => string): Submissions {
  const { store, signals, encryption, clock } = deps.jobs;
  const { suffix } = deps.files;
  const { log } = deps.telemetry;
  const working = new Map<string, Promise<SubmissionAnswer>>();
  const shares = { url: sourceShares(PLACES.url), bucket: sourceShares(PLACES.bucket), upload: sourceShares(PLACES.upload) };

  /** Without our secret, the uid reveals neither the job's id nor its files. */
  const idOf = ({ namespace, uid }: Submitted): string => encryption.hmac(`submission\0${namespace}\0${uid}`).slice(0, 32);
  const find = async (id: string): Promise<JobRecord | undefined> => (await store.get(id))?.record;
  /** One process at a time creates or cancels the job. @returns whether it was this one */
  const alone = (id: string, work: () => Promise<void>): Promise<boolean> => store.withLock(`submission-${id}`, LOCK_MS, work);

  const answer = (found: JobRecord | undefined): SubmissionAnswer => {
    const record = shown(found, clock());
    if (record.state === 'error') throw failureOfSubmitted(record);
    const view = answersText(deps.catalogue.current, record) ? textViewOf : viewOf;
    return { data: view(record, { base: base(), suffix, progress: signals.lastProgress(record.id) }) } as SubmissionAnswer;
  };

  const create = async (id: string, submission: Submission): Promise<SubmissionAnswer> => {
    let answered = FETCHING;
    await alone(id, async () => {
      // The previous holder of the lock may have created it.
      answered = answer((await find(id)) ?? (await createSubmitted(deps, id, submission)));
    });
    return answered;
  };

  const begin = (id: string, kind: keyof typeof PLACES, namespace: string, does: () => Promise<SubmissionAnswer>) => {
    refuseWhileStopping(deps);
    const work = withPlace(shares[kind], namespace, does).finally(() => working.delete(id));
    working.set(id, work);
    return work;
  };

  const convert = async (submission: Submission): Promise<SubmissionAnswer> => {
    const id = idOf(submission);
    const found = await find(id);
    if (found !== undefined) return answer(found);
    if (working.has(id)) return FETCHING;
    const kind = 'key' in submission.source ? 'bucket' : 'url';
    return soon(
      begin(id, kind, submission.namespace, () => create(id, submission)),
      FETCHING,
    );
  };

  const look = async (submitted: Submitted): Promise<SubmissionAnswer> => answer(await find(idOf(submitted)));

  const upload = async (question: UploadQuestion): Promise<SubmissionAnswer> => {
    const id = idOf(question);
    const known = shown(await find(id), clock());
    const end = endOf(known, question.attempt);
    if (end !== undefined) return end;
    if (working.has(id)) return UPLOADING;
    const uploadOnce = async (): Promise<SubmissionAnswer> => {
      let answered = UPLOADING;
      await alone(id, async () => {
        // The previous holder of the lock may have uploaded it.
        const record = shown(await find(id), clock());
        answered = endOf(record, question.attempt) ?? (await uploadOutput(deps, record, question));
      });
      return answered;
    };
    return soon(begin(id, 'upload', question.namespace, uploadOnce), UPLOADING);
  };

  const cancel = async (submitted: Submitted): Promise<SubmissionAnswer> => {
    const id = idOf(submitted);
    // Aborts a download on any replica, and the worker where the job runs already.
    signals.cancel(id);
    const ended = await alone(id, async () => {
      const record = await find(id);
      if (record !== undefined && visibility(record, clock()) !== 'forgotten') await cancelJob(deps, id);
    });
    return ended ? { cancelled: true } : FETCHING;
  };

  const answering =
    <T extends Submitted>(schema: z.ZodType<T>, work: (question: T) => Promise<SubmissionAnswer>) =>
    async (text: string): Promise<string> => {
      try {
        return JSON.stringify(await work(read(schema, text)));
      } catch (error) {
        const failure = failureOf(error, { log });
        const { retryAfter } = failure;
        const { error: problem } = problemOf(failure, randomUUID());
        return JSON.stringify({
          error: problem,
          ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
        } satisfies SubmissionAnswer);
      }
    };

  return {
    answers: {
      convert: answering(Submission, convert),
      look: answering(Submitted, look),
      cancel: answering(Submitted, cancel),
      upload: answering(UploadQuestion, upload),
    },
    idle: async () => void (await Promise.allSettled(working.values())),
  };
}

/** @throws Failure `BAD_REQUEST`; `OVERLOADED` where a newer replica can read it */
function read<T extends Submitted>(schema: z.ZodType<T>, text: string): T {
  const sent: unknown = JSON.parse(text);
  const version = (sent as Partial<Submitted> | null)?.version ?? 0;
  if (version > SUBMISSION_VERSION)
    throw new Failure('OVERLOADED', { says: 'This replica is older than the controller: try again in a moment.' });
  const question = schema.safeParse(sent);
  if (question.success) return question.data;
  const wrong = question.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).slice(0, 5);
  throw new Failure('BAD_REQUEST', { says: `The submission could not be read: ${wrong.join('; ')}.` });
}

/** The work's answer if it comes in time, else `otherwise`. */
async function soon(work: Promise<SubmissionAnswer>, otherwise: SubmissionAnswer): Promise<SubmissionAnswer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SubmissionAnswer>((resolve) => {
    timer = setTimeout(resolve, ANSWER_WITHIN_MS, otherwise);
  });
  try {
    // If the work fails later, the race has handled its rejection.
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
