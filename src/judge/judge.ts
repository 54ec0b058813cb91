/** Detects file formats and parses converters' output in threads, so that a file that stalls a parser delays only its own request. */
import type { Facts } from '../catalog/engine.ts';
import type { Sample } from '../catalog/looks/sample.ts';
import { conversionFailed, Failure, isReason, type Reason } from '../errors.ts';
import { answerOf, type Loaded } from './answer.ts';
import { type Inspected, type JudgeAnswer, type OutputReader, type Question, READY, type ThreadData } from './question.ts';
import { Exhausted, openThreads } from './threads.ts';

export interface Judge {
  /** As `resolveSource` of the catalog @returns a canonical id @throws Failure `NO_FILE`, `UNSUPPORTED_MIME`, `INVALID_OPTION`, `OVERLOADED` */
  sourceOf(sample: Sample, filename: string, fromFormat?: string): Promise<string>;
  /** As `matches` of the catalog; false where the check takes too long. @throws Failure `OVERLOADED` */
  matches(sample: Sample, format: string): Promise<boolean>;
  /** File names in natural order: `2` before `10`. @throws Failure `CONVERSION_FAILED`, `OVERLOADED` */
  inOrder(names: readonly string[]): Promise<readonly string[]>;
  /** Refuses a file with more frames or pages than the catalog allows. @param path of a file of ours @returns as `lookThrough` of the catalog @throws Failure `CONVERSION_FAILED`, `OVERLOADED` */
  lookThrough(format: string, path: string): Promise<Facts>;
  /** As `contentsOf` of the catalog; nothing of a file that takes too long. @param path of a file of ours @throws Failure `OVERLOADED` */
  contentsOf(format: string, path: string): Promise<Facts>;
  /** Parses the output of an inspection command. @throws Failure `CONVERSION_FAILED`, `OVERLOADED` */
  factsOf(reader: OutputReader, stdout: Uint8Array, task: Inspected): Promise<Facts>;
  /** As the engine's `explain`; undefined where it takes too long. @throws Failure `OVERLOADED` */
  reasonOf(engine: string, output: string, code: number | null): Promise<Reason | undefined>;
  /** Callers that still wait get a Failure `OVERLOADED`. */
  close(): Promise<void>;
}

export interface JudgeOptions {
  /** Whether to load the engines, for `factsOf` and `reasonOf`. */
  readonly engines: boolean;
  /** Called with the reason when a thread was replaced. */
  readonly onReplaced?: (why: Error) => void;
  /** Module that the threads run. */
  readonly entry?: URL;
  /** Limit on one question, ms. */
  readonly limitMs?: number;
}

/** One is enough for honest files; the second answers while a hostile one holds the first. */
const THREADS = 2;

export function openJudge({ engines, entry = new URL('./thread.ts', import.meta.url), ...options }: JudgeOptions): Judge {
  const workerData: ThreadData = { engines };
  const threads = openThreads({ ...options, entry, workerData, ready: READY, threads: THREADS });
  return judgeBy({
    answer: async (question, bytes) =>
      (await threads.ask(
        question,
        bytes.map(({ buffer }) => buffer as ArrayBuffer),
      )) as JudgeAnswer,
    close: () => threads.close(),
  });
}

/** Without a thread, whose start takes longer than a small conversion: for files that are the caller's own. */
export const openJudgeHere = (loaded: Promise<Loaded>): Judge =>
  judgeBy({ answer: async (question) => answerOf(await loaded, question), close: async () => {} });

interface Answering {
  /** @param bytes of the question, which may be moved to another thread @throws Exhausted */
  answer(question: Question, bytes: readonly Uint8Array[]): Promise<JudgeAnswer>;
  close(): Promise<void>;
}

function judgeBy({ answer, close }: Answering): Judge {
  /** @param onExhausted gives the answer for a file that took too much time or memory */
  async function ask(question: Question, bytes: readonly Uint8Array[], onExhausted: (cause: Exhausted) => unknown): Promise<unknown> {
    const reply = await answer(question, bytes).catch((error: unknown): JudgeAnswer => {
      if (error instanceof Exhausted) return { is: 'value', value: onExhausted(error) };
      throw error;
    });
    return reply.is === 'value' ? reply.value : raise(reply);
  }

  return {
    async sourceOf(sample, filename, fromFormat) {
      const copy = copyOf(sample);
      const tooMuch = (cause: Exhausted) => {
        throw new Failure('UNSUPPORTED_MIME', { details: { detected: 'unknown' }, cause });
      };
      return String(await ask({ ask: 'source', sample: copy, filename, fromFormat }, [copy.head, copy.tail], tooMuch));
    },

    async matches(sample, format) {
      const copy = copyOf(sample);
      return (await ask({ ask: 'matches', sample: copy, format }, [copy.head, copy.tail], () => false)) === true;
    },

    async inOrder(names) {
      if (names.length < 2) return names;
      const tooMuch = (cause: Exhausted) => {
        throw conversionFailed('output_invalid', { cause });
      };
      return (await ask({ ask: 'order', names }, [], tooMuch)) as readonly string[];
    },

    async lookThrough(format, path) {
      const tooMuch = (cause: Exhausted) => {
        throw conversionFailed('timeout', { cause });
      };
      return (await ask({ ask: 'look', format, path }, [], tooMuch)) as Facts;
    },

    contentsOf: async (format, path) => (await ask({ ask: 'contents', format, path }, [], () => ({}))) as Facts,

    async factsOf(reader, stdout, { source, target, options }) {
      const copy = new Uint8Array(stdout);
      const tooMuch = (cause: Exhausted) => {
        throw conversionFailed('corrupt_input', { cause });
      };
      return (await ask({ ask: 'facts', reader, stdout: copy, task: { source, target, options } }, [copy], tooMuch)) as Facts;
    },

    async reasonOf(engine, output, code) {
      const reason = await ask({ ask: 'reason', engine, output, code }, [], () => undefined);
      return isReason(reason) ? reason : undefined;
    },

    close,
  };
}

/** A copy whose buffers are transferred to the thread; the caller keeps its own. */
const copyOf = ({ head, tail, size }: Sample): Sample => ({ head: new Uint8Array(head), tail: new Uint8Array(tail), size });

function raise(answer: Exclude<JudgeAnswer, { is: 'value' }>): never {
  if (answer.is === 'broken') throw new Error(`a judging thread failed: ${answer.stack}`);
  const { code, says, details } = answer;
  throw new Failure(code, { says, details });
}
