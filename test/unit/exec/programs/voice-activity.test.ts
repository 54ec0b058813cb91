/** Speech without its pauses: Silero VAD on real voices between silence and noise, and where phrases were in the recording. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { spansOf, speechIn } from '../../../../src/exec/programs/sound/speech/activity.ts';
import { type Span, Speech, SpokenRecording } from '../../../../src/exec/programs/sound/speech/recording.ts';
import { CHAPTER } from '../../../kit/catalog/voices.ts';

const RATE = 16_000;
const home = mkdtempSync(join(tmpdir(), 'filemill-voice-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A voice, 10 s of something, and another voice. @returns the recording, and where the voices are, s */
function spoken(between: string): { readonly path: string; readonly voices: readonly [number, number] } {
  const path = join(home, 'spoken.raw');
  const [first = '', second = ''] = CHAPTER;
  const even = [0, 1, 2].map((i) => `[${i}:a]aresample=16000,aformat=channel_layouts=mono[a${i}]`).join(';');
  const inputs = ['-i', first, '-f', 'lavfi', '-t', '10', '-i', between, '-i', second];
  execFileSync('ffmpeg', [
    '-v',
    'error',
    '-y',
    ...inputs,
    '-filter_complex',
    `${even};[a0][a1][a2]concat=n=3:v=0:a=1`,
    '-f',
    's16le',
    path,
  ]);
  const lengths = [first, second].map((each) =>
    Number(execFileSync('ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', each], { encoding: 'utf8' })),
  );
  return { path, voices: [lengths[0] ?? 0, lengths[1] ?? 0] };
}

const heardIn = async (path: string): Promise<readonly Span[]> => {
  const recording = new SpokenRecording(path);
  const spans = await speechIn(recording, resolve('.cache/models/silero-vad'), () => undefined);
  recording.close();
  return spans;
};

it.each([
  ['silence', 'anullsrc=r=16000:cl=mono'],
  ['noise', 'anoisesrc=c=pink:a=0.1:s=3:r=16000'],
])('hears voices, and not the %s between them', async (_, between) => {
  const { path, voices } = spoken(between);
  const spans = await heardIn(path);
  const within = (from: number, to: number) =>
    spans.reduce((sum, span) => sum + Math.max(0, Math.min(to, span.to / RATE) - Math.max(from, span.from / RATE)), 0);
  expect(within(0, voices[0]) / voices[0]).toBeGreaterThan(0.85);
  expect(within(voices[0] + 10, voices[0] + 10 + voices[1]) / voices[1]).toBeGreaterThan(0.85);
  // Half a second at each edge may be a breath.
  expect(within(voices[0] + 0.5, voices[0] + 9.5)).toBe(0);
});

it('leaves out clicks, joins words, and keeps the edges of the recording', () => {
  const likely = (pattern: string) => [...pattern].map((each) => (each === '#' ? 0.9 : 0.05));
  // A piece is 32 ms: a click of one, and two words with 10 between them.
  expect(spansOf(likely(`${'.'.repeat(50)}#${'.'.repeat(50)}`), 101 * 512)).toEqual([]);
  expect(spansOf(likely(`####${'.'.repeat(10)}####`), 18 * 512)).toEqual([{ from: 0, to: 18 * 512 }]);
  const [first, second] = spansOf(likely(`${'#'.repeat(10)}${'.'.repeat(100)}${'#'.repeat(10)}`), 120 * 512);
  expect([first?.from, first?.to, second?.from, second?.to]).toEqual([0, 10 * 512 + 4000, 110 * 512 - 4000, 120 * 512]);
});

it('tells when phrases were said, and puts none into a pause', () => {
  const path = join(home, 'numbers.raw');
  writeFileSync(path, Buffer.from(Int16Array.from({ length: 60 * RATE }, (_, i) => Math.floor(i / RATE) * 100).buffer));
  const recording = new SpokenRecording(path);
  const speech = new Speech(recording, [
    { from: 10 * RATE, to: 13 * RATE },
    { from: 40 * RATE, to: 45 * RATE },
  ]);
  // A second of silence stands for the pause.
  expect(speech.samples).toBe(9 * RATE);
  // What is read goes on behind the pause, and is silent behind the end.
  const read = speech.read(2 * RATE, 8 * RATE);
  const heard = [0, 1, 2, 3, 6, 7].map((second) => Math.round((read[second * RATE + 100] ?? 0) * 32_768));
  expect(heard).toEqual([1200, 0, 4000, 4100, 4400, 0]);
  expect(speech.placed(0.5, 2.5)).toEqual({ from: 10.5, to: 12.5 });
  expect(speech.placed(5, 8)).toEqual({ from: 41, to: 44 });
  // It begins just before the pause, and is said behind it; or ends just behind it, and was said before.
  expect(speech.placed(2.8, 6)).toEqual({ from: 40, to: 42 });
  expect(speech.placed(1, 4.2)).toEqual({ from: 11, to: 13 });
  recording.close();
});
