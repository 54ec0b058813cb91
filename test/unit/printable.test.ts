/** What a terminal would obey is shown instead. */
import { describe, expect, it } from 'vitest';
import { printable, printableJson, printableLines } from '../../src/printable.ts';

describe('a text from outside', () => {
  it.each([
    ['photo.jpg', 'photo.jpg'],
    ['写真 фото\u0301 👩\u200d🚀 می\u200cخواهم', '写真 фото\u0301 👩\u200d🚀 می\u200cخواهم'],
    ['\x1b[31mred\x1b[0m', '\\x1b[31mred\\x1b[0m'],
    ['\x1b]0;title\x07', '\\x1b]0;title\\x07'],
    ['\x9b2J\x7f', '\\x9b2J\\x7f'],
    ['one\ntwo\r\tthree', 'one\\ntwo\\r\\tthree'],
    ['gnp\u202eexe.\u2066x\u2069', 'gnp\\u{202e}exe.\\u{2066}x\\u{2069}'],
    ['a\u200bb\ufeffc\u2028d\u00ade\u{e0041}', 'a\\u{200b}b\\u{feff}c\\u{2028}d\\xade\\u{e0041}'],
    ['half \ud800, byte \udcff', 'half \\u{d800}, byte \\xff'],
  ])('%j is shown as %j', (text, shown) => expect(printable(text)).toBe(shown));

  it('keeps its lines where it has some', () => expect(printableLines('a\tb\n\x1bc')).toBe('a\tb\n\\x1bc'));

  it('stays the same in JSON', () => {
    const value = { name: 'a\x9b\u202e\u{e0041}\x7f\udcff\n', 写真: '👩\u200d🚀' };
    const json = printableJson(JSON.stringify(value));
    expect(JSON.parse(json)).toEqual(value);
    expect(json).not.toMatch(/\p{Cc}|(?!\u200d)\p{Cf}/u);
    expect(json).toContain('写真');
  });
});
