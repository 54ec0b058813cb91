/** Whether PDFs are PDF/A-2b, by veraPDF: the reference of those who wrote the standard, and no program that writes our files. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkout } from '../../roles/service.ts';

const PLACE = join(checkout, '.cache/verapdf');

/** @returns for each file `conforms`, or the clauses of ISO 19005-2 that it breaks; a start of Java takes seconds, so all are judged in one */
export async function judgePdfA(paths: readonly string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)('java', ['-cp', `${PLACE}:${PLACE}/jars/*`, 'Judge', ...paths], { maxBuffer: 2 ** 24 });
  return stdout.trimEnd().split('\n');
}
