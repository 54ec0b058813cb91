/** Programs of ours that read texts, mail, data and models of strangers, each with what could be its worst case: eight times the size takes eight times the time. */
import { proveLinear, type Reader, times } from './growth.ts';

const mail = (head: string, body = 'x'): string => `From: a@example.org\r\nSubject: x\r\nMIME-Version: 1.0\r\n${head}\r\n${body}`;
const parts = (count: number, part: (at: number) => string): string =>
  mail('Content-Type: multipart/mixed; boundary=q\r\n', `${times(count, (at) => `--q\r\n${part(at)}\r\n`)}--q--\r\n`);
const asMail =
  (target: string, source = 'eml'): Reader['args'] =>
  (input, output) => [input, source, output, target];
const asValues =
  (source: string, target: string): Reader['args'] =>
  (input, output) => [input, source, output, target, 'auto'];
const asPim =
  (source: string, target: string): Reader['args'] =>
  (input, output) => [input, source, output, target];
const only: Reader['args'] = (input, output) => [input, output];

proveLinear({
  'text: short lines': { program: 'documents/text-page.ts', args: only, file: (count) => 'ab\n'.repeat(count), count: 400_000 },
  'text: one line': { program: 'documents/text-page.ts', args: only, file: (count) => '<'.repeat(count), count: 2_000_000 },
  'text: bytes in no encoding': {
    program: 'data/utf8.ts',
    args: (input, output) => [input, output, 'txt'],
    file: (count) => '\x80\xe9a '.repeat(count),
    count: 300_000,
  },
  'mail: lines of To': {
    program: 'documents/mail.ts',
    args: asMail('html'),
    file: (count) => mail(times(count, (at) => `To: b${at}@example.org\r\n`)),
    count: 8_000,
  },
  'mail: one long To': {
    program: 'documents/mail.ts',
    args: asMail('html'),
    file: (count) => mail(`To: ${times(count, (at) => `b${at}@example.org, `)}\r\n`),
    count: 8_000,
  },
  'mail: one To of groups': {
    program: 'documents/mail.ts',
    args: asMail('txt'),
    file: (count) => mail(`To: ${'a:b;'.repeat(count)}\r\n`),
    count: 8_000,
  },
  'mail: comments within one another': {
    program: 'documents/mail.ts',
    args: asMail('txt'),
    file: (count) => mail(`To: ${'('.repeat(count)}a@b${')'.repeat(count)}\r\n`),
    count: 20_000,
  },
  'mail: encoded words': {
    program: 'documents/mail.ts',
    args: asMail('txt'),
    file: (count) => mail(`Subject: ${'=?utf-8?Q?=C3=A9?= '.repeat(count)}\r\n`),
    count: 10_000,
  },
  'mail: attached files of one name': {
    program: 'documents/mail.ts',
    args: asMail('zip'),
    file: (count) => parts(count, () => 'Content-Disposition: attachment; filename="a.txt"\r\n\r\nx'),
    count: 1_000,
  },
  'mail: parts within one another': {
    program: 'documents/mail.ts',
    args: asMail('html'),
    file: (count) => mail(times(count, (at) => `Content-Type: multipart/mixed; boundary=q${at}\r\n\r\n--q${at}\r\n`)),
    count: 2_000,
  },
  'mail: HTML of open tags': {
    program: 'documents/mail.ts',
    args: asMail('html'),
    file: (count) => mail('Content-Type: text/html\r\n', '<b><p>'.repeat(count)),
    count: 400,
  },
  'mail: HTML of styles': {
    program: 'documents/mail.ts',
    args: asMail('html'),
    file: (count) => mail('Content-Type: text/html\r\n', `<p style="${'color:red;'.repeat(count)}">x`),
    count: 20_000,
  },
  'mailbox: short messages': {
    program: 'documents/mail.ts',
    args: asMail('html', 'mbox'),
    file: (count) => times(count, (at) => `From a@example.org Thu Jan  1 00:00:00 2026\nFrom: a@example.org\nSubject: ${at}\n\nx\n\n`),
    count: 500,
  },
  'JSON: records of one key': {
    program: 'data/values.ts',
    args: asValues('json', 'csv'),
    file: (count) => `[${times(count, (at) => `{"a":${at}},`)}{}]`,
    count: 50_000,
  },
  'JSON: one object of many keys': {
    program: 'data/values.ts',
    args: asValues('json', 'yaml'),
    file: (count) => `{${times(count, (at) => `"k${at}":1,`)}"z":1}`,
    count: 20_000,
  },
  'JSON: lists within one another': {
    program: 'data/values.ts',
    args: asValues('json', 'xml'),
    file: (count) => `${'['.repeat(count)}${']'.repeat(count)}`,
    count: 100_000,
  },
  'YAML: a list': { program: 'data/values.ts', args: asValues('yaml', 'json'), file: (count) => '- a: b\n'.repeat(count), count: 4_000 },
  'YAML: one map': {
    program: 'data/values.ts',
    args: asValues('yaml', 'json'),
    file: (count) => times(count, (at) => `k${at}: v\n`),
    count: 4_000,
  },
  'YAML: aliases': {
    program: 'data/values.ts',
    args: asValues('yaml', 'json'),
    file: (count) => `a: &a x\nb:\n${'- *a\n'.repeat(count)}`,
    count: 4_000,
  },
  'TOML: tables': {
    program: 'data/values.ts',
    args: asValues('toml', 'json'),
    file: (count) => times(count, (at) => `[t${at}]\na = 1\n`),
    count: 10_000,
  },
  'TOML: one long key': {
    program: 'data/values.ts',
    args: asValues('toml', 'json'),
    file: (count) => `${'a.'.repeat(count)}a = 1\n`,
    count: 10_000,
  },
  'XML: brothers': {
    program: 'data/values.ts',
    args: asValues('xml', 'json'),
    file: (count) => `<a>${'<b c="d">e</b>'.repeat(count)}</a>`,
    count: 10_000,
  },
  'XML: attributes of one element': {
    program: 'data/values.ts',
    args: asValues('xml', 'json'),
    file: (count) => `<a ${times(count, (at) => `b${at}="c" `)}/>`,
    count: 10_000,
  },
  'CSV: short rows': {
    program: 'data/values.ts',
    args: asValues('csv', 'json'),
    file: (count) => `a,b\n${'1,2\n'.repeat(count)}`,
    count: 50_000,
  },
  'CSV: quotes': {
    program: 'data/values.ts',
    args: asValues('csv', 'json'),
    file: (count) => `a\n"${'""'.repeat(count)}"\n`,
    count: 400_000,
  },
  'CSV: a quote that never ends': {
    program: 'data/values.ts',
    args: asValues('csv', 'md'),
    file: (count) => `a\n${'"b\n'.repeat(count)}`,
    count: 50_000,
  },
  'vCard: cards': {
    program: 'data/pim.ts',
    args: asPim('vcf', 'csv'),
    file: (count) => times(count, (at) => `BEGIN:VCARD\nVERSION:3.0\nFN:A ${at}\nN:A;B;;;\nEND:VCARD\n`),
    count: 1_000,
  },
  'vCard: a folded line': {
    program: 'data/pim.ts',
    args: asPim('vcf', 'txt'),
    file: (count) => `BEGIN:VCARD\nVERSION:3.0\nFN:A\nNOTE:a\n${' b\n'.repeat(count)}END:VCARD\n`,
    count: 20_000,
  },
  'vCard: properties that others do not have': {
    program: 'data/pim.ts',
    args: asPim('vcf', 'json'),
    file: (count) => `BEGIN:VCARD\nVERSION:3.0\nFN:A\n${times(count, (at) => `X-P${at}:b\n`)}END:VCARD\n`,
    count: 5_000,
  },
  'calendar: events': {
    program: 'data/pim.ts',
    args: asPim('ics', 'html'),
    file: (count) =>
      `BEGIN:VCALENDAR\n${times(count, (at) => `BEGIN:VEVENT\nSUMMARY:${at}\nDTSTART:20260302T100000Z\nEND:VEVENT\n`)}END:VCALENDAR\n`,
    count: 1_000,
  },
  'calendar: parameters of one property': {
    program: 'data/pim.ts',
    args: asPim('ics', 'csv'),
    file: (count) => `BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY${times(count, (at) => `;X-P${at}=b`)}:x\nEND:VEVENT\nEND:VCALENDAR\n`,
    count: 5_000,
  },
  'HTML: tags that are counted': {
    program: 'documents/count.ts',
    args: (input) => [input, 'html'],
    file: (count) => '<table><tr><td>'.repeat(count),
    count: 100_000,
  },
  'HTML: tables in each other whose end tags are added': {
    program: 'documents/html.ts',
    args: only,
    file: (count) => '<table><tr><td>'.repeat(count),
    count: 20_000,
  },
  'HTML: words in fonts that earlier paragraphs left open': {
    program: 'documents/html.ts',
    args: only,
    file: (count) => times(count, (at) => `<font size=${at}><p>x`),
    count: 20_000,
  },
  'HTML: rows whose end tags are added': {
    program: 'documents/html.ts',
    args: only,
    file: (count) => `<table>${'<tr><td rowspan=9>a<td>b'.repeat(count)}`,
    count: 10_000,
  },
  'HTML: comments that do not end': {
    program: 'documents/count.ts',
    args: (input) => [input, 'html'],
    file: (count) => '<!--'.repeat(count),
    count: 200_000,
  },
  'OBJ: corners of one face': {
    program: 'models3d/polygons.ts',
    args: (input) => [input, 'obj'],
    file: (count) => `v 0 0 0\nf ${'1 '.repeat(count)}\n`,
    count: 500_000,
  },
  'OBJ: a line that goes on': {
    program: 'models3d/polygons.ts',
    args: (input) => [input, 'obj'],
    file: (count) => `f 1 \\\n${'1 \\\n'.repeat(count)}`,
    count: 200_000,
  },
  'X3D: elements': {
    program: 'models3d/polygons.ts',
    args: (input) => [input, 'x3d'],
    file: (count) => `<X3D>${"<IndexedFaceSet coordIndex='0 1 2 -1'/>".repeat(count)}</X3D>`,
    count: 20_000,
  },
});
