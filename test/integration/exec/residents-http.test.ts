/**
 * Warm programs as clients meet them: whatever one job does to its program, the next one knows nothing of it.
 *
 * Slow: LibreOffice is stopped in the midst of long documents, and started again.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { eventually } from '../../kit/api/wire.ts';
import { LOCKED_WORDS, lockedDocuments, PASSWORD } from '../../kit/catalog/locked.ts';
import { forkedBelow, isGone, parentOf, processesBelow, runningBelow, waitingBelow } from '../../kit/exec/processes.ts';
import { rounds } from '../../kit/exec/rounds.ts';
import { type Answer, convert, type Service, type Settings, startService, untilEnded } from '../../kit/roles/service.ts';

/** One conversion of each pool at a time: the next job meets the program of the one before. */
const SLOTS = { image: 1, office: 1, media: 0, pdf: 0 };

let folder: string;
const services: Service[] = [];

beforeAll(async () => {
  for (const script of ['build-launcher', 'build-native']) execFileSync(`scripts/${script}`);
  folder = await mkdtemp('/tmp/filemill-residents-http-');
  await chmod(folder, 0o755);
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function serve(worker: Settings[string] & object = {}): Promise<Service> {
  const service = await startService({ worker: { slots: SLOTS, ...worker } });
  services.push(service);
  return service;
}

interface Sent {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly to: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/** Begins a job. @returns what tells its end */
async function begin({ url }: Service, { name, bytes, to, fields = {} }: Sent): Promise<() => Promise<Answer>> {
  const { data, error } = await convert(url, { name, bytes }, to, fields, { prefer: 'respond-async' });
  if (data === undefined) throw new Error(`${name} was refused: ${error?.code}`);
  return () => untilEnded(url, data.job_id);
}

const send = async (service: Service, job: Sent): Promise<Answer> => (await begin(service, job))();

/** Downloads a finished job. @returns all that can be read in it: as it is, unpacked, and as text */
async function everythingIn({ url }: Service, { data, error }: Answer): Promise<string> {
  if (data?.output === undefined) throw new Error(`the job failed: ${JSON.stringify(error)}`);
  const response = await fetch(`${url}/api/v1/jobs/${data.job_id}/output`);
  const path = join(folder, `${data.job_id}.out`);
  await writeFile(path, Buffer.from(await response.arrayBuffer()));
  const read = (program: string, ...args: string[]) => execFileSync(program, args, { maxBuffer: 2 ** 30 }).toString('latin1');
  const head = readFileSync(path, 'latin1');
  if (head.startsWith('%PDF')) {
    const inflated = read('/usr/bin/qpdf', '--stream-data=uncompress', '--object-streams=disable', path, '-');
    return [head, inflated, read('/usr/bin/pdftotext', path, '-')].join('\n');
  }
  return head.startsWith('PK') ? [head, read('/usr/bin/unzip', '-Z1', path), read('/usr/bin/unzip', '-p', path)].join('\n') : head;
}

/** Looks until there is an answer: neither /proc nor another's folder tells of a change. */
async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((done) => setTimeout(done, 5));
  }
}

const lines = (count: number, word: string): Buffer =>
  Buffer.from(Array.from({ length: count }, (_, at) => `${word} ${at} with as many words as a line of a page takes`).join('\n'));
const noise = (side: number): Buffer =>
  execFileSync('/usr/bin/convert-im6.q16', ['-size', `${side}x${side}`, 'plasma:', 'png:-'], { maxBuffer: 2 ** 28 });

/** A kind of warm program: which process does the work, a job that takes long, and a short one that bears `word`. */
interface Kind {
  readonly name: string;
  readonly running: () => number[];
  /** Those of `running` that will do the next job. */
  readonly waiting: () => number[];
  /** Those that do a job for the second time. */
  readonly again: () => number[];
  /** Whether that one has got the job. */
  readonly hasJob: (service: Service) => boolean;
  readonly long: (word: string) => Sent;
  readonly short: (word: string) => Sent;
}

/** Those that are ready: each has forked a process for the next picture, which is in its group (field 5 of proc_pid_stat(5)). */
const pictureServers = (): number[] =>
  runningBelow('vips-server').filter((pid) => {
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'latin1') : '';
    return stat.split(') ')[1]?.split(' ')[2] === String(pid) && processesBelow(pid).length > 0;
  });

