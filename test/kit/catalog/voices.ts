/** Recorded voices whose words are known, and how many words of a text are wrong. */
import { readFile } from 'node:fs/promises';

/** Debian's pocketsphinx-testdata: a chapter of Sense and Sensibility, read for LibriVox. */
const VOICES = '/usr/share/pocketsphinx/test/data/librivox';
/** Read aloud, in order. */
export const CHAPTER = ['0870', '0880', '0890', '0920', '0930'].map((part) => `${VOICES}/sense_and_sensibility_01_austen_64kb-${part}.wav`);

/** What was read, from the package's transcription. */
export async function readAloud(): Promise<string> {
  const lines = await readFile(`${VOICES}/transcription`, 'utf8');
  return lines.replace(/<\/?s>|\(.*\)/g, '').replace('a more a amiable', 'a more amiable');
}

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .replaceAll('mr.', 'mister')
    .match(/[a-zäöüß']+/g) ?? [];

/** Words that were left out, put in or mistaken, for each that was said (Levenshtein's distance). */
export function errorRate(heard: string, said: string): number {
  const [a, b] = [wordsOf(heard), wordsOf(said)];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, word] of a.entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++)
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (word === b[j] ? 0 : 1)));
    row = next;
  }
  return (row.at(-1) ?? 0) / b.length;
}
