/** A judging thread: everything here may take as long as a hostile file makes it take, and then the thread is ended. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Engine, Facts, Inspection } from '../catalog/engine.ts';
import { matches, resolveSource } from '../catalog/sniff/sniff.ts';
import type { Tool } from '../catalog/tool.ts';
import { Failure } from '../errors.ts';
import { type Answer, type Learned, type Question, READY, type Reader } from './question.ts';

interface Known {
  readonly engines: ReadonlyMap<string, Engine>;
  readonly tools: ReadonlyMap<string, Tool>;
}

/** Loaded by threads of workers alone: the API only asks what a sample is. */
async function learn({ engines }: Learned): Promise<Known> {
  if (!engines) return { engines: new Map(), tools: new Map() };
  const [all, { tools }] = await Promise.all([import('../catalog/engines.gen.ts'), import('../catalog/tools.ts')]);
  return {
    engines: new Map(all.engines.map((engine) => [engine.id, engine])),
    tools: new Map(tools.map((tool) => [tool.slug, tool])),
  };
}

function answer(known: Known, question: Question): unknown {
  switch (question.ask) {
    case 'source':
      return resolveSource(question.sample, question.filename, question.fromFormat).format;
    case 'matches':
      return matches(question.sample, question.format);
    case 'order':
      return question.names.toSorted(new Intl.Collator('en', { numeric: true }).compare);
    case 'facts':
      return readFacts(known, question);
    case 'reason':
      return known.engines.get(question.engine)?.explain?.(question.words, question.code);
  }
}

function readFacts(known: Known, { reader, stdout, task }: Question & { ask: 'facts' }): Facts {
  const inspection = inspectionOf(known, reader);
  if (inspection === undefined) throw new Error(`nothing reads what ${JSON.stringify(reader)} finds`);
  return inspection.read(Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength).toString(), task);
}

function inspectionOf({ engines, tools }: Known, reader: Reader): Inspection | undefined {
  if ('engine' in reader) return engines.get(reader.engine)?.inspect;
  const work = tools.get(reader.tool)?.work;
  return work !== undefined && 'plan' in work ? (work.inspect ?? work.engine.inspect) : undefined;
}

function answerOf(known: Known, question: Question): Answer {
  try {
    return { is: 'value', value: answer(known, question) };
  } catch (error) {
    if (error instanceof Failure) return { is: 'refused', code: error.code, says: error.message, details: error.details };
    return { is: 'broken', words: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

const known = await learn(workerData as Learned);
parentPort?.on('message', (question: Question) => parentPort?.postMessage(answerOf(known, question)));
parentPort?.postMessage(READY);
