import { describe, expect, it } from 'vitest';
import { expressionsIn, judge } from '../../../scripts/regular-expressions.ts';

describe('regular expressions', () => {
  it('are found wherever they stand, and those that are built as well', () => {
    const text = [
      'const a = /x+/gi;',
      'const b = { c: [/[/]\\/"/u] };',
      '// /no/',
      "const d = '/no/';",
      'new RegExp(a);',
      'RegExp(a.source);',
    ];
    const { literals, built } = expressionsIn('some.ts', text.join('\n'));
    expect(literals).toEqual([
      { path: 'some.ts', line: 1, source: 'x+', flags: 'gi' },
      { path: 'some.ts', line: 2, source: '[/]\\/"', flags: 'u' },
    ]);
    expect(built).toEqual([5, 6]);
  });

  it.each([
    ['(a+)+$', /backtracks: exponential/],
    ['\\/+$', /backtracks: 2nd degree/],
    ['[\\s.]+$', /backtracks: 2nd degree/],
  ])('that backtrack are refused: %s', async (source, why) => expect(await judge({ source, flags: '' })).toMatch(why));

  it.each(['^\\d{1,9}$', '^(?:a|b)+$'])('that do not are taken: %s', async (source) =>
    expect(await judge({ source, flags: '' })).toBeUndefined(),
  );

  it('that cannot be judged are refused', async () => {
    expect(await judge({ source: '(', flags: '' })).toMatch(/cannot be judged \(invalid\)/);
    expect(await judge({ source: '`[^`<]{1,100}<[^>]{1,200}>`__?', flags: '' }, 1)).toMatch(/cannot be judged \(timeout\)/);
  });
});