const KINDS: readonly Kind[] = [
  {
    name: 'LibreOffice',
    running: () => forkedBelow(),
    waiting: () => waitingBelow(),
    again: () => processesBelow().flatMap(({ pid, argv }) => (argv[0]?.endsWith('python3') && argv.includes('--once') ? [pid] : [])),
    // It is started for the job.
    hasJob: () => true,
    long: (word) => ({ name: 'long.txt', bytes: lines(6_000, word), to: 'pdf' }),
    short: (word) => ({ name: 'short.txt', bytes: lines(1, word), to: 'pdf' }),
  },
  {
    name: 'the picture program',
    running: pictureServers,
    waiting: pictureServers,
    again: pictureServers,
    hasJob: (service) => jobFolders(service).length > 0,
    long: () => ({ name: 'long.png', bytes: noise(3_000), to: 'avif' }),
    short: () => ({ name: 'short.png', bytes: noise(32), to: 'jpg' }),
  },
];

/**
 * Stopped before it gets the job: what follows happens while it holds the job and has not answered, however busy the machine is. One that had
 * not yet said that it is ready is replaced after a second, by another that does the job.
 */
async function stopped({ waiting }: Kind): Promise<number> {
  for (;;) {
    const worker = await until(() => waiting().find((pid) => !isGone(pid)));
    process.kill(worker, 'SIGSTOP');
    await new Promise((done) => setTimeout(done, 1_500));
    if (!isGone(worker)) return worker;
  }
}

/** Begins a long job behind a first one. @returns the process that is in the midst of it */
async function midway(service: Service, kind: Kind): Promise<{ worker: number; ended: () => Promise<Answer> }> {
  expect((await send(service, kind.short('firstword'))).data?.status).toBe('done');
  const worker = await stopped(kind);
  const ended = await begin(service, kind.long('secondword'));
  await until(() => jobFolders(service)[0]);
  return { worker, ended };
}

/** Folders that residents hold now, each with one job in it. */
const jobFolders = ({ dataDir }: Service): string[] =>
  readdirSync(join(dataDir, 'work'))
    .filter((name) => name.startsWith('slot-'))
    .flatMap((slot) => readdirSync(join(dataDir, 'work', slot)).map((name) => join(dataDir, 'work', slot, name, 'job')))
    .filter((path) => /\/r\d+\/job$/.test(path) && existsSync(path));

/** The next job succeeds in another process, and nothing of the earlier ones is in its result or on the disk. */
async function nextIsUntouched(service: Service, { running, short }: Kind, worker: number): Promise<void> {
  const next = await everythingIn(service, await send(service, short('thirdword')));
  const [another = 0] = running();
  expect(another).not.toBe(worker);
  expect(isGone(worker)).toBe(true);
  for (const word of ['firstword', 'secondword']) expect(next).not.toContain(word);
  // The job's own folders go once its end is told. grep answers 1 where it finds nothing.
  const place = join(service.dataDir, 'work');
  const grep = () => spawnSync('/bin/grep', ['-rlE', 'firstword|secondword|thirdword', place, '--exclude-dir=runtime']).status;
  await eventually(() => grep() === 1, 'every trace to go');
}

/** Also one that is stopped; the launcher may have ended it between the two. */
function crash(worker: number): void {
  for (const signal of ['SIGSEGV', 'SIGCONT'] as const) if (!isGone(worker)) process.kill(worker, signal);
}

for (const kind of KINDS) {
  describe(`a job in which ${kind.name}`, () => {
    it('hangs fails with a timeout, and the next one succeeds', async () => {
      const service = await serve({ maxSeconds: 6 });
      const { worker, ended } = await midway(service, kind);
      expect((await ended()).error).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'timeout' } });
      await nextIsUntouched(service, kind, worker);
    });

    it('crashes is done in a fresh process', async () => {
      const service = await serve();
      const { worker, ended } = await midway(service, kind);
      crash(worker);
      const answer = await ended();
      expect(answer.data?.status, JSON.stringify(answer.error)).toBe('done');
      expect((await everythingIn(service, answer)).length).toBeGreaterThan(1_000);
      await nextIsUntouched(service, kind, worker);
    });

    it('crashes twice fails, and the next one succeeds', async () => {
      const service = await serve();
      const { worker, ended } = await midway(service, kind);
      crash(worker);
      const second = await until(() => kind.again().find((pid) => pid !== worker));
      await until(() => kind.hasJob(service) || undefined);
      crash(second);
      expect((await ended()).error).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'engine_crashed' } });
      await nextIsUntouched(service, kind, worker);
    });
  });
}

