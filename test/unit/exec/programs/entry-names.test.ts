/** Names of entries: none leads out, none misleads, and none is another's. */
import { describe, expect, it } from 'vitest';
import { entryNames } from '../../../../src/exec/programs/archives/entry-names.ts';

/** `/` at the end: a folder. */
function taken(sent: readonly string[], { forWindows = true } = {}) {
  const names = entryNames({ forWindows });
  return { names: sent.map((path) => names.take(path, path.endsWith('/'))), ...names.changes };
}

describe('a name', () => {
  it.each<[says: string, sent: string, windows: string | undefined, unix?: string]>([
    ['that is harmless stays', 'a/b c.txt', 'a/b c.txt'],
    ['that begins with a dot keeps it', 'a/.bashrc', 'a/.bashrc'],
    ['loses what turns text', 'a/gpj\u202e.exe', 'a/gpj.exe'],
    ['loses what has no width', 'a\u200b\ufeff\u2066/b', 'a/b'],
    ['with separators of lines shows them', 'a\u2028b\u2029c', 'a_b_c'],
    ['with controls of C0 and C1 shows them', 'a\n\x1b[2J\x7f\x9bb', 'a__[2J__b'],
    ['is composed', 'e\u0301/u\u0308.txt', 'é/ü.txt'],
    ['of half a character shows it', 'a\ud800b', 'a_b'],
    ['climbs nowhere', 'a/../b', undefined],
    ['climbs nowhere by blanks at its end', '.. /.. /x', undefined],
    ['climbs nowhere by what is not seen', '.\u200b./x', undefined],
    ['climbs nowhere by dots that become ours', '\uff0e\uff0e/x', undefined],
    ['climbs nowhere by leaders of dots', '\u2024\u2024/x', undefined],
    ['climbs nowhere by one sign of two dots', '\u2025/x', undefined],
    ['climbs nowhere by slashes that become ours', 'a/..\uff0f..\uff0fx', undefined],
    ['climbs nowhere by backslashes that become ours', 'a/..\uff3c..\ufe68x', undefined],
    ['of dots is one on Unix', '.../x', '_/x', '.../x'],
    ['of dots and blanks is one on Unix', '. ./x', '_/x', '. ./x'],
    ['climbs nowhere by backslashes', 'a\\..\\..\\b', undefined],
    ['is not absolute', '//C:/etc/x', 'etc/x'],
    ['is not on a drive', 'c:x', 'c_x'],
    ['is not on a drive behind what is not seen', '\u200bC:/x', 'x'],
    ['has no blanks at the end of a part on Windows', 'a /b.', 'a/b', 'a /b.'],
    ['of blanks is no name on Windows', 'a/ /b', 'a/_/b', 'a/ /b'],
    ['has no reserved characters on Windows', 'q?*<>|":/x\\y', 'q_______/x_y', 'q?*<>|":/x\\y'],
    ['is no device on Windows', 'aux/con.txt', '_aux/_con.txt', 'aux/con.txt'],
    ['is no device on Windows behind what is not seen', 'c\u200bon .txt', '_con .txt', 'con .txt'],
    ['that is too long is cut, and keeps its extension', `${'é'.repeat(200)}.txt`, `${'é'.repeat(118)}.txt`],
    ['of a path that no system has is none', 'a/'.repeat(3_000), undefined],
    ["of the archive's own folder is empty", './', ''],
  ])('%s', (_, sent, windows, unix = windows) => {
    expect([taken([sent]).names, taken([sent], { forWindows: false }).names]).toEqual([[windows], [unix]]);
  });

  it('that was changed is counted, and composing alone is no change', () => {
    expect(taken(['a', './b', '/c', 'e\u0301', 'x\u202e', 'y?', 'd/.'])).toMatchObject({ changed: 2, apart: 0 });
  });
});

describe('names that would be one', () => {
  it.each<[says: string, sent: readonly string[], names: readonly string[], apart: number]>([
    ['of files', ['a.txt', 'a.txt', 'a.txt'], ['a.txt', 'a-2.txt', 'a-3.txt'], 2],
    ['in another case', ['a', 'A', 'STRASSE', 'straße'], ['a', 'A-2', 'STRASSE', 'straße-2'], 2],
    ['composed and decomposed', ['é.txt', 'e\u0301.txt'], ['é.txt', 'é-2.txt'], 1],
    ['after cleaning', ['a.', 'a', 'a\u200b'], ['a', 'a-2', 'a-3'], 2],
    ['of a file before a folder', ['a', 'a/b', 'a/c'], ['a', 'a-2/b', 'a-2/c'], 1],
    ['of a folder before a file', ['a/b', 'a'], ['a/b', 'a-2'], 1],
    ['of folders in another case', ['A/x', 'a/x', 'a/y', 'A/y'], ['A/x', 'a-2/x', 'a-2/y', 'A/y'], 1],
    ['of one folder are one', ['a/', 'a/b', 'a/', './a/c'], ['a', 'a/b', 'a', 'a/c'], 0],
    ['of what has such a number already', ['a-2', 'a', 'a', 'a-2'], ['a-2', 'a', 'a-3', 'a-2-2'], 2],
    ['in different folders are none', ['x/a', 'y/a'], ['x/a', 'y/a'], 0],
  ])('are told apart: %s', (_, sent, names, apart) => {
    expect(taken(sent)).toMatchObject({ names, apart });
  });

  it('only without capital letters stay on Unix, and are counted', () => {
    expect(taken(['xt_DSCP.h', 'xt_dscp.h', 'A/x', 'a/x', 'b', 'b'], { forWindows: false })).toMatchObject({
      names: ['xt_DSCP.h', 'xt_dscp.h', 'A/x', 'a/x', 'b', 'b-2'],
      ...{ alike: 2, apart: 1, changed: 0 },
    });
  });

  it('are told apart in time that grows with their number', () => {
    const names = entryNames({ forWindows: true });
    for (let at = 0; at < 50_000; at++) names.take('a.txt');
    expect(names.take('A.TXT')).toBe('A-50001.TXT');
    // Each of them could be the next number of all that follow.
    const others = entryNames({ forWindows: true });
    for (let at = 2; at < 50_002; at++) others.take(`a-${at}`);
    for (let at = 0; at < 50_000; at++) others.take('a');
    expect(others.take('a')).toBe('a-100001');
  }, 10_000);

  it('only once they are cut are told apart in time that grows with their number', () => {
    const names = entryNames({ forWindows: true });
    const all = Array.from({ length: 1_000 }, (_, at) => `${'x'.repeat(245)}${String(at).padStart(6, '0')}`);
    for (const name of all) expect(names.take(name)).toBe(name);
    const started = process.cpuUsage();
    const others = all.map((name) => names.take(name));
    const { user } = process.cpuUsage(started);
    expect(others).toEqual(all.map((_, at) => `${'x'.repeat(240)}-${at + 2}`));
    // Some 60 ms; twenty seconds where each name looks for its number from the first.
    expect(user).toBeLessThan(2_000_000);
  }, 60_000);

  it('imply folders, which are counted', () => {
    const names = entryNames({ forWindows: false });
    names.take('a/b/c');
    names.take('a/b/d');
    expect(names.changes.nodes).toBe(4);
  });
});
