/** Pandoc and a program of ours: a table of a web page as a sheet. */
import type { Engine } from '../../engine.ts';
import { HTML_TABLE } from '../../known-good.ts';
import { COUNT } from '../../planning/documents/document.ts';
import { CLOSED, pageToRead, UTF8 } from '../../planning/documents/text.ts';
import { explainOffice, OFFICE_LIMITS } from './libreoffice/ask.ts';
import { TABLE_BINARIES, tableConversions, tableOptions, tableSteps } from './libreoffice/tables.ts';
import { explainPandoc, HEAP, inspectForPandoc } from './pandoc.ts';

export const engine: Engine = {
  id: 'html-tables',
  name: 'filemill tables',
  role: 'markup',
  toolchains: ['office'],
  binaries: {
    pandoc: { at: ['/usr/bin/pandoc'], version: { args: ['--version'], pattern: /^pandoc (\d+\.\d+)/m } },
    count: COUNT,
    html: CLOSED,
    utf8: UTF8,
    ...TABLE_BINARIES,
  },
  conversions: tableConversions('html'),
  trials: [{ file: HTML_TABLE, target: 'csv' }],
  options: (_, target) => [...tableOptions(target), 'charset'],
  readsUtf8: new Set(['html']),
  inspect: inspectForPandoc,
  plan(task) {
    const tree = `${task.scratch}/tree.json`;
    const { steps, page } = pageToRead(task);
    return {
      steps: [
        ...steps,
        { run: 'pandoc', args: ['--quiet', '--sandbox', '--from=html', '--to=json', `--output=${tree}`, ...HEAP, page] },
        ...tableSteps(tree, task),
      ],
    };
  },
  explain: (output, code) => explainPandoc(output, code) ?? explainOffice(output),
  limits: OFFICE_LIMITS,
};
