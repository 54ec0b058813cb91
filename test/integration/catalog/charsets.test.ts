/** Texts in other encodings than UTF-8: what they declare is obeyed, the rest is recognised, and a guess is told. */
import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { textOfRuns, unzip } from '../../kit/judges/documents/text.ts';
import { convert, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

let service: Pick<Service, 'url'>;
beforeAll(async () => {
  service = await sharedService();
});

const TEXTS = {
  Russian: 'Обычный текст на русском языке, который прочтёт любой',
  Greek: 'Αυτό είναι ένα απλό κείμενο στα ελληνικά για όλους',
  Polish: 'Zażółć gęślą jaźń, dzień dobry wszystkim czytelnikom',
  Turkish: 'Günaydın, İstanbul güzel bir şehir ve çok büyük',
  German: 'Straße und Flüsse über Österreich, größer als üblich',
  Japanese: 'これは日本語の文章です。文字コードを判定します。',
  Korean: '안녕하세요. 한국어 문장입니다.',
  Chinese: '这是一个中文的句子，用来检测编码。',
  Taiwanese: '這是一個中文的句子，用來檢測編碼。',
} as const;
type Language = keyof typeof TEXTS;
const CASES: readonly (readonly [string, Language])[] = [
  ['windows-1251', 'Russian'],
  ['koi8-r', 'Russian'],
  ['iso-8859-5', 'Russian'],
  ['windows-1253', 'Greek'],
  ['windows-1250', 'Polish'],
  ['iso-8859-2', 'Polish'],
  ['windows-1254', 'Turkish'],
  ['windows-1252', 'German'],
  ['shift_jis', 'Japanese'],
  ['euc-jp', 'Japanese'],
  ['euc-kr', 'Korean'],
  ['gb18030', 'Chinese'],
  ['big5', 'Taiwanese'],
];
/** By iconv, which knows more names than Node writes. */
const encoded = (text: string, charset: string): Buffer =>
  execFileSync('iconv', ['-f', 'utf-8', '-t', charset === 'shift_jis' ? 'SHIFT_JIS' : charset], { input: text });

async function send(name: string, bytes: Buffer, target: string, fields: Readonly<Record<string, string>> = {}) {
  const answer = await settled(service.url, await convert(service.url, { name, bytes }, target, fields));
  expect(answer.error, `${name} to ${target}`).toBeUndefined();
  const result = Buffer.from(await (await fetch(answer.data?.output?.url ?? '')).arrayBuffer());
  return { result, codes: (answer.data?.warnings ?? []).map(({ code }) => code) };
}
const partOf = async (result: Buffer, name: RegExp): Promise<string> =>
  [...(await unzip(result))].flatMap(([part, bytes]) => (name.test(part) ? [bytes.toString()] : [])).join('');

describe.each(CASES)('%s', (charset, language) => {
  const text = TEXTS[language];
  // Enough ASCII around it that short files count as text.
  const around = 'plain letters around it, '.repeat(12);

  it('is recognised in Markdown, plain text, a table, subtitles and data', async () => {
    const markdown = await send('a.md', encoded(`# Title\n\n${text}\n\n${around}\n`, charset), 'html');
    expect(markdown.result.toString()).toContain(text);
    expect(markdown.codes).toContain('charset_guessed');
    const plain = await send('a.txt', encoded(`${around}\n${text}\n`, charset), 'docx');
    expect(textOfRuns(await partOf(plain.result, /^word\/document\.xml$/), 'w')).toContain(text);
    expect(plain.codes).toContain('charset_guessed');
    const table = await send('a.csv', encoded(`name;note\na;"${text}"\nb;${around}\n`, charset), 'xlsx');
    // Letters of two scripts in one cell are runs.
    const cells = await partOf(table.result, /^xl\/(sharedStrings|worksheets\/sheet1)\.xml$/);
    expect(cells.replaceAll(/<[^>]+>/g, '')).toContain(text);
    const cues = encoded(`1\n00:00:01,000 --> 00:00:02,000\n${text}\n\n2\n00:00:03,000 --> 00:00:04,000\n${around}\n`, charset);
    expect((await send('a.srt', cues, 'vtt')).result.toString()).toContain(text);
    const data = await send('a.tsv', encoded(`name\tnote\na\t${text}\nb\t${around}\n`, charset), 'json');
    expect(data.result.toString()).toContain(text);
  });

  it('is obeyed where a page or an XML file declares it', async () => {
    const page = encoded(
      `<!DOCTYPE html><html><head><meta charset="${charset}"><title>t</title></head><body><p>${text}</p></body></html>`,
      charset,
    );
    const markdown = await send('a.html', page, 'md');
    expect(markdown.result.toString().replaceAll('\\', '')).toContain(text);
    expect(markdown.codes).not.toContain('charset_guessed');
    const opml = encoded(
      `<?xml version="1.0" encoding="${charset}"?>\n<opml version="2.0"><head><title>t</title></head><body><outline text="${text}"/></body></opml>`,
      charset,
    );
    const outline = await send('a.opml', opml, 'html');
    expect(outline.result.toString()).toContain(text);
    expect(outline.codes).not.toContain('charset_guessed');
  });
});

describe('a few words and nothing else', () => {
  it.each([
    ['windows-1251', 'Привет, мир!'],
    ['koi8-r', 'Привет, мир!'],
    ['cp866', 'Привет, мир!'],
    ['windows-1251', 'МОСКВА 2026'],
    ['koi8-u', 'Добрий день, Україно'],
    ['windows-1253', 'Καλημέρα κόσμε'],
    ['windows-1255', 'שלום עולם'],
    ['windows-1256', 'مرحبا بالعالم'],
    ['euc-kr', '안녕하세요'],
    ['euc-kr', '홍길동 30'],
    ['shift_jis', 'こんにちは'],
    ['shift_jis', '日本語の文章です。'],
    ['euc-jp', 'カタカナ'],
    ['gb18030', '你好，世界'],
    ['big5', '你好，世界'],
  ])('in %s are recognised: %s', async (charset, text) => {
    const { result, codes } = await send('a.bin', encoded(`${text}\n`, charset), 'html');
    expect(result.toString()).toContain(text.split(/\n/)[0]);
    expect(codes).toContain('charset_guessed');
  });

  it('are read as the option says', async () => {
    const { result } = await send('a.txt', encoded('สวัสดีชาวโลก\n', 'windows-874'), 'html', { charset: 'windows-874' });
    expect(result.toString()).toContain('สวัสดีชาวโลก');
  });
});

it('a page that declares nothing is recognised, and says UTF-8 afterwards', async () => {
  const page = encoded(
    `<html><head><title>t</title></head><body><p>${TEXTS.Russian}</p><p>${TEXTS.Russian}</p></body></html>`,
    'windows-1251',
  );
  for (const target of ['docx', 'txt', 'rtf']) {
    const { result, codes } = await send('a.html', page, target);
    if (target === 'docx') expect(await partOf(result, /^word\/document\.xml$/)).toContain('русском');
    if (target === 'txt') expect(result.toString()).toContain('русском');
    expect(codes).toContain('charset_guessed');
  }
});

it('the option says it where nothing does, or where what does is wrong', async () => {
  // Two words, which look like many languages.
  const short = encoded('# kůň žluťoučký\n\nplain letters around it\n', 'windows-1250');
  expect((await send('a.md', short, 'html', { charset: 'windows-1250' })).result.toString()).toContain('kůň žluťoučký');
  const lying = encoded(`<html><head><meta charset="utf-8"></head><body><p>${TEXTS.Russian}</p></body></html>`, 'koi8-r');
  const { result, codes } = await send('a.html', lying, 'md', { charset: 'koi8-r' });
  expect(result.toString()).toContain(TEXTS.Russian);
  expect(codes).not.toContain('charset_guessed');
  const cues = encoded('1\n00:00:01,000 --> 00:00:02,000\nkůň\n', 'iso-8859-2');
  expect((await send('a.srt', cues, 'vtt', { charset: 'iso-8859-2' })).result.toString()).toContain('kůň');
  const data = encoded('a,b\n1,kůň\n', 'windows-1250');
  expect((await send('a.csv', data, 'json', { charset: 'windows-1250' })).result.toString()).toContain('kůň');
  expect(await partOf((await send('a.csv', data, 'xlsx', { charset: 'windows-1250' })).result, /^xl\/sharedStrings\.xml$/)).toContain(
    'kůň',
  );
});

it('UTF-8 is left alone, and told of by nothing', async () => {
  for (const [name, target] of [
    ['a.md', 'html'],
    ['a.txt', 'docx'],
    ['a.csv', 'xlsx'],
  ] as const)
    expect((await send(name, Buffer.from(`a,b\nc,${TEXTS.Greek}\n`), target)).codes).not.toContain('charset_guessed');
});

it('UTF-16 is read by its mark', async () => {
  const wide = Buffer.from(`\ufeff# Title\n\n${TEXTS.Russian}\n`, 'utf16le');
  const { result, codes } = await send('a.md', wide, 'html');
  expect(result.toString()).toContain(TEXTS.Russian);
  expect(codes).not.toContain('charset_guessed');
});

it.each(['utf-16le', 'utf-16be', 'utf-32le', 'utf-32be'])('%s is read without a mark, in any script', async (charset) => {
  for (const language of ['Russian', 'Japanese', 'German'] as const) {
    const { result } = await send('a.bin', encoded(`${TEXTS[language]}\n`, charset), 'html');
    expect(result.toString()).toContain(TEXTS[language]);
    const table = await send('a.csv', encoded(`name,note\na,"${TEXTS[language]}"\n`, charset), 'json');
    expect(table.result.toString()).toContain(TEXTS[language]);
  }
});
