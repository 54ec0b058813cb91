/** Log lines at a terminal. */
import { expect, it } from 'vitest';
import { createLog } from '../../../src/telemetry/log.ts';
import { plainOn } from '../../../src/telemetry/plain.ts';

function said(write: (log: ReturnType<typeof createLog>) => void): string {
  let text = '';
  write(createLog('info', plainOn({ write: (more) => (text += more) })));
  return text;
}

it('have the level, the message and what goes with it, without JSON', () =>
  expect(said((log) => log.info({ pool: 'image', seconds: 0.2, led: ['a'] }, 'the job ended'))).toMatch(
    /^\d\d:\d\d:\d\d info {2}the job ended {2}pool=image seconds=0\.2 led=\["a"\]\n$/,
  ));

it('show the stack of an error below it', () =>
  expect(said((log) => log.error({ err: new Error('no room') }, 'it failed'))).toMatch(/ error it failed\n {4}Error: no room\n {8}at /));

it('have no power over the terminal', () => {
  const text = said((log) => log.warn({ name: 'a\x1b[31mb\nc', err: new Error('\x9b2J\u202egnp.exe') }, 'lost \x07 of \u2028 it'));
  expect(text).toContain('lost \\x07 of \\u{2028} it  name=a\\x1b[31mb\\nc');
  expect(text).toContain('Error: \\x9b2J\\u{202e}gnp.exe');
  expect(text).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);
});
