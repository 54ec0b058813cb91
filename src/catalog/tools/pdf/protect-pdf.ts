/** Encrypts a PDF with a password (AES-256). */
import { z } from 'zod';
import { engine } from '../../engines/pdf/qpdf.ts';
import type { Tool } from '../../tool.ts';
import { inspectOpen, onlySource, PDF_TO_PDF, password, qpdf } from '../../tool-families/pdf.ts';

export const tool: Tool = {
  ...PDF_TO_PDF,
  slug: 'protect-pdf',
  summary: 'Adds a password to a PDF (AES-256). Remove an existing password first, with unlock-pdf.',
  search: {
    en: 'password, encrypt, lock, secure',
    de: 'Passwort, Kennwort, verschlüsseln, sperren, schützen',
    es: 'contraseña, cifrar, bloquear, proteger',
  },
  input: z.object({ password }),
  example: { password: 'a long one' },
  texts: {
    password: { means: 'Password that the PDF will need to be opened.' },
  },
  work: {
    target: () => 'pdf',
    methods: [
      {
        engine,
        inspect: inspectOpen,
        plan: (task) => {
          const { path } = onlySource(task);
          const order = `${task.scratch}/order.json`;
          return {
            steps: [
              { run: 'lock', args: [task.passwordFile ?? '', path, `${task.output}/document.pdf`, order] },
              qpdf(`--job-json-file=${order}`),
            ],
          };
        },
      },
    ],
  },
};
