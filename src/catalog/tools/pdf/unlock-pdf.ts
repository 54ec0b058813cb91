/** A PDF without its password; one that has none comes back as it was. */
import { z } from 'zod';
import type { Inspection } from '../../engine.ts';
import { engine } from '../../engines/pdf/qpdf.ts';
import type { Tool } from '../../tool.ts';
import { onlySource, PDF_TO_PDF, password, qpdf } from '../../tool-families/pdf.ts';

/** Without the password, Poppler prints nothing for a file that needs one: qpdf then finds out whether the password is wrong or the file damaged. */
const inspect: Inspection = {
  step: (input) => ({ run: 'pdfinfo', args: [input], succeeds: [0, 1] }),
  // The title comes first and may contain such a line: the last one is pdfinfo's own.
  read: (stdout) => ({ locked: [...stdout.matchAll(/^Encrypted:\s+(yes|no)\b/gm)].at(-1)?.[1] !== 'no' }),
};

export const tool: Tool = {
  ...PDF_TO_PDF,
  slug: 'unlock-pdf',
  summary: 'Removes the password from a PDF, given that password.',
  search: {
    en: 'remove password, decrypt, open, restrictions',
    de: 'Passwort entfernen, entsperren, entschlüsseln, Kennwort',
    es: 'quitar contraseña, desbloquear, descifrar, restricciones',
  },
  input: z.object({ password }),
  example: { password: 'the one that opens it' },
  opensEncrypted: true,
  texts: {
    password: { means: 'Password that the PDF has.' },
  },
  work: {
    target: () => 'pdf',
    methods: [
      {
        engine,
        inspect,
        plan: (task) => {
          const { path, facts } = onlySource(task);
          const result = `${task.output}/document.pdf`;
          if (facts['locked'] === true) return { steps: [qpdf(`--password-file=${task.passwordFile}`, '--decrypt', path, result)] };
          return {
            steps: [{ run: 'copy', args: [path, result] }],
            warnings: [{ code: 'not_locked', message: 'The PDF has no password: it is returned unchanged.' }],
          };
        },
      },
    ],
  },
};
