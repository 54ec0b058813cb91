/** Pandoc and a program of ours: texts that say themselves what their parts are, as JSON of blocks. */
import { type Engine, everyPair, type Task } from '../../engine.ts';
import { MD } from '../../known-good.ts';
import { COUNT } from '../../planning/documents/document.ts';
import { documentStep, MODEL, MODEL_LOSES, MODEL_OPTIONS } from '../../planning/documents/model.ts';
import { CLOSED, pageToRead, UTF8 } from '../../planning/documents/text.ts';
import { ownStep } from '../../planning/told.ts';
import { CLEAN, explainPandoc, FORMULAS, HEAP, inspectForPandoc, LOCKABLE_TEXTS, PANDOC_READS } from './pandoc.ts';

const SOURCES = ['md', 'html', 'docx', 'odt', 'epub', 'rst', 'tex', 'org', 'fb2', 'dbk', 'jats', 'wiki'];
/** A program of ours makes them ready for Pandoc: its options. */
const READY: Readonly<Record<string, readonly string[]>> = { docx: [], odt: ['--read'], epub: [] };
const TEXTS: ReadonlySet<string> = new Set(SOURCES.filter((id) => ![...LOCKABLE_TEXTS, 'epub'].includes(id)));
/** Not for chains: what the first one of several hops lost would be no block. */
const RANK = 45;

export const engine: Engine = {
  id: 'document-model',
  name: 'filemill document',
  role: 'markup',
  toolchains: ['office'],
  binaries: {
    pandoc: { at: ['/usr/bin/pandoc'], version: { args: ['--version'], pattern: /^pandoc (\d+\.\d+)/m } },
    model: MODEL,
    clean: CLEAN,
    epub: { at: ['program:documents/epub.ts'] },
    docx: { at: ['program:documents/docx.ts'] },
    odt: { at: ['program:documents/odt.ts'] },
    html: CLOSED,
    count: COUNT,
    utf8: UTF8,
  },
  conversions: everyPair(SOURCES, ['json'], { rank: RANK, loses: MODEL_LOSES }),
  trials: [{ file: MD, target: 'json' }],
  options: (source) => [...MODEL_OPTIONS, ...(TEXTS.has(source) ? (['charset'] as const) : [])],
  readsUtf8: TEXTS,
  inspect: inspectForPandoc,
  plan(task) {
    const { source, input, scratch } = task;
    const { steps, page } = readyIn(task);
    const tree = `${scratch}/tree.json`;
    return {
      steps: [
        ...(LOCKABLE_TEXTS.includes(source) ? [{ run: 'clean', args: ['--open', input] }] : []),
        ...steps,
        { run: 'pandoc', args: ['--quiet', '--sandbox', `--from=${readerOf(source)}`, '--to=json', `--output=${tree}`, ...HEAP, page] },
        documentStep(tree, task, aboutOf(task)),
      ],
    };
  },
  explain: explainPandoc,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** The document so that Pandoc reads all of it. */
function readyIn(task: Task): ReturnType<typeof pageToRead> {
  const { source, input, scratch } = task;
  const options = READY[source];
  if (options === undefined) return pageToRead(task);
  const page = `${scratch}/ready.${source}`;
  return { steps: [ownStep(source, [...options, input, page])], page };
}

/** Formulas as GitHub has them. */
const readerOf = (source: string): string => `${PANDOC_READS[source]}${source === 'md' ? FORMULAS : ''}`;

/** They name their title and author. */
const aboutOf = ({ source, input }: Task): string | undefined => (LOCKABLE_TEXTS.includes(source) ? input : undefined);
