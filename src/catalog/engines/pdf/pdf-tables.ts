/** Poppler's pdftotext and programs of ours: a table of a PDF, found by the places of its words, as a sheet. */
import type { Engine } from '../../engine.ts';
import { PDF_TABLE } from '../../known-good.ts';
import { AWK, countWords, requireOrder, writtenText } from '../../planning/documents/page-words.ts';
import { countPages, explainPdf, openPdf, PDFINFO, QPDF } from '../../planning/documents/pdf.ts';
import { reasonOfText } from '../../planning/told.ts';
import { explainOffice, OFFICE_LIMITS } from '../documents/libreoffice/ask.ts';
import { TABLE_BINARIES, tableConversions, tableOptions, tableSteps } from '../documents/libreoffice/tables.ts';

export const engine: Engine = {
  id: 'pdf-tables',
  name: 'filemill tables',
  role: 'pdf',
  toolchains: ['office'],
  binaries: {
    pdftotext: { at: ['/usr/bin/pdftotext'], version: { args: ['-v'], pattern: /version (\d+\.\d+)/ } },
    awk: AWK,
    pdfinfo: PDFINFO,
    qpdf: QPDF,
    ...TABLE_BINARIES,
  },
  conversions: tableConversions('pdf'),
  trials: [{ file: PDF_TABLE, target: 'csv' }],
  options: (_, target) => ['pages', 'password', ...tableOptions(target)],
  inspect: countPages,
  plan: (task) => {
    const { steps, path, pages, warnings } = openPdf(task);
    const layer = `${task.scratch}/layer.txt`;
    const words = `${task.scratch}/words.tsv`;
    const next = countWords(layer, pages, (counted) => {
      requireOrder(counted);
      return { steps: [{ run: 'pdftotext', args: ['-tsv', path, words] }, ...tableSteps(words, task)] };
    });
    return { steps: [...steps, writtenText(path, layer)], warnings, next };
  },
  explain: (output, code) => reasonOfText(output, code) ?? explainPdf(output) ?? explainOffice(output),
  limits: OFFICE_LIMITS,
};
