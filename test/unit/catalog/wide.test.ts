/** Text of two or four bytes a character is told from what is no text, with a byte order mark or without one. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeWide, markedWide, unmarkedWide } from '../../../src/catalog/looks/wide.ts';

const TEXTS = {
  English: 'words of a text',
  German: 'Straße und Flüsse; größer als üblich.\n',
  Russian: 'Обычный текст, который прочтёт любой.\n',
  Greek: 'Αυτό είναι ένα απλό κείμενο στα ελληνικά.\n',
  Hebrew: 'שלום עולם, זה טקסט פשוט\n',
  Arabic: 'مرحبا بالعالم، هذا نص بسيط\n',
  Hindi: 'यह एक सरल पाठ है।\n',
  Thai: 'สวัสดีชาวโลก นี่คือข้อความ\n',
  Japanese: 'これは日本語の文章です。カタカナも\n',
  Korean: '안녕하세요. 한국어 문장입니다.\n',
  Chinese: '这是一个中文的句子，用来检测编码。\n',
  'a table of hardly any words': 'a;;;b;;;\r\n;;1;;;;;\r\n| --- | --- |\r\n',
  brackets: '[[{}, []], [[]]]\n',
  'a table with a few words': 'номер;имя\r\n1;Иван\r\n2;Anna\r\n',
};
const ENCODINGS = ['utf-16le', 'utf-16be', 'utf-32le', 'utf-32be'] as const;
/** By iconv. */
const encoded = (text: string, encoding: string): Buffer => execFileSync('iconv', ['-f', 'utf-8', '-t', encoding], { input: text });

describe.each(Object.entries(TEXTS))('%s', (_, text) => {
  it.each(ENCODINGS)('in %s without a mark is recognised', (encoding) => {
    const bytes = encoded(text, encoding);
    expect(unmarkedWide(bytes)).toBe(encoding);
    expect(decodeWide(bytes, encoding)).toBe(text);
  });
  it.each(ENCODINGS)('in %s is recognised by its mark', (encoding) => {
    const bytes = encoded(`\ufeff${text}`, encoding);
    expect(markedWide(bytes)).toBe(encoding);
    expect(decodeWide(bytes, encoding)).toBe(text);
  });
  it('is recognised by its beginning, wherever that ends', () => {
    for (const encoding of ENCODINGS) {
      const long = encoded(`${text} 😀\n`.repeat(400), encoding);
      for (const size of [4094, 4095, 4096, 4097, long.length]) expect(unmarkedWide(long.subarray(0, size)), `${size} B`).toBe(encoding);
    }
  });
});

describe('is no such text', () => {
  const samples = (count: number, value: (at: number) => number): Buffer => {
    const bytes = Buffer.alloc(2 * count);
    for (let at = 0; at < count; at++) bytes.writeInt16LE(value(at), 2 * at);
    return bytes;
  };
  it.each<[string, Buffer]>([
    ['narrow text', Buffer.from('Bush hid the facts.\n')],
    ['text in UTF-8', Buffer.from(TEXTS.Chinese)],
    ['a tone', samples(4000, (at) => Math.round(8000 * Math.sin(at / 20)))],
    ['a soft tone', samples(4000, (at) => Math.round(300 * Math.sin(at / 50)))],
    ['silence', samples(4000, () => 0)],
    ['a grey wedge of 16 bits', samples(2000, (at) => at * 16)],
    ['numbers of four bytes', Buffer.from(Uint32Array.from({ length: 900 }, (_, at) => at * 37).buffer)],
    ['numbers of eight bytes', Buffer.from(Float64Array.from({ length: 400 }, (_, at) => at / 7).buffer)],
    ['a table of offsets', Buffer.from(Uint16Array.from({ length: 900 }, (_, at) => 0x4e00 + at * 29).buffer)],
    ['nothing', Buffer.alloc(0)],
    ['two bytes', Buffer.of(65, 0)],
  ])('%s', (_, bytes) => expect(unmarkedWide(bytes)).toBeUndefined());

  it('noise, of any length', () => {
    for (let size = 24; size < 3000; size += 24) expect(unmarkedWide(randomBytes(size)), `${size} B`).toBeUndefined();
  });
});

it('what is no character is replaced', () => {
  expect(decodeWide(Buffer.of(0, 0x11, 0, 0, 0x41, 0, 0, 0, 0, 0xd8, 0, 0, 0xff, 0xff, 0xff, 0xff), 'utf-32le')).toBe(
    '\u1100A\ufffd\ufffd',
  );
});
