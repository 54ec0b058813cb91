/** What was said, as text and subtitles. */
import { describe, expect, it } from 'vitest';
import { plainText, type Said, srt, vtt } from '../../../../src/exec/programs/sound/speech/cues.ts';

const said = (from: number, to: number, text: string): Said => ({ from, to, text });
/** Each cue's times, ms, and lines. */
const cuesOf = (text: string) =>
  text
    .trim()
    .split('\n\n')
    .map((cue) => {
      const [, times = '', ...lines] = cue.split('\n');
      const [from = 0, to = 0] = times.split(' --> ').map((clock) => {
        const [hours = 0, minutes = 0, seconds = 0, ms = 0] = clock.split(/[:,]/).map(Number);
        return ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms;
      });
      return { from, to, lines };
    });

describe('subtitles', () => {
  it('have a number, times and text', () => {
    expect(srt([said(0.5, 2, 'Good morning.'), said(3661.25, 3662.0004, 'One hour later.')])).toBe(
      '1\n00:00:00,500 --> 00:00:02,000\nGood morning.\n\n2\n01:01:01,250 --> 01:01:02,000\nOne hour later.\n',
    );
    expect(vtt([said(0, 1.5, 'a < b & c')])).toBe('WEBVTT\n\n00:00:00.000 --> 00:00:01.500\na &lt; b &amp; c\n');
    expect([srt([]), vtt([])]).toEqual(['', 'WEBVTT\n\n']);
  });

  it('split a long sentence into cues of two lines, whose times follow each other', () => {
    const text =
      'When the ships had left the harbour, the old man went back to his house, lit the lamp, and wrote down what he had seen that day, as he had done for many years.';
    const cues = cuesOf(srt([said(10, 22, text)]));
    expect(cues.length).toBeGreaterThan(1);
    expect(cues.flatMap(({ lines }) => lines).join(' ')).toBe(text);
    for (const { lines } of cues) {
      expect(lines.length).toBeLessThanOrEqual(2);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
    }
    expect([cues[0]?.from, cues.at(-1)?.to]).toEqual([10_000, 22_000]);
    for (const [i, { from, to }] of cues.entries()) {
      expect(to - from).toBeLessThanOrEqual(8000);
      if (i > 0) expect(from).toBe(cues[i - 1]?.to);
    }
  });

  it('split a text without spaces between letters', () => {
    const text = '今日は天気がいいので公園を散歩してからコーヒーを飲みました'.repeat(4);
    const cues = cuesOf(srt([said(0, 10, text)]));
    expect(cues.flatMap(({ lines }) => lines).join('')).toBe(text);
    expect(cues.length).toBeGreaterThan(1);
  });

  it('join what was cut in the middle of a sentence, but not over a pause', () => {
    expect(cuesOf(srt([said(0, 2, 'He might have been'), said(2, 3, 'very happy.'), said(3, 4, 'Or not.')]))).toMatchObject([
      { from: 0, to: 3000, lines: ['He might have been very happy.'] },
      { from: 3000, to: 4000 },
    ]);
    expect(cuesOf(srt([said(0, 2, 'He said'), said(3, 4, 'nothing.')]))).toHaveLength(2);
  });
});

describe('a text', () => {
  it('has a paragraph for what follows a long pause', () => {
    expect(plainText([said(0, 1, 'One.'), said(1.5, 2, 'Two.'), said(4, 5, 'Three.')])).toBe('One. Two.\n\nThree.\n');
    expect(plainText([said(0, 1, 'こんにちは。'), said(1, 2, '元気ですか。')])).toBe('こんにちは。元気ですか。\n');
    expect(plainText([])).toBe('');
  });
});
