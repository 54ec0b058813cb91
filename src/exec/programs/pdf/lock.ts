/**
 * Writes the job file with which qpdf encrypts a PDF. A file, since every user of the machine can read command lines.
 *
 *   lock.ts PASSWORD.txt INPUT.pdf OUTPUT.pdf ORDER.json
 *
 * A job file in JSON and not an argument file, in which qpdf would take a password that begins with `-` for an option. (qpdf manual, "QPDFJob
 * JSON Format")
 */
import { readFileSync, writeFileSync } from 'node:fs';

const [passwordFile = '', inputFile = '', outputFile = '', order = ''] = process.argv.slice(2);
const password = readFileSync(passwordFile, 'utf8');
// The same password for both: with a separate owner password, the user password would not give full rights.
const encrypt = { userPassword: password, ownerPassword: password, '256bit': {} };
writeFileSync(order, JSON.stringify({ inputFile, outputFile, passwordMode: 'unicode', objectStreams: 'generate', encrypt }), {
  mode: 0o600,
});
