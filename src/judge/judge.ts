/** Says what files are and what converters found in them, away from the loop that serves everybody else: what stalls costs its own sender. */
import type { Facts } from '../catalog/engine.ts';
import type { Sample } from '../catalog/sniff/sample.ts';
import { conversionFailed, Failure, isReason, type Reason } from '../errors.ts';
import { type Answer, type Inspected, type Learned, type Question, READY, type Reader } from './question.ts';
import { Exhausted, openThreads } from './threads.ts';

export interface Judge {
  /** As `resolveSource` of the catalog @returns a canonical id @throws Failure `NO_FILE`, `UNSUPPORTED_MIME`, `INVALID_OPTION`, `OVERLOADED` */
  sourceOf(sample: Sample, filename: string, fromFormat?: string): Promise<string>;
  /** As `matches` of the catalog; false for what cannot be told in time. @throws Failure `OVERLOADED` */
  matches(sample: Sample, format: string): Promise<boolean>;
  /** File names in natural order: `2` before `10`. @throws Failure `CONVERSION_FAILED`, `OVERLOADED` */
  inOrder(names: readonly string[]): Promise<readonly string[]>;
  /** What an inspection read out of its command's words. @throws Failure `CONVERSION_FAILED`, `OVERLOADED` */
  factsOf(reader: Reader, stdout: Uint8Array, task: Inspected): Promise<Facts>;
  /** As the engine's `explain`; undefined for what cannot be told in time. @throws Failure `OVERLOADED` */
  reasonOf(engine: string, words: string, code: number | null): Promise<Reason | undefined>;
  /** Whoever still waits is told `OVERLOADED`. */
  close(): Promise<void>;
}

export interface JudgeOptions {
  /** Whether it will be asked what engines found, and what their words mean. */
  readonly engines: boolean;
  /** Hears why a thread was replaced. */
  readonly onReplaced?: (why: Error) => void;
  /** Of the threads. */
  readonly entry?: URL;
  /** For one question, ms. */
  readonly limitMs?: number;
}

/** One is enough for honest files; the second answers while a hostile one holds the first. */
const THREADS = 2;

export function openJudge({ engines, entry = new URL('./thread.ts', import.meta.url), ...options }: JudgeOptions): Judge {
  const learned: Learned = { engines };
  const threads = openThreads({ ...options, entry, workerData: learned, ready: READY, threads: THREADS });

  /** @param inTime what is said of a file that took too long or too much */
  async function ask(question: Question, bytes: readonly Uint8Array[], inTime: (cause: Exhausted) => unknown): Promise<unknown> {
    const answer = await threads
      .ask(
        question,
        bytes.map(({ buffer }) => buffer as ArrayBuffer),
      )
      .catch((error: unknown) => {
        if (error instanceof Exhausted) return { is: 'value', value: inTime(error) };
        throw error;
      });
    const { is, ...said } = answer as Answer;
    if (is === 'value') return (said as Answer & { is: 'value' }).value;
    return raise(answer as Exclude<Answer, { is: 'value' }>);
  }

  return {
    async sourceOf(sample, filename, fromFormat) {
      const own = copyOf(sample);
      const tooMuch = (cause: Exhausted) => {
        throw new Failure('UNSUPPORTED_MIME', { details: { detected: 'unknown' }, cause });
      };
      return String(await ask({ ask: 'source', sample: own, filename, fromFormat }, [own.head, own.tail], tooMuch));
    },

    async matches(sample, format) {
      const own = copyOf(sample);
      return (await ask({ ask: 'matches', sample: own, format }, [own.head, own.tail], () => false)) === true;
    },

    async inOrder(names) {
      if (names.length < 2) return names;
      const tooMuch = (cause: Exhausted) => {
        throw conversionFailed('output_invalid', { cause });
      };
      return (await ask({ ask: 'order', names }, [], tooMuch)) as readonly string[];
    },

    async factsOf(reader, stdout, { source, target, options }) {
      const own = new Uint8Array(stdout);
      const tooMuch = (cause: Exhausted) => {
        throw conversionFailed('corrupt_input', { cause });
      };
      return (await ask({ ask: 'facts', reader, stdout: own, task: { source, target, options } }, [own], tooMuch)) as Facts;
    },

    async reasonOf(engine, words, code) {
      const reason = await ask({ ask: 'reason', engine, words, code }, [], () => undefined);
      return isReason(reason) ? reason : undefined;
    },

    close: () => threads.close(),
  };
}

/** Handed over and gone, so that nothing is copied on the way; whoever asked keeps its own. */
const copyOf = ({ head, tail, size }: Sample): Sample => ({ head: new Uint8Array(head), tail: new Uint8Array(tail), size });

function raise(answer: Exclude<Answer, { is: 'value' }>): never {
  if (answer.is === 'broken') throw new Error(`a judging thread failed: ${answer.words}`);
  const { code, says, details } = answer;
  throw new Failure(code, { says, details });
}
