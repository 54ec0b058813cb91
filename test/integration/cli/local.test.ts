/** `filemill convert` and `filemill tool` without a server: files in, files out, and nothing else left. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { checkout } from '../../kit/roles/service.ts';
import { type CommandFolder, commandFolder } from './command.ts';

const RED = { r: 200, g: 30, b: 30 };
let command: CommandFolder;
let photo: Buffer;
const at = (name: string) => join(command.folder, name);
const names = async (folder = '.') => (await readdir(at(folder))).toSorted();

async function isRed(file: string | Buffer, format: string): Promise<void> {
  const { dominant } = await sharp(file).stats();
  expect((await sharp(file).metadata()).format).toBe(format);
  expect(dominant.r).toBeGreaterThan(150);
  expect(Math.max(dominant.g, dominant.b)).toBeLessThan(80);
}

beforeAll(async () => {
  photo = await sharp({ create: { width: 96, height: 64, channels: 3, background: RED } })
    .jpeg()
    .toBuffer();
});
beforeEach(async () => {
  command = await commandFolder();
});
afterEach(async () => {
  expect(await command.leftovers()).toEqual([]);
  await command.remove();
});

describe('filemill convert', () => {
  it('converts a file to the format of the name that the result shall have', async () => {
    await writeFile(at('photo.jpg'), photo);
    const { code, stderr, stdout } = await command.run(['convert', 'photo.jpg', 'made/small.png', '--img-resize-w', '48']);
    expect([code, stderr, stdout.length]).toEqual([0, 'photo.jpg → made/small.png\n', 0]);
    await isRed(at('made/small.png'), 'png');
    expect((await sharp(at('made/small.png')).metadata()).width).toBe(48);
    // The user's, as any file that a program creates: not the slot's.
    const { uid, mode } = await stat(at('made/small.png'));
    expect([uid, mode & 0o777]).toEqual([process.getuid?.(), 0o666 & ~process.umask()]);
  });

  it.each([0, 100])('shows count, percentage and the file under way on a terminal that says it has %i columns', async (columns) => {
    for (const name of ['one.jpg', 'two.jpg']) await writeFile(at(name), photo);
    const line = `stty cols ${columns}; ${join(checkout, 'scripts/filemill')} convert one.jpg two.jpg --to png`;
    // script(1) gives it a terminal.
    const said = execFileSync('script', ['-qec', line, '/dev/null'], {
      cwd: command.folder,
      env: { PATH: process.env['PATH'], TMPDIR: join(command.folder, '../work') },
      encoding: 'utf8',
    });
    expect(said).toMatch(/\[ {24}\] 0% 0\/2 one\.jpg/);
    expect(said).toMatch(/\[={12} {12}\] 50% 1\/2(?:, \d+ s left)? (?:one|two)\.jpg/);
    expect(said).toContain('filemill: 2 done');
  });

  it('converts a folder of files whatever their names, and one bad file stops none of the rest', async () => {
    const good = ['two words.jpg', `it's "quoted" $(touch x).jpg`, '写真 фото.jpg', '-dash.jpg', 'line\nbreak.jpg'];
    for (const name of good) await writeFile(at(name), photo);
    await writeFile(at('bad.jpg'), Buffer.concat([photo.subarray(0, 20), Buffer.alloc(400, 7)]));
    await writeFile(at('program.jpg'), '#!/bin/sh\nexit\n');
    const { code, stdout } = await command.run([
      'convert',
      '--to',
      'webp',
      '--out',
      'out',
      '--json',
      '--',
      ...good,
      'bad.jpg',
      'program.jpg',
      'absent.jpg',
    ]);
    expect(code).toBe(1);
    const made = await names('out');
    expect(made).toEqual(good.map((name) => name.replace('.jpg', '.webp')).toSorted());
    for (const name of made) await isRed(at(join('out', name)), 'webp');
    expect(await names()).not.toContain('x');
    const lines = stdout
      .toString()
      .trim()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as {
            input: string;
            output?: string;
            fidelity?: { kept: number };
            error?: { code: string; details?: { reason?: string } };
          },
      );
    const errors = Object.fromEntries(lines.flatMap(({ input, error }) => (error === undefined ? [] : [[input, error]])));
    expect(Object.keys(errors).toSorted()).toEqual(['absent.jpg', 'bad.jpg', 'program.jpg']);
    expect(errors).toMatchObject({
      'absent.jpg': { code: 'NO_SUCH_FILE' },
      'bad.jpg': { code: 'CONVERSION_FAILED', details: { reason: 'corrupt_input' } },
      'program.jpg': { code: 'UNSUPPORTED_MIME' },
    });
    expect(lines.filter(({ output }) => output !== undefined)).toHaveLength(good.length);
    // Each result says what became of the photo: its size, depth and colours at least.
    for (const { output, fidelity } of lines) expect((fidelity?.kept ?? 0) > 2).toBe(output !== undefined);
  });

  it('gives results distinct names', async () => {
    await mkdir(at('a'));
    await writeFile(at('a/x.jpg'), photo);
    await writeFile(at('x.jpg'), photo);
    const { code } = await command.run(['convert', 'a/x.jpg', 'x.jpg', '--to', 'png', '--out', 'out/']);
    expect([code, await names('out')]).toEqual([0, ['x-2.png', 'x.png']]);
    // To its own format: never onto itself.
    expect((await command.run(['convert', 'x.jpg', '--to', 'jpg', '--img-quality', '10'])).code).toBe(0);
    expect(await readFile(at('x.jpg'))).toEqual(photo);
    await isRed(at('x-filemill.jpg'), 'jpeg');
  });

  it('reads standard input and writes standard output', async () => {
    const piped = await command.run(['convert', '-', '--to', 'png'], photo);
    expect([piped.code, piped.stderr]).toEqual([0, '']);
    await isRed(piped.stdout, 'png');
    const both = await command.run(['convert', '-', '-', '--to', 'txt', '--from', 'md'], Buffer.from('# Words\n\nfrom *afar*\n'));
    expect([both.code, both.stdout.toString().replace(/\s+/g, ' ').trim()]).toEqual([0, 'Words from afar']);
    expect(await names()).toEqual([]);
  });

  it('overwrites nothing without --force, and its source never', async () => {
    await writeFile(at('photo.jpg'), photo);
    await writeFile(at('photo.png'), 'mine');
    const refused = await command.run(['convert', 'photo.jpg', 'photo.png']);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      'filemill: photo.jpg: The output file exists already: --force overwrites it. (EXISTS)\n',
    ]);
    expect(await readFile(at('photo.png'), 'utf8')).toBe('mine');
    expect((await command.run(['convert', 'photo.jpg', 'photo.png', '--force'])).code).toBe(0);
    await isRed(at('photo.png'), 'png');
    const itself = await command.run(['convert', 'photo.jpg', './photo.jpg', '--force']);
    expect([itself.code, itself.stderr]).toEqual([1, expect.stringContaining('is the source itself')]);
    expect(await readFile(at('photo.jpg'))).toEqual(photo);
  });

  it('puts several pages into a ZIP that is called one', async () => {
    await writeFile(at('two.pdf'), pdf([['one'], ['two']]));
    const { code, stderr } = await command.run(['convert', 'two.pdf', 'page.png', '--dpi', '40']);
    expect([code, await names()]).toEqual([0, ['page.zip', 'two.pdf']]);
    expect(stderr).toContain('the 2 parts are in a ZIP');
  });

  it('takes a password from a file', async () => {
    await writeFile(at('open.pdf'), pdf([['kept words']]));
    execFileSync('qpdf', ['--encrypt', 'sesame', 'owner', '256', '--', at('open.pdf'), at('locked.pdf')]);
    await writeFile(at('secret'), 'sesame\n');
    const without = await command.run(['convert', 'locked.pdf', 'a.txt']);
    expect([without.code, without.stderr]).toEqual([
      1,
      expect.stringContaining('The file is encrypted: send its password with --password-file'),
    ]);
    expect((await command.run(['convert', 'locked.pdf', 'a.txt', '--password-file', 'secret'])).code).toBe(0);
    expect(await readFile(at('a.txt'), 'utf8')).toContain('kept words');
  });

  it.each([
    [
      'an option out of bounds',
      ['convert', 'a.jpg', 'b.webp', '--img-quality', '101'],
      '--img-quality is "101"; expected integer, 0 to 100',
    ],
    ['an unknown flag', ['convert', 'a.jpg', 'b.webp', '--img-qualty', '1'], "Unknown option '--img-qualty'; did you mean --img-quality?"],
    ['a flag of another program', ['convert', 'a.jpg', 'b.webp', '--overwrite'], 'did you mean --force?'],
    ['an unknown format', ['convert', 'a.jpg', '--to', 'nope'], '"nope" is not a format'],
    ['a mistyped format', ['convert', 'a.jpg', '--to', 'pngg'], '"pngg" is not a format that filemill knows; did you mean "png"?'],
    ['a part of a tool', ['tool', 'merge', 'a.pdf'], 'there is no tool "merge"; did you mean "merge-pdf" or "merge-videos"?'],
    ['no format', ['convert', 'a.jpg'], 'the target format is missing'],
    ['several files for one name', ['convert', 'a.jpg', 'b.jpg', 'c.jpg'], 'several files need --to'],
    ['an unknown tool', ['tool', 'nope', 'a.jpg'], 'there is no tool "nope"'],
    ['a server that is no URL', ['convert', 'a.jpg', 'b.png', '--server', 'nope'], 'expected a URL'],
    ['a server without slashes', ['convert', 'a.jpg', 'b.png', '--server=http:127.0.0.1:18099'], 'expected a URL in full'],
    [
      'a server with a query',
      ['convert', 'a.jpg', 'b.png', '--server', 'http://me:pw@127.0.0.1:18099?.png'],
      '"…@127.0.0.1:18099?…"; expected a URL without',
    ],
    [
      'a header without a name',
      ['convert', 'a.jpg', 'b.png', '--server', 'http://127.0.0.1', '--header', 'sesame'],
      'expected "Name: value"',
    ],
    ['an escape sequence in a format', ['convert', 'a.jpg', '--to', '\x1b[2Jp\nng'], '"\\x1b[2jp\\nng" is not a format'],
    ['an escape sequence in a flag', ['convert', 'a.jpg', '--\x1b[2J', '1'], "Unknown option '--\\x1b[2J'"],
    ['an escape sequence in a tool', ['tool', '\u202e\x9b2J', 'a.jpg'], 'no tool "\\u{202e}\\x9b2J"'],
    ['an escape sequence in a value', ['convert', 'a.jpg', 'b.webp', '--img-quality', '\x1b[2J'], '--img-quality is "\\x1b[2J"'],
  ])('ends with 2 and a way on for %s', async (_, args, says) => {
    const { code, stderr } = await command.run(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
    expect(stderr).toContain('--help');
    expect(stderr).not.toMatch(/[^\n\P{Cc}]|\p{Cf}|sesame|pw@/u);
  });

  it('never takes the name of a file here for a flag', async () => {
    await writeFile(at('photo.png'), photo);
    const names = ['--server=http:127.0.0.1:18099?.png', '-q'];
    for (const name of names) {
      await writeFile(at(name), photo);
      const { code, stdout, stderr } = await command.run(['convert', name, 'photo.png', '--to', 'jpg', '--out', 'out']);
      expect([code, stdout.length, stderr]).toEqual([
        2,
        0,
        expect.stringContaining(`"${name}" begins with a dash and is the name of a file here: write "./${name}"`),
      ]);
    }
    const { code } = await command.run([
      'convert',
      '--to',
      'jpg',
      '--out',
      'out',
      './--server=http:127.0.0.1:18099?.png',
      '--',
      '-q',
      'photo.png',
    ]);
    expect([code, await readdir(at('out'))]).toEqual([
      0,
      expect.arrayContaining(['--server=http:127.0.0.1:18099?.jpg', '-q.jpg', 'photo.jpg']),
    ]);
  });

  it('converts the files in folders, passes over the rest, and a second run leaves out what is there', async () => {
    await mkdir(at('in/deep er/.hidden'), { recursive: true });
    for (const name of ['in/a.jpg', 'in/deep er/фото.JPG', 'in/.b.jpg', 'in/deep er/.hidden/c.jpg']) await writeFile(at(name), photo);
    // No text: what a shell passes on is bytes.
    const bytes = Buffer.concat([Buffer.from(at('in/x')), Buffer.of(0xff), Buffer.from('.jpg')]);
    await writeFile(bytes, photo);
    await writeFile(at('in/notes.unheardof'), 'words');
    await symlink('..', at('in/loop'));
    await symlink('../a.jpg', at('in/deep er/link.jpg'));
    const args = ['convert', 'in', '--to', 'webp', '--recursive', '--out', 'in/out', '--skip-existing'];
    const first = await command.run(args);
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('filemill: 4 done, 1 in folders passed over')]);
    const made = await readdir(at('in/out'), { recursive: true, encoding: 'buffer' });
    expect(made.map((name) => name.toString('latin1')).toSorted()).toEqual(
      ['a.webp', 'deep er', 'deep er/link.webp', Buffer.from('deep er/фото.webp').toString('latin1'), 'x\xff.webp'].toSorted(),
    );
    await isRed(at('in/out/deep er/фото.webp'), 'webp');
    await isRed(await readFile(Buffer.concat([Buffer.from(at('in/out/x')), Buffer.of(0xff), Buffer.from('.webp')])), 'webp');
    const second = await command.run([...args, '--json']);
    const lines = second.stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect([second.code, lines]).toEqual([
      0,
      Array(4).fill(expect.objectContaining({ skipped: expect.objectContaining({ code: 'EXISTS' }) })),
    ]);
  });

  it('says what it would do, and does nothing; and names results as a template says', async () => {
    await writeFile(at('photo.png'), photo);
    const args = ['convert', 'photo.png', 'photo.png', '--to', 'bmp', '--name', 'small {name} {n}', '--out', 'out'];
    const dry = await command.run([...args, '--dry-run', '--pages', '2', '--json']);
    const [line] = dry.stdout.toString().trim().split('\n');
    expect([dry.code, JSON.parse(line ?? '')]).toMatchObject([
      0,
      {
        input: 'photo.png',
        output: 'out/small photo 1.bmp',
        formats: ['jpg'],
        engines: [{ name: expect.any(String), version: expect.stringMatching(/^\d/) }],
        warnings: [{ message: expect.stringContaining('its name says png') }, { code: 'option_ignored' }],
      },
    ]);
    expect(await names()).toEqual(['photo.png']);
    expect((await command.run(args)).code).toBe(0);
    expect(await names('out')).toEqual(['small photo 1.bmp', 'small photo 2.bmp']);
  });

  it('takes a file whose name is no text, as an argument', async () => {
    const path = Buffer.concat([Buffer.from(at('b')), Buffer.of(0xe9), Buffer.from('.jpg')]);
    await writeFile(path, photo);
    // A shell expands it to bytes.
    const { status, stderr } = spawnSync('sh', ['-c', `${join(checkout, 'scripts/filemill')} convert ./b*.jpg --to png`], {
      cwd: command.folder,
      encoding: 'utf8',
      env: { ...process.env, TMPDIR: join(command.folder, '../work') },
    });
    expect([status, stderr]).toEqual([0, './b\\xe9.jpg → b\\xe9.png\n']);
    await isRed(await readFile(Buffer.concat([Buffer.from(at('b')), Buffer.of(0xe9), Buffer.from('.png')])), 'png');
  });

  it('says that a disk is full, and ends with 1', async () => {
    await writeFile(at('photo.jpg'), photo);
    for (const args of ['- --to bmp', 'photo.png --json']) {
      const line = `${join(checkout, 'scripts/filemill')} convert photo.jpg ${args} > /dev/full`;
      const { status, stderr } = spawnSync('sh', ['-c', line], { cwd: command.folder, encoding: 'utf8' });
      expect([status, stderr], args).toEqual([1, expect.stringContaining('written (ENOSPC)')]);
    }
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('leaves nothing at %s', async (signal) => {
    const many = Array.from({ length: 40 }, (_, index) => `${index}.png`);
    const large = await sharp({
      create: { width: 900, height: 900, channels: 3, background: RED, noise: { type: 'gaussian', mean: 128, sigma: 40 } },
    })
      .png({ compressionLevel: 1 })
      .toBuffer();
    await writeFile(at('0.png'), large);
    for (const name of many.slice(1)) await copyFile(at('0.png'), at(name));
    const { child, said, ended } = command.start(['convert', ...many, '--to', 'webp', '--out', 'out']);
    await eventually(() => said().includes('→'), 'a first result', 60_000);
    const pid = String(child.pid);
    child.kill(signal);
    expect((await ended).code).toBe(signal === 'SIGINT' ? 130 : 143);
    // Whole results stay; halves do not, nor any program.
    const made = await names('out');
    expect(made.length).toBeLessThan(many.length);
    expect(made.filter((name) => !/^\d+\.webp$/.test(name))).toEqual([]);
    for (const name of made.slice(0, 2)) expect((await sharp(at(join('out', name))).metadata()).width).toBe(900);
    expect(execFileSync('ps', ['-eo', 'args']).toString()).not.toContain(`--parent ${pid} `);
  });
});

describe('the environment', () => {
  const inside = async (env: Readonly<Record<string, string>>) => {
    await writeFile(at('photo.jpg'), photo);
    return command.run(['convert', 'photo.jpg', 'photo.png'], undefined, env);
  };

  it.each([
    ['no number', { MEMORY_LIMIT: 'lots' }, 'MEMORY_LIMIT, worker.limitBytes: received "lots"; expected a whole number from 1 on'],
    ['too little memory', { MEMORY_LIMIT: String(1 << 20) }, 'a limit of 1 MiB leaves too little memory'],
    ['no size of a folder', { WORK_DIR_LIMIT: '-1' }, 'WORK_DIR_LIMIT, worker.dirBytes: received "-1"; expected a whole number from 1 on'],
  ])('with %s is refused in a sentence, without a configuration file too', async (_, env, says) => {
    const { code, stderr } = await inside(env);
    expect([code, stderr]).toEqual([3, expect.stringContaining(says)]);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(await names()).toEqual(['photo.jpg']);
  });

  it('bounds a conversion as it bounds those of a service', async () => {
    await writeFile(
      at('large.png'),
      await sharp({ create: { width: 4000, height: 4000, channels: 3, background: RED } })
        .png()
        .toBuffer(),
    );
    const { code, stderr } = await command.run(['convert', 'large.png', 'large.bmp'], undefined, { WORK_DIR_LIMIT: String(2 << 20) });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/large\.png: .*larger than/)]);
  });

  it('names a result that would have the name of its source as the configuration says', async () => {
    await writeFile(at('filemill.yaml'), 'output: { suffix: "-small" }');
    const env = { CONFIG_FILE: at('filemill.yaml') };
    expect((await inside(env)).code).toBe(0);
    expect((await command.run(['convert', 'photo.png', '--to', 'png'], undefined, env)).code).toBe(0);
    expect((await command.run(['tool', 'grayscale-image', 'photo.jpg'], undefined, env)).code).toBe(0);
    expect(await names()).toEqual(['filemill.yaml', 'photo-small.jpg', 'photo-small.png', 'photo.jpg', 'photo.png']);
  });

  it('with what only a service reads stops no command', async () => {
    const { code } = await inside({ MEMORY_LIMIT: String(4 * 2 ** 30), PORT: 'none', NATS_URL: '', NATS_USER: 'api', SECRET_KEY: 'short' });
    expect(code).toBe(0);
    await isRed(at('photo.png'), 'png');
  });
});

describe('filemill tool', () => {
  it('takes files one by one, or together, as the tool does', async () => {
    await writeFile(at('a.pdf'), pdf([['first']]));
    await writeFile(at('b.pdf'), pdf([['second']]));
    await writeFile(at('p.jpg'), photo);
    await writeFile(at('q.jpg'), photo);
    expect((await command.run(['tool', 'merge-pdf', 'a.pdf', 'b.pdf', '--out', 'both.pdf'])).code).toBe(0);
    expect(execFileSync('pdftotext', [at('both.pdf'), '-']).toString()).toMatch(/first[\s\S]*second/);
    const each = await command.run(['tool', 'resize-image', 'p.jpg', 'q.jpg', '--img-resize-w', '32', '--json']);
    expect([each.code, each.stdout.toString().trim().split('\n')]).toEqual([0, [expect.any(String), expect.any(String)]]);
    for (const name of ['p-filemill.jpg', 'q-filemill.jpg']) expect((await sharp(at(name)).metadata()).width).toBe(32);
    const missing = await command.run(['tool', 'merge-pdf', 'a.pdf']);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('merge-pdf takes 2 to 20 files, not 1')]);
  });

  it('takes flags before its name, and shows how it is called', async () => {
    await writeFile(at('a.pdf'), pdf([['first']]));
    const before = await command.run(['tool', '--out', 'small.pdf', '-q', 'compress-pdf', 'a.pdf']);
    expect([before.code, await names()]).toEqual([0, ['a.pdf', 'small.pdf']]);
    const help = (await command.run(['tool', 'merge-pdf', '--help'])).stdout.toString();
    expect(help).toContain('Examples\n  filemill tool merge-pdf one.pdf two.pdf\n');
  });
});

describe('filemill formats', () => {
  it('lists what a format can become', async () => {
    const { code, stdout } = await command.run(['formats', 'docx', '--json']);
    expect([code, JSON.parse(stdout.toString())]).toEqual([
      0,
      { format: 'docx', family: 'document', targets: expect.arrayContaining(['pdf', 'odt']) },
    ]);
    const way = await command.run(['formats', 'png', 'jpg']);
    expect([way.code, way.stdout.toString()]).toEqual([0, expect.stringMatching(/^png → jpg: .*libvips.*\n[\s\S]*--img-quality/)]);
  });
});

describe('filemill info', () => {
  it('says what files are by their content', async () => {
    await writeFile(at('photo.png'), photo);
    await writeFile(at('two.pdf'), pdf([['one'], ['two']]));
    const { code, stdout, stderr } = await command.run(['info', '--json', 'photo.png', 'two.pdf', 'absent']);
    const lines = stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect([code, stderr, lines]).toMatchObject([
      1,
      '',
      [
        { file: 'photo.png', format: 'jpg', content_type: 'image/jpeg', size_bytes: photo.length, facts: { width: 96, height: 64 } },
        { file: 'two.pdf', format: 'pdf', facts: { pages: 2 } },
        { file: 'absent', error: { code: 'NO_SUCH_FILE' } },
      ],
    ]);
  });
});

describe('the manual page', () => {
  it('is what man(1) shows', async () => {
    const { stdout } = await command.run(['help', '--man']);
    expect(stdout.toString()).toBe(await readFile(join(checkout, 'man/filemill.1'), 'utf8'));
    const shown = spawnSync('man', ['-l', join(checkout, 'man/filemill.1')], {
      encoding: 'utf8',
      env: { ...process.env, MANWIDTH: '100' },
    });
    if (shown.error === undefined) expect(shown.stdout.replace(/.\x08/g, '')).toMatch(/--skip-existing\n? +leaves out files/);
  });
});

describe('completion', () => {
  const ask = {
    bash: (script: string) =>
      [
        'bash',
        '-c',
        `set -eu; source ${script}; COMP_WORDS=(filemill convert --to we); COMP_CWORD=3; _filemill; echo "\${COMPREPLY[@]}"
        COMP_WORDS=(filemill tool compress-pd); COMP_CWORD=2; _filemill; echo "\${COMPREPLY[@]}"
        COMP_WORDS=(filemill convert --img-q); COMP_CWORD=2; _filemill; echo "\${COMPREPLY[@]}"`,
      ] as const,
    zsh: (script: string) =>
      [
        'zsh',
        '-fc',
        `compdef() { :; }; compadd() { shift; print -l -- "$@" | grep -E '^(webm|webp|compress-pdf|--img-quality)$' | sort | paste -sd' '; }
      source ${script}; words=(filemill convert --to we); CURRENT=4; _filemill; words=(filemill tool compress-pd); CURRENT=3; _filemill; words=(filemill convert --img-q); CURRENT=3; _filemill`,
      ] as const,
    fish: (script: string) =>
      [
        'fish',
        '--no-config',
        '-c',
        `source ${script}; complete -C 'filemill convert --to we'; complete -C 'filemill tool compress-pd'; complete -C 'filemill convert --img-q'`,
      ] as const,
  };

  it.each(Object.keys(ask))('of %s completes formats, tools and flags', async (shell) => {
    const { code, stdout } = await command.run(['completion', shell]);
    expect(code).toBe(0);
    await writeFile(at('script'), stdout);
    await chmod(at('script'), 0o644);
    const [program = '', ...args] = ask[shell as keyof typeof ask](at('script'));
    const found = execFileSync(program, args).toString().trim().split(/\s+/);
    expect(found).toEqual(expect.arrayContaining(['webp', 'compress-pdf', '--img-quality']));
    expect(found).not.toContain('pdf');
  });
});
