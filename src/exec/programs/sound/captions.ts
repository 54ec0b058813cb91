/**
 * Subtitles as text and lyrics, and from lyrics and XML.
 *
 *   captions.ts text INPUT.srt OUTPUT.txt
 *   captions.ts lrc INPUT.srt OUTPUT.lrc
 *   captions.ts plain INPUT.ass OUTPUT.ass
 *   captions.ts read INPUT (lrc|ttml) OUTPUT.srt [CHARSET]
 *
 * `text` writes what is said, a line for each line of a cue and an empty line between cues, without times and tags; `lrc` a line for each cue, after the
 * time at which it begins. `plain` leaves out drawings and remarks. `read` prints an answer as residents give: warnings, or why the file is refused.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { beyond } from '../data/values/value.ts';
import { answering } from '../process/answer.ts';
import { decodeText, toldOf } from '../text/charset.ts';
import { subRip } from './captions/cues.ts';
import { plainDialogue } from './captions/dialogue.ts';
import { lyricsIn } from './captions/lyrics.ts';
import { timedTextIn } from './captions/timed-text.ts';

/** Bytes of a text that is read; films have a tenth of a MiB. */
const MOST_BYTES = 8 << 20;

const [verb = '', input = '', ...others] = process.argv.slice(2);
if (verb === 'read')
  await answering(() => {
    const [format = '', output = '', charset] = others;
    const { size } = statSync(input);
    if (size > MOST_BYTES) throw beyond('bytes of subtitles', MOST_BYTES, size);
    const decoded = decodeText(readFileSync(input), format === 'ttml' ? ['xml'] : [], charset);
    writeFileSync(output, subRip((format === 'ttml' ? timedTextIn : lyricsIn)(decoded.text)));
    return toldOf(decoded);
  });
else if (verb === 'plain') writeFileSync(others[0] ?? '', plainDialogue(readFileSync(input, 'utf8')));
else writeFileSync(others[0] ?? '', `${written(verb)}\n`);

function written(as: string): string {
  const cues = readFileSync(input, 'utf8')
    .split(/\r?\n(?:\r?\n)+/)
    .map(cueIn)
    .filter(({ text }) => text !== '');
  return as === 'lrc'
    ? cues.map(({ at, text }) => `[${at}]${text.replaceAll('\n', ' ')}`).join('\n')
    : cues.map(({ text }) => text).join('\n\n');
}

/** The first line of a cue is its number, the second its times: `00:01:02,500 --> 00:01:04,000`. */
function cueIn(cue: string): { readonly at: string; readonly text: string } {
  const lines = cue.split(/\r?\n/);
  const times = lines.findIndex((line) => / --> /.test(line));
  const [, hours = '0', minutes = '0', seconds = '00', fraction = '0'] = /^(\d+):(\d\d):(\d\d),(\d{3}) /.exec(lines[times] ?? '') ?? [];
  const at = `${String(Number(hours) * 60 + Number(minutes)).padStart(2, '0')}:${seconds}.${fraction.slice(0, 2)}`;
  return { at, text: times < 0 ? '' : withoutTags(lines.slice(times + 1).join('\n')).trim() };
}

/** `<i>` and the like, and `{\an8}`, by which players place and colour a line. */
function withoutTags(text: string): string {
  return text.replace(/<\/?(?:[biusc]|font|ruby|rt|v|lang)\b[^<>]{0,200}>/gi, '').replace(/\{\\[^{}]{0,200}\}/g, '');
}
