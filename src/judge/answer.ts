/** The answers of a judge: what a file is, and what a converter's output says. Pure, but for the file that is looked through. */
import { closeSync, openSync } from 'node:fs';
import type { Engine, Facts, Inspection } from '../catalog/engine.ts';
import { contentsOf } from '../catalog/planning/contents/measure.ts';
import { lookThrough } from '../catalog/planning/look-through.ts';
import { saysOutOfMemory } from '../catalog/planning/out-of-memory.ts';
import type { Pieces } from '../catalog/planning/pieces.ts';
import { matches, resolveSource } from '../catalog/sniff/sniff.ts';
import { inspectionOf, type Tool } from '../catalog/tool.ts';
import { Failure, type Reason } from '../errors.ts';
import { piecesOf } from './pieces.ts';
import type { JudgeAnswer, OutputReader, Question, ThreadData } from './question.ts';

/** What parses the output of engines. */
export interface Loaded {
  readonly engines: ReadonlyMap<string, Engine>;
  readonly tools: ReadonlyMap<string, Tool>;
}

/** Only workers load engines and tools: the API only detects the formats of samples. */
export async function loadJudged({ engines }: ThreadData): Promise<Loaded> {
  if (!engines) return { engines: new Map(), tools: new Map() };
  const [all, { tools }] = await Promise.all([import('../catalog/engines.gen.ts'), import('../catalog/tools.ts')]);
  return {
    engines: new Map(all.engines.map((engine) => [engine.id, engine])),
    tools: new Map(tools.map((tool) => [tool.slug, tool])),
  };
}

function answer(loaded: Loaded, question: Question): unknown {
  switch (question.ask) {
    case 'source':
      return resolveSource(question.sample, question.filename, question.fromFormat).format;
    case 'matches':
      return matches(question.sample, question.format);
    case 'order':
      return question.names.toSorted(new Intl.Collator('en', { numeric: true }).compare);
    case 'look':
      return opened(question, lookThrough);
    case 'contents':
      return opened(question, contentsOf);
    case 'facts':
      return readFacts(loaded, question);
    case 'reason':
      return reasonIn(loaded.engines.get(question.engine), question.output, question.code);
  }
}

/** A program that gets no memory often says that the file cannot be read, too. */
function reasonIn(engine: Engine | undefined, output: string, code: number | null): Reason | undefined {
  const reason = engine?.explain?.(output, code);
  return (reason === undefined || reason === 'corrupt_input') && saysOutOfMemory(output) ? 'memory' : reason;
}

function opened({ format, path }: Question & { ask: 'look' | 'contents' }, read: (format: string, file: Pieces) => Facts): Facts {
  const fd = openSync(path, 'r');
  try {
    return read(format, piecesOf(fd));
  } finally {
    closeSync(fd);
  }
}

function readFacts(loaded: Loaded, { reader, stdout, task }: Question & { ask: 'facts' }): Facts {
  const inspection = inspectionBy(loaded, reader);
  if (inspection === undefined) throw new Error(`${JSON.stringify(reader)} has no inspection`);
  return inspection.read(Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength).toString(), task);
}

function inspectionBy({ engines, tools }: Loaded, reader: OutputReader): Pick<Inspection, 'read'> | undefined {
  if (!('tool' in reader)) return engines.get(reader.engine)?.[reader.measures ? 'measures' : 'inspect'];
  const work = tools.get(reader.tool)?.work;
  const method = work !== undefined && 'methods' in work ? work.methods.find(({ engine }) => engine.id === reader.engine) : undefined;
  return method === undefined ? undefined : inspectionOf(method);
}

export function answerOf(loaded: Loaded, question: Question): JudgeAnswer {
  try {
    return { is: 'value', value: answer(loaded, question) };
  } catch (error) {
    if (error instanceof Failure) return { is: 'refused', code: error.code, says: error.message, details: error.details };
    return { is: 'broken', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
