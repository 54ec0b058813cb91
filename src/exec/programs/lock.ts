/**
 * Writes the order by which qpdf locks a PDF with a password: a file, since whoever is on the machine reads command lines.
 *
 *   lock.ts PASSWORD.txt INPUT.pdf OUTPUT.pdf ORDER.json
 *
 * Not an argument file: qpdf would take a password that begins with `-` for an option. (qpdf manual, "QPDFJob JSON Format")
 */
import { readFileSync, writeFileSync } from 'node:fs';

const [passwordFile = '', inputFile = '', outputFile = '', order = ''] = process.argv.slice(2);
const password = readFileSync(passwordFile, 'utf8');
// One password for both: an owner's of its own would let nobody do more who knows the user's.
const encrypt = { userPassword: password, ownerPassword: password, '256bit': {} };
writeFileSync(order, JSON.stringify({ inputFile, outputFile, passwordMode: 'unicode', objectStreams: 'generate', encrypt }), {
  mode: 0o600,
});
