/**
 * Writes what PocketSphinx has heard as a text or as subtitles.
 *
 *   dictation.ts HEARD.txt OUTPUT txt|srt|vtt
 *
 * HEARD has a line with the words of each passage, and one for each word with its beginning, its end and a probability
 * (pocketsphinx_continuous(1), "-time"). Prints an answer as residents give.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { answering } from '../process/answer.ts';
import { type Said, writers } from './speech/cues.ts';

const VERSION = '1.0';
/** Not a silence or a noise, which stand in brackets; `to(2)` is another way to say a word. */
const WORD = /^([a-z'][a-z'._-]{0,60})(?:\(\d{1,2}\))? (\d{1,7}\.\d{3}) (\d{1,7}\.\d{3}) [\d.e-]{1,16}$/i;

const [input = '', output = '', format = ''] = process.argv.slice(2);
if (input === '--version') process.stdout.write(`dictation ${VERSION}\n`);
else
  await answering(() => {
    const said = readFileSync(input, 'utf8')
      .split('\n')
      .flatMap((line): Said[] => {
        const [, text, from, to] = WORD.exec(line) ?? [];
        return text === undefined ? [] : [{ from: Number(from), to: Number(to), text }];
      });
    writeFileSync(output, (writers[format] ?? writers.txt)(said));
    return [
      said.length === 0
        ? { code: 'no_speech', message: 'No speech was found in the recording.' }
        : {
            code: 'rough_transcript',
            message:
              'This was written down without a model for good transcripts: about three words in ten are wrong, and nothing but English is understood.',
          },
    ];
  });
