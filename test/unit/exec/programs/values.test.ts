/** Our program for data: what each syntax can say that others cannot, and files that are made to do harm. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PACKAGES } from '../../../../src/exec/confine/stage.ts';
import { scanJson } from '../../../../src/exec/programs/data/values/json-scan.ts';
import { latin1 } from '../../../kit/catalog/bytes.ts';
import { dbase } from '../../../kit/fixtures/data/dbase.ts';

const folder = mkdtempSync(join(tmpdir(), 'filemill-values-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Told {
  readonly ok: boolean;
  readonly reason?: string;
  readonly says?: string;
  readonly details?: { readonly limit: string };
  readonly warnings?: readonly { readonly message: string }[];
}

/** @returns what the program says, and the result where there is one */
function rewrite(
  source: string,
  content: string | Buffer,
  target: string,
  types = 'as_written',
  ...charset: readonly string[]
): { told: Told; text: string } {
  const [input, output] = [join(folder, `in.${source}`), join(folder, `out.${target}`)];
  writeFileSync(input, content);
  rmSync(output, { force: true });
  const program = 'src/exec/programs/data/values.ts';
  const ended = spawnSync(process.execPath, ['--max-old-space-size=512', program, input, source, output, target, types, ...charset], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  const told = JSON.parse(ended.stdout.trim().split('\n').at(-1) || '{"ok":false,"reason":"nothing was said"}') as Told;
  return { told, text: told.ok ? readFileSync(output, 'utf8') : ended.stderr };
}
const said = ({ told }: { told: Told }) => (told.warnings ?? []).map(({ message }) => message);

it.each<[string, string, string | Buffer, string, string]>([
  [
    'whole numbers that a double does not hold keep their digits',
    'json',
    '{"id":12345678901234567890,"m":1e3}',
    'yaml',
    'id: 12345678901234567890\nm: 1000\n',
  ],
  ['and back', 'yaml', 'id: 12345678901234567890\n', 'json', '{\n  "id": 12345678901234567890\n}\n'],
  ['a word that readers of YAML 1.1 take for false is quoted', 'json', '{"country":"no"}', 'yaml', 'country: "no"\n'],
  ['and is a word where it is not', 'yaml', 'country: no\n', 'json', '{\n  "country": "no"\n}\n'],
  ['several documents of YAML are a list', 'yaml', 'a: 1\n---\na: 2\n', 'jsonl', '{"a":1}\n{"a":2}\n'],
  [
    'anchors are what they stand for',
    'yaml',
    'base: &b {x: 1}\nmore:\n  <<: *b\n  y: 2\n',
    'jsonl',
    '{"base":{"x":1},"more":{"x":1,"y":2}}\n',
  ],
  [
    'dates of TOML stay as they are written',
    'toml',
    'day = 2026-11-26\nat = 2026-11-26T01:02:03Z\n',
    'jsonl',
    '{"day":"2026-11-26","at":"2026-11-26T01:02:03.000Z"}\n',
  ],
  ['numbers of two kinds in one list of TOML', 'toml', 'a = [1, 2.5]\n', 'jsonl', '{"a":[1,2.5]}\n'],
  ['a list needs a table in TOML', 'json', '[1,2]', 'toml', 'items = [ 1, 2 ]\n'],
  [
    'a list needs an element in XML',
    'jsonl',
    '{"a":1}\n{"a":"<&>"}\n',
    'xml',
    '<?xml version="1.0" encoding="UTF-8"?>\n<root>\n  <item>\n    <a>1</a>\n  </item>\n  <item>\n    <a>&lt;&amp;&gt;</a>\n  </item>\n</root>\n',
  ],
  [
    'letters that XML names by number',
    'xml',
    '<r a="&#233;">caf&#xe9; &amp;#233; &#38;lt;</r>',
    'jsonl',
    '{"r":{"@a":"é","#text":"café &#233; &lt;"}}\n',
  ],
  ['attributes and texts of XML', 'xml', '<r id="7">x<b/><b>1</b></r>', 'jsonl', '{"r":{"@id":"7","b":["","1"],"#text":"x"}}\n'],
  [
    'the encoding that XML declares',
    'xml',
    Buffer.from('<?xml version="1.0" encoding="ISO-8859-2"?><r>\u00b9</r>', 'latin1'),
    'jsonl',
    '{"r":"š"}\n',
  ],
  [
    'a table with semicolons, quotes, a line break and a byte order mark',
    'csv',
    '\ufeffname;note\n"A;b";"two\nlines ""x"""\n',
    'jsonl',
    '{"name":"A;b","note":"two\\nlines \\"x\\""}\n',
  ],
  [
    'a column is one of numbers if all of it looks the same as numbers',
    'csv',
    'a,b\n1,007\n2.5,8\n',
    'jsonl',
    '{"a":1,"b":"007"}\n{"a":2.5,"b":"8"}\n',
  ],
  [
    'names that are missing or taken',
    'csv',
    'a,,a\n1,2,3,4\n5\n',
    'jsonl',
    '{"a":1,"column_2":2,"a_2":3,"column_4":4}\n{"a":5,"column_2":"","a_2":"","column_4":""}\n',
  ],
  ['rows that are not UTF-8', 'csv', Buffer.from('a,b\n\xfcber,1\n', 'latin1'), 'jsonl', '{"a":"über","b":1}\n'],
  ['rows in UTF-16', 'csv', Buffer.from('\ufeffa,b\nü,1\n', 'utf16le'), 'jsonl', '{"a":"ü","b":1}\n'],
  ['records of different shapes have all columns', 'jsonl', '{"a":1}\n{"b":{"c":[1,"x,y"]}}\n', 'csv', 'a,b.c.1,b.c.2\n1,,\n,1,"x,y"\n'],
  ['the list inside other syntaxes is the table', 'xml', '<all><one n="1"><x>2</x></one><one n="3"/></all>', 'csv', '@n,x\n1,2\n3,\n'],
  ['a key of JavaScript is a key', 'json', '{"__proto__":{"x":1},"constructor":2}', 'yaml', '__proto__:\n  x: 1\nconstructor: 2\n'],
  ['nothing', 'csv', '', 'json', '[]\n'],
  ['no document', 'yaml', '', 'json', 'null\n'],
])('%s', (_, source, content, target, expected) => expect(rewrite(source, content, target).text).toBe(expected));

it('reads every number of a table where it is told to', () =>
  expect(rewrite('csv', 'a,b,c\n007,1e3,true\n', 'jsonl', 'auto').text).toBe('{"a":7,"b":1000,"c":true}\n'));

describe('says', () => {
  it('what was guessed and what was lost', () => {
    expect(said(rewrite('csv', Buffer.from('a\n\xfc\n', 'latin1'), 'json'))).toEqual([
      'The text is not UTF-8 and does not name its encoding: it was read as Windows-1252.',
    ]);
    expect(said(rewrite('json', '{"a":null,"b":1}', 'toml'))).toEqual(['TOML has no null: values without content were left out.']);
    expect(said(rewrite('json', '{"a b":1}', 'xml'))).toEqual(['Names that XML does not allow were changed.']);
    expect(said(rewrite('json', '[{"a":{"b":1}}]', 'csv'))).toHaveLength(1);
    expect(said(rewrite('csv', 'a\n1\n', 'json'))).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['json', '{"a":', 'corrupt_input'],
    ['jsonl', '{"a":1}\nnot json\n', 'corrupt_input'],
    ['yaml', 'a: [1\nb: }', 'corrupt_input'],
    ['toml', 'a = \n', 'corrupt_input'],
    ['xml', '<a><b></a>', 'corrupt_input'],
  ])('that a damaged %s is damaged', (source, content, reason) =>
    expect(rewrite(source, content, 'csv').told).toMatchObject({ ok: false, reason }),
  );

  it('that TOML holds no number of more than 64 bits', () =>
    expect(rewrite('json', '{"a":123456789012345678901234567890}', 'toml').told).toMatchObject({ reason: 'unsupported_variant' }));
});

describe('a file that is made to do harm', () => {
  const aliases = Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(', ')}]`).join('\n');
  const entities = Array.from({ length: 12 }, (_, at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`).join('');
  it.each<[string, string, string]>([
    ['lists within one another', 'json', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['objects within one another', 'json', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`],
    ['maps within one another', 'yaml', `${'{a: '.repeat(3000)}1${'}'.repeat(3000)}`],
    ['tables within one another', 'toml', `a = ${'['.repeat(3000)}${']'.repeat(3000)}`],
    ['elements within one another', 'xml', '<a>'.repeat(5000) + '</a>'.repeat(5000)],
    ['aliases of aliases', 'yaml', `a0: &a0 [x]\n${aliases}\n`],
  ])('%s of %s are refused', (_, source, content) => {
    const { told } = rewrite(source, content, 'csv');
    expect(told.ok).toBe(false);
    expect(source === 'xml' ? ['input_limit'] : ['input_limit', 'corrupt_input']).toContain(told.reason);
  });

  it('has entities of entities, which are not multiplied', () => {
    const { text } = rewrite('xml', `<!DOCTYPE r [<!ENTITY e0 "x">${entities}]><r>&e12;</r>`, 'json');
    expect(text.length).toBeLessThan(1000);
  });

  it('names a file that is not read', () => {
    const { told, text } = rewrite('xml', '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>', 'json');
    expect(told.ok && text.includes('root:')).toBe(false);
    expect(rewrite('yaml', 'a: !!js/function "x"\nb: !include /etc/passwd\n', 'jsonl').text).not.toContain('root:');
  });
});

it('finds every package that it imports where it is confined', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { readonly dependencies?: Record<string, string>; readonly hasInstallScript?: boolean }>;
  };
  const needed = new Set<string>();
  const add = (path: string): void => {
    if (needed.has(path)) return;
    needed.add(path);
    for (const name of Object.keys(packages[path]?.dependencies ?? {})) {
      // Types alone.
      if (name.startsWith('@types/')) continue;
      const inside = `${path}/node_modules/${name}`;
      add(packages[inside] === undefined ? `node_modules/${name}` : inside);
    }
  };
  for (const name of [
    'papaparse',
    'smol-toml',
    'yaml',
    'chardet',
    'fast-xml-parser',
    'postal-mime',
    'parse5',
    '@kenjiuno/msgreader',
    '@zone-eu/mailsplit',
    'ical.js',
    'rtf-stream-parser',
    '@cornerstonejs/codec-charls',
    '@csstools/css-tokenizer',
    'apache-arrow',
    'parquet-wasm',
  ])
    add(`node_modules/${name}`);
  // What a package has inside is copied with it.
  expect([...PACKAGES].sort()).toEqual([...needed].filter((path) => path.indexOf('/node_modules/') < 0).sort());
});

describe('a table of dBASE', () => {
  const NAME = { name: 'NAME', type: 'C', length: 20 } as const;
  /** In Windows-1250: `Žluťoučký kůň`. */
  const HORSE = '\x8elu\x9dou\xe8k\xfd k\xf9\xf2';

  it('has numbers, dates and truth values, and no row that was deleted', () => {
    const columns = [
      NAME,
      { name: 'PRICE', type: 'N', length: 10, decimals: 2 },
      { name: 'SINCE', type: 'D', length: 8 },
      { name: 'OPEN', type: 'L', length: 1 },
      { name: 'SERIAL', type: 'N', length: 20 },
    ] as const;
    const rows = [
      [HORSE, 12.5, '20240229', 'T', '12345678901234567890'],
      ['gone', 1, '20240101', 'F', 1],
      ['', undefined, '', '?', '****'],
    ];
    const made = rewrite('dbf', dbase(columns, rows, { driver: 0xc8, deleted: [1] }), 'jsonl');
    expect(made.text).toBe(
      '{"NAME":"Žluťoučký kůň","PRICE":12.5,"SINCE":"2024-02-29","OPEN":true,"SERIAL":12345678901234567890}\n' +
        '{"NAME":"","PRICE":null,"SINCE":null,"OPEN":null,"SERIAL":null}\n',
    );
    expect(said(made)).toEqual(['Rows that are marked as deleted are not part of the result: 1.']);
    expect(rewrite('dbf', dbase(columns, rows, { driver: 0xc8, deleted: [1] }), 'csv').text).toBe(
      'NAME,PRICE,SINCE,OPEN,SERIAL\nŽluťoučký kůň,12.5,2024-02-29,true,12345678901234567890\n,,,,\n',
    );
  });

  it.each<[string, number, string, string]>([
    ['of DOS by its code page', 0x64, '\xa7lu\x9cou\x9fk\xec', 'žluťoučký'],
    ['of DOS in Western Europe', 0x02, 'Stra\xe1e', 'Straße'],
    ['of Windows in Cyrillic', 0xc9, '\xcf\xf0\xe8\xe2\xe5\xf2', 'Привет'],
    ['that says nothing, as UTF-8', 0, 'K\xc5\x99\xc3\xad\xc5\xbe', 'Kříž'],
  ])('is read %s', (_, driver, written, text) => {
    expect(rewrite('dbf', dbase([NAME], [[written]], { driver }), 'csv').text).toBe(`NAME\n${text}\n`);
  });

  it('that says nothing is guessed, and read as the option says', () => {
    const made = rewrite('dbf', dbase([NAME], [['\xcf\xf0\xe8\xe2\xe5\xf2 \xe2\xf1\xe5\xec']], { driver: 0 }), 'csv');
    expect(made.text).toBe('NAME\nПривет всем\n');
    expect(said(made).join()).toContain('it was read as Windows-1251');
    expect(rewrite('dbf', dbase([NAME], [[HORSE]], { driver: 0 }), 'csv', 'as_written', 'windows-1250').text).toContain('Žluťoučký kůň');
  });

  it('whose texts are in another file says so', () => {
    const memo = { name: 'NOTE', type: 'M', length: 10 } as const;
    const made = rewrite('dbf', dbase([NAME, memo], [['a', '         1']], { version: 0x83 }), 'jsonl');
    expect(made.text).toBe('{"NAME":"a","NOTE":null}\n');
    expect(said(made)).toEqual(['Columns whose texts are in another file (.dbt or .fpt) are empty: 1.']);
  });

  it('that is cut off has the rows that are there, and says so', () => {
    const whole = dbase([NAME], [['one'], ['two'], ['three']]);
    const made = rewrite('dbf', whole.subarray(0, whole.length - 10), 'csv');
    expect(made.text).toBe('NAME\none\ntwo\n');
    expect(said(made)).toEqual(['Rows that the table announces are not in the file, which may have been cut off: 1.']);
  });

  it('of Visual FoxPro has numbers, times and texts in their own form, or no value', () => {
    const column = (name: string, type: string, length: number, flags = 0) =>
      Buffer.concat([latin1(`${name.padEnd(11, '\0')}${type}`), Buffer.alloc(4), Buffer.from([length, 0, flags]), Buffer.alloc(13)]);
    const columns = [
      column('ID', 'I', 4, 2),
      column('PAID', 'Y', 8),
      column('AT', 'T', 8),
      column('WORDS', 'V', 6),
      column('_NullFlags', '0', 1, 5),
    ];
    const head = Buffer.alloc(32);
    head.set([0x30, 124, 1, 1, 2]);
    // Behind the columns, the place of the database that the table belongs to.
    head.writeUInt16LE(32 + 32 * columns.length + 1 + 263, 8);
    head.writeUInt16LE(1 + 4 + 8 + 8 + 6 + 1, 10);
    head[29] = 3;
    const row = (id: number, paid: bigint, flags: number, words: string) => {
      const bytes = Buffer.alloc(28, ' ');
      bytes.writeInt32LE(id, 1);
      bytes.writeBigInt64LE(paid, 5);
      bytes.writeUInt32LE(2_460_311, 13);
      bytes.writeUInt32LE(45_296_000, 17);
      bytes.write(words, 21, 'latin1');
      bytes[27] = flags;
      return bytes;
    };
    const rows = [row(-7, 123_456n, 2, 'abc\0\0\x03'), row(0, -5_000n, 1, 'sixsix')];
    const made = rewrite('dbf', Buffer.concat([head, ...columns, latin1('\r'), Buffer.alloc(263), ...rows]), 'jsonl');
    expect(made.text).toBe(
      '{"ID":-7,"PAID":12.3456,"AT":"2024-01-01T12:34:56","WORDS":"abc"}\n{"ID":null,"PAID":-0.5,"AT":"2024-01-01T12:34:56","WORDS":"sixsix"}\n',
    );
  });

  it('with columns beyond its rows is damaged, and one of too many values is refused', () => {
    const broken = dbase([NAME], [['one']]);
    broken.writeUInt16LE(5, 10);
    expect(rewrite('dbf', broken, 'csv').told.reason).toBe('corrupt_input');
    const many = Array.from({ length: 200 }, (_, at) => ({ name: `N${at}`, type: 'L', length: 1 }) as const);
    const head = dbase(many, []);
    head.writeUInt32LE(30_000, 4);
    const { told } = rewrite('dbf', Buffer.concat([head.subarray(0, -1), Buffer.alloc(201 * 30_000, ' ')]), 'csv');
    expect([told.reason, told.details?.limit]).toEqual(['input_limit', 'values']);
  });
});

describe('UTF-16 without a mark', () => {
  it.each([
    ['little', (bytes: Buffer) => bytes],
    ['big', (bytes: Buffer) => bytes.swap16()],
  ])('is read with the %s end first', (_, order) => {
    const { text } = rewrite('csv', order(Buffer.from('a,b\n1,2\n', 'utf16le')), 'json');
    expect(JSON.parse(text)).toEqual([{ a: 1, b: 2 }]);
  });
});

describe('a table in Markdown', () => {
  it('has the first row as its head, numbers at the right, and nothing that is markup', () => {
    const { text, told } = rewrite('csv', 'name,amount,note\n"a|b",12,\n*c*,3,"two\nlines"\nd_e,-4.5,<b>\n', 'md');
    expect(told.ok).toBe(true);
    expect(text.split('\n')).toEqual([
      '| name | amount | note |',
      '| --- | ---: | --- |',
      '| a\\|b | 12 |  |',
      '| \\*c\\* | 3 | two<br>lines |',
      '| d_e | -4.5 | \\<b> |',
      '',
    ]);
  });

  it('is as wide as its widest row, and nothing where there is none', () => {
    expect(rewrite('tsv', 'a\n1\t2\t\t\n', 'md').text).toBe('| a |  |\n| ---: | ---: |\n| 1 | 2 |\n');
    expect(rewrite('csv', ',,\n', 'md').text).toBe('');
  });

  it('has each link at its own words, and says where there may be more', () => {
    const links = [
      [1, 0, 'here', 'https://a'],
      [1, 0, 'here', 'https://b'],
      [2, 0, 'x', 'https://https'],
      [2, 0, 'https', 'https://c'],
    ];
    writeFileSync(join(folder, 'in.marks'), JSON.stringify({ links, notes: [], more: true }));
    const made = rewrite('csv', 'a\nhere and here\nx https\n', 'md');
    rmSync(join(folder, 'in.marks'));
    expect(made.text).toContain('| [here](https://a) and [here](https://b) |\n| [x](https://https) [https](https://c) |\n');
    expect(said(made)).toEqual([expect.stringContaining('more links and notes of cells')]);
  });
});

it.each<[what: string, source: string, content: string, target: string, text: string, warning: RegExp]>([
  [
    'a list beside single values is the table',
    'json',
    '{"count":2,"next":null,"rows":[{"a":1},{"a":2}]}',
    'csv',
    'a\n1\n2\n',
    /count, next/,
  ],
  ['a number beyond any double keeps its digits', 'json', '{"a":1e400}', 'csv', 'a\n1e400\n', /1e400/],
  ['what Python writes for no number is null', 'json', '[NaN,-Infinity,"NaN"]', 'jsonl', 'null\nnull\n"NaN"\n', /NaN, -Infinity/],
  [
    'values a line in a file that is called JSON are a list',
    'json',
    '{"a":1}\n{"a":[2]}\n',
    'yaml',
    '- a: 1\n- a:\n    - 2\n',
    /JSON Lines/,
  ],
  ['infinities of YAML become null', 'yaml', 'a: .inf\nb: .nan\n', 'jsonl', '{"a":null,"b":null}\n', /infinities/],
  ['of a doubled key of YAML the last value counts', 'yaml', 'x: 0\na: {b: 1, b: 2}\n', 'jsonl', '{"x":0,"a":{"b":2}}\n', /line 2/],
  ['and of JSON', 'json', '{"a":1,\n"b":{"a":2},\n"a":3}', 'yaml', 'a: 3\nb:\n  a: 2\n', /line 3/],
  [
    'a prefix without a name space is no prefix',
    'json',
    '{"r":{"x:y":1,"x_y":2}}',
    'xml',
    '<?xml version="1.0" encoding="UTF-8"?>\n<r>\n  <x_y>1</x_y>\n  <x_y>2</x_y>\n</r>\n',
    /changed/,
  ],
])('%s, and it is said', (_, source, content, target, text, warning) => {
  const result = rewrite(source, content, target);
  expect(result.text).toBe(text);
  expect(said(result).join(' ')).toMatch(warning);
});

it('keeps a prefix whose name space is declared', () => {
  const result = rewrite('xml', '<r xmlns:p="urn:p"><p:q>1</p:q></r>', 'xml');
  expect(result.text).toContain('<r xmlns:p="urn:p">\n  <p:q>1</p:q>');
  expect(said(result)).toEqual([]);
});

it.each<[source: string, content: string, line: number, column: number]>([
  ['json', '{"a": 1,\n "b": tru}', 2, 7],
  ['json', '{"a": "x\n"}', 1, 9],
  ['json', '{"a": [1, 2', 1, 12],
  ['json', '{\n"a": 1\n} x', 3, 3],
  ['jsonl', '{"a":1}\n{"a":}\n', 2, 6],
  ['yaml', 'a: 1\nb: [1, 2\nc: 3\n', 3, 1],
  ['toml', 'a = 1\nb = = 2\n', 2, 5],
  ['xml', '<a>\n<b></c>\n</a>', 2, 4],
])('names the place of a mistake in %s: %j', (source, content, line, column) => {
  const { told } = rewrite(source, content, source === 'yaml' ? 'json' : 'yaml');
  expect(told.reason).toBe('corrupt_input');
  expect(told.says).toContain(`line ${line}, column ${column}.`);
});

it('looks for doubled keys, and for the place of a mistake, in time that grows with the text', () => {
  const seconds = (text: string) => {
    const began = performance.now();
    scanJson(text);
    return performance.now() - began;
  };
  const hostile = (n: number) => [
    `[${'"\\\\'.repeat(n)}`,
    `[${'[],'.repeat(n)}`,
    `{${'"a":{},'.repeat(n)}`,
    `[${'1 '.repeat(n)}`,
    `["${'x'.repeat(n)}`,
  ];
  for (const text of hostile(30_000)) expect(seconds(text)).toBeLessThan(5_000);
});
