/**
 * Runs OCR on a picture, whichever side up it lies, and dark on light or light on dark.
 *
 *   read.ts --convert=PROGRAM [--page-orientation=FOLDER] [--ppocr-v4=FOLDER] PICTURE OUTPUT SCRATCH LANGUAGE|auto txt|pdf|tsv
 *
 * OUTPUT is the result's path without its extension, and SCRATCH that of what comes before it. The result has the kind as its extension. A picture may have several pages. If a command fails, exits with its status.
 */
import { renameSync } from 'node:fs';
import { ownArguments } from '../inference/arguments.ts';
import { answering } from '../process/answer.ts';
import { type ReadKind, recognise, refuseMissing } from './ocr/recognise.ts';

const VERSION = '1.0';
const [picture = '', output = '', scratch = '', language = '', kind = 'txt'] = ownArguments;

if (picture === '--version') process.stdout.write(`read ${VERSION}\n`);
else
  await answering(async () => {
    refuseMissing();
    const warnings = await recognise({ picture, to: scratch, kind: kind as ReadKind, language });
    renameSync(`${scratch}.${kind}`, `${output}.${kind}`);
    return warnings;
  });