describe('LibreOffice', () => {
  const table = (rows: number): Sent => ({
    name: 'table.csv',
    bytes: Buffer.from(
      Array.from({ length: rows }, (_, row) => Array.from({ length: 20 }, (_, column) => row * 20 + column).join(',')).join('\n'),
    ),
    to: 'xlsx',
  });

  it('reads each file in another process, and what forks these neither grows nor is replaced', async () => {
    const service = await serve();
    const forked: number[] = [];
    const sizes: number[] = [];
    for (let job = 0; job < rounds(6, 3); job++) {
      const answer = await send(service, table(job === 0 ? 10 : 12_000));
      expect(answer.data?.status, JSON.stringify(answer.error)).toBe('done');
      const next = await until(() => waitingBelow()[0]);
      forked.push(next);
      sizes.push(ownBytesOf(parentOf(next)));
    }
    expect(new Set(forked).size).toBe(forked.length);
    expect(new Set(forked.map((each) => each > 0)), 'each is a process').toEqual(new Set([true]));
    expect((sizes.at(-1) ?? 0) - (sizes[0] ?? 0)).toBeLessThan(4 * 2 ** 20);
    expect(await (await fetch(`${service.url}/metrics`)).text()).not.toContain(
      'filemill_residents_replaced_total{program="program:documents/office.py"',
    );
  });
});

/** Memory without a file of one process, bytes. */
const ownBytesOf = (pid: number): number => Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

describe('a document', () => {
  let service: Service;
  let canary: Server;
  let visits = 0;
  let address = '';
  let place = '';
  const TOKEN = 'canary4711';

  beforeAll(async () => {
    service = await startService({ worker: { slots: SLOTS } });
    canary = createServer((_, response) => response.end(TOKEN)).on('connection', () => visits++);
    await new Promise<void>((done) => canary.listen(0, '127.0.0.1', done));
    address = `http://127.0.0.1:${(canary.address() as AddressInfo).port}/canary`;
    await mkdir(join(folder, 'outside'), { mode: 0o755 });
    place = `file://${folder}/outside/canary`;
    await writeFile(join(folder, 'outside/canary.txt'), TOKEN, { mode: 0o644 });
    await writeFile(join(folder, 'outside/canary.csv'), TOKEN, { mode: 0o644 });
    await writeFile(join(folder, 'outside/canary.png'), noise(64), { mode: 0o644 });
  });
  afterAll(async () => {
    await service.stop();
    canary.close();
  });

  describe('that is encrypted', () => {
    let locked: ReadonlyMap<string, Buffer>;
    beforeAll(async () => {
      locked = await lockedDocuments();
    });
    const opened = (fields: Record<string, string>) =>
      send(service, { name: 'locked.docx', bytes: locked.get('docx') ?? Buffer.alloc(0), to: 'pdf', fields });

    it('asks for its password', async () => {
      expect((await opened({})).error).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'password_required' } });
    });
    it('does not open with another', async () => {
      expect((await opened({ password: 'wrong' })).error).toMatchObject({
        code: 'CONVERSION_FAILED',
        details: { reason: 'wrong_password' },
      });
    });
    it('opens with its own', async () => {
      expect(await everythingIn(service, await opened({ password: PASSWORD }))).toContain(LOCKED_WORDS);
    });
    it('asks again after it was open once', async () => {
      expect((await opened({})).error).toMatchObject({ details: { reason: 'password_required' } });
    });
  });

  /** Each links to a text and to a picture, both as a local file and at an address, and says "kept" itself. */
  const LINKING: Readonly<Record<string, (links: readonly string[]) => Buffer | Promise<Buffer>>> = {
    fodt: (links) =>
      flat(
        'text',
        links.map(
          (link) =>
            `<text:section text:name="${escaped(link)}"><text:section-source xlink:href="${link}.txt"/><text:p>kept</text:p></text:section>${frame(link)}`,
        ),
      ),
    fodp: (links) =>
      flat('presentation', [
        `<draw:page draw:name="p"><draw:frame svg:width="9cm" svg:height="2cm"><draw:text-box><text:p>kept</text:p></draw:text-box></draw:frame>${links.map((link) => image(link)).join('')}</draw:page>`,
      ]),
    fods: (links) =>
      flat('spreadsheet', [
        `<table:table table:name="t"><table:table-row><table:table-cell office:value-type="string"><text:p>kept</text:p></table:table-cell>`,
        ...links.map(
          (link) =>
            `<table:table-cell table:formula="of:='${link}.csv'#$canary.A1"/><table:table-cell table:formula="of:=WEBSERVICE(&quot;${link}.txt&quot;)"/>`,
        ),
        `</table:table-row></table:table>`,
      ]),
    html: (links) =>
      Buffer.from(
        `<html><head>${links.map((link) => `<link rel="stylesheet" href="${link}.txt">`).join('')}</head><body><p>kept</p>${links.map((link) => `<img src="${link}.png"><iframe src="${link}.txt"></iframe>`).join('')}</body></html>`,
      ),
    rtf: (links) =>
      Buffer.from(
        String.raw`{\rtf1\ansi{\*\template ${links[0]}.txt}kept ` +
          links
            .map(
              (link) =>
                String.raw`{\field{\*\fldinst INCLUDEPICTURE "${link}.png" \\d}{\fldrslt}}{\field{\*\fldinst INCLUDETEXT "${link}.txt"}{\fldrslt}}`,
            )
            .join('') +
          '}',
      ),
    docx,
  };

  const cases: readonly (readonly [string, string])[] = [
    ['fodt', 'pdf'],
    ['fodt', 'docx'],
    ['fodp', 'pdf'],
    ['fods', 'xlsx'],
    ['fods', 'csv'],
    ['html', 'pdf'],
    ['rtf', 'odt'],
    ['docx', 'pdf'],
    ['docx', 'odt'],
  ];
  for (const [source, target] of cases) {
    it(`(${source} to ${target}) that links to files and addresses gets neither`, async () => {
      const before = visits;
      const sent = async (links: readonly string[]) => {
        const bytes = (await LINKING[source]?.(links)) ?? Buffer.alloc(0);
        return everythingIn(service, await send(service, { name: `linking.${source}`, bytes, to: target }));
      };
      const all = await sent([place, address]);
      expect(all).toContain('kept');
      expect(all).not.toContain(TOKEN);
      // Neither does a picture of theirs get in: there is what stands for a picture that is missing, if anything.
      expect(picturesIn(all)).toEqual(picturesIn(await sent([`${place}-missing`, `${address}-missing`])));
      expect(visits).toBe(before);
    });
  }
});

