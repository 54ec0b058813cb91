/** Bytes beyond ASCII in a message: which lines are taken for text without an encoding. */
import { expect, it } from 'vitest';
import { inUtf8 } from '../../../../../src/exec/programs/documents/mail/eight-bit.ts';

const latin1 = (lines: readonly string[]): Buffer => Buffer.from(lines.join('\r\n'), 'latin1');
const PLAIN = 'Content-Type: text/plain';
const SPANISH = 'El niño comió una piña en la montaña, y después bebió café con azúcar.';

it('leaves a text whose encoding is named as it is, also behind a signature', () => {
  const message = latin1(['Subject: x', `${PLAIN}; charset=iso-8859-1`, '', SPANISH, '-- ', 'José Muñoz', '--', SPANISH, '']);
  const { bytes, guessed } = inUtf8(message);
  expect(guessed).toBeUndefined();
  expect(bytes.equals(message)).toBe(true);
});

it.each([
  ['its boundary in quotes', 'boundary="a b--c"', 'a b--c'],
  ['its boundary bare, in a line that is folded', '\r\n\tBoundary=Q7', 'Q7'],
])('reads each part by its own head, %s', (_, parameter, boundary) => {
  const part = (type: string) => [`--${boundary}  `, type, '', SPANISH];
  const message = latin1([
    `Content-Type: multipart/mixed; ${parameter}`,
    '',
    SPANISH,
    ...part(`${PLAIN}; charset=iso-8859-1`),
    '-- ',
    ...part(PLAIN),
    `--${boundary}--`,
    SPANISH,
  ]);
  const { bytes, guessed } = inUtf8(message);
  expect(guessed).toBeDefined();
  const [preamble, named, unnamed, epilogue] = [...bytes.toString('latin1').matchAll(/^El ni.*$/gm)].map(([line]) => line);
  expect([preamble, named, epilogue]).toEqual([SPANISH, SPANISH, SPANISH]);
  expect(Buffer.from(unnamed ?? '', 'latin1').toString()).toBe(SPANISH);
});

it('reads the head of a message that is attached, and its parts', () => {
  const message = latin1([
    'Content-Type: multipart/mixed; boundary=outer',
    '',
    '--outer',
    'Content-Type: message/rfc822',
    '',
    `Subject: ${SPANISH}`,
    'Content-Type: multipart/alternative; boundary=inner',
    '',
    '--inner',
    '',
    SPANISH,
    '--inner--',
    '--outer--',
  ]);
  expect(inUtf8(message).bytes.toString().split(SPANISH)).toHaveLength(3);
});

it('looks at a long head once, and not for each line of the text', () => {
  const head = Array.from({ length: 900 }, (_, at) => `X-${at}: ${'a'.repeat(60)}`);
  const message = latin1([...head, PLAIN, '', ...Array.from({ length: 60_000 }, () => 'a line'), SPANISH]);
  const { user } = process.cpuUsage();
  expect(inUtf8(message).guessed).toBeDefined();
  expect((process.cpuUsage().user - user) / 1e6).toBeLessThan(2);
});