/** Each picture of a PDF or an unpacked document, as it is written there. */
const picturesIn = (all: string): string[] =>
  [...all.matchAll(/\/Subtype \/Image[^>]*|(?:media|Pictures)\/[^/\n]+\.png/g)].map(([found]) => found);

const SPACES = ['office', 'text', 'draw', 'table'].map(
  (name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name === 'draw' ? 'drawing' : name}:1.0"`,
);

/** A flat OpenDocument file. */
const flat = (kind: string, body: readonly string[]): Buffer =>
  Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?><office:document ${SPACES.join(' ')} xmlns:xlink="http://www.w3.org/1999/xlink" ` +
      `xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" office:version="1.2" ` +
      `office:mimetype="application/vnd.oasis.opendocument.${kind}"><office:body><office:${kind}>${body.join('')}</office:${kind}></office:body></office:document>`,
  );
const image = (link: string): string =>
  `<draw:frame svg:width="5cm" svg:height="5cm"><draw:image xlink:href="${link}.png" xlink:type="simple" xlink:actuate="onLoad"/></draw:frame>`;
const frame = (link: string): string => `<text:p>${image(link)}</text:p>`;
const escaped = (link: string): string => link.replace(/\W/g, '');

/** With external relationships for a picture and a template, and a field that includes a text. */
async function docx(links: readonly string[]): Promise<Buffer> {
  const W = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
  const R = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const rels = (rows: readonly string[]) =>
    `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${rows.join('')}</Relationships>`;
  const external = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${R}/${type}" Target="${target}" TargetMode="External"/>`;
  const picture = (at: number) =>
    `<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"><wp:extent cx="900000" cy="900000"/><wp:docPr id="${at + 1}" name="p"/>` +
    `<a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture">` +
    `<pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:nvPicPr><pic:cNvPr id="0" name="p"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:link="link${at}"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill>` +
    `<pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="900000" cy="900000"/></a:xfrm><a:prstGeom prst="rect"/></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`;
  const include = (link: string) =>
    `<w:p><w:fldSimple w:instr=" INCLUDETEXT &quot;${link}.txt&quot; "><w:r><w:t>field</w:t></w:r></w:fldSimple></w:p>`;
  const parts = {
    '[Content_Types].xml':
      '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>' +
      '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/><Override PartName="/word/settings.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.settings+xml"/></Types>',
    '_rels/.rels': rels([`<Relationship Id="d" Type="${R}/officeDocument" Target="word/document.xml"/>`]),
    'word/document.xml': `<?xml version="1.0"?><w:document xmlns:w="${W}" xmlns:r="${R}"><w:body><w:p><w:r><w:t>kept</w:t></w:r></w:p>${links.map((link, at) => picture(at) + include(link)).join('')}</w:body></w:document>`,
    'word/_rels/document.xml.rels': rels([
      ...links.map((link, at) => external(`link${at}`, 'image', `${link}.png`)),
      `<Relationship Id="s" Type="${R}/settings" Target="settings.xml"/>`,
    ]),
    'word/settings.xml': `<?xml version="1.0"?><w:settings xmlns:w="${W}" xmlns:r="${R}"><w:attachedTemplate r:id="t"/></w:settings>`,
    'word/_rels/settings.xml.rels': rels([external('t', 'attachedTemplate', `${links[1]}.txt`)]),
  };
  const zip = new ZipFile();
  for (const [name, text] of Object.entries(parts)) zip.addBuffer(Buffer.from(text), name);
  zip.end();
  return buffer(zip.outputStream);
}
