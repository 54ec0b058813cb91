/** `kill -9` of the real server, again and again, at every step of a job: nothing accepted is lost, done twice, or left lying about. */
import { type ChildProcess, execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { MAX_CLAIMS } from '../../../src/jobs/lifecycle.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import { outputKey } from '../../../src/objects/keys.ts';
import { within } from '../../../src/streams/deadline.ts';
import { collect } from '../../conformance/samples.ts';
import { seeded } from '../../kit/catalog/bytes.ts';
import { filesBelow, processesOf } from '../../kit/exec/left-behind.ts';
import { rounds } from '../../kit/exec/rounds.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { checkout, convert, endProcess, spawnService, startProcess, untilEnded } from '../../kit/roles/service.ts';

const run = promisify(execFile);
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const random = seeded(seed);
const upTo = (count: number): number => Math.floor(random() * count);

const JOBS = rounds(150, 25);
/** Each ends the server at its n-th line of this phase; `ended` is after the record's end and before the order's. */
const PHASES = ['claimed', 'converting', 'uploading', 'finishing', 'ended'] as const;
const AIMED = PHASES.flatMap((phase) => [1, 2 + upTo(2), 4 + upTo(3)].slice(0, rounds(3, 1)).map((nth) => `${phase}:${nth}`));
/** New ones for each server: enough that every aimed kill comes. */
const EACH = 7;
/** And these at any time at all, ms after the server serves. */
const BLIND = Array.from({ length: rounds(4, 1) }, () => 100 + upTo(1_500));

/** In which every server has come to where it is killed, ms. */
const KILLED_MS = 60_000;

type Colour = readonly [number, number, number];
interface Sent {
  readonly target: string;
  readonly colour: Colour;
}

const folder = await mkdtemp(join(tmpdir(), 'filemill-survival-'));
await chmod(folder, 0o755);
const started: ChildProcess[] = [];
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** One colour for each job: by it an output is known. */
const colourOf = (index: number): Colour => [
  (index % 6) * 45 + 15,
  (Math.floor(index / 6) % 6) * 45 + 15,
  Math.floor(index / 36) * 36 + 15,
];

async function sourceOf(index: number): Promise<{ name: string; bytes: Buffer; target: string; colour: Colour }> {
  const colour = colourOf(index);
  const [r, g, b] = colour;
  const background = { r, g, b };
  if (index % 20 === 7) {
    const path = join(folder, `${index}.mp4`);
    const hex = colour.map((part) => part.toString(16).padStart(2, '0')).join('');
    const picture = `color=c=0x${hex}:size=320x240:rate=25:duration=4`;
    await run('/usr/bin/ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', picture, '-c:v', 'mpeg4', '-q:v', '2', path]);
    return { name: 'film.mp4', bytes: await readFile(path), target: 'webm', colour };
  }
  if (index % 20 === 13) return { name: 'page.pdf', bytes: pdf([[`Job ${index}`]]), target: 'png', colour: [255, 255, 255] };
  const picture = sharp({ create: { width: 200, height: 150, channels: 3, background } });
  return { name: 'flat.png', bytes: await picture.png().toBuffer(), target: index % 2 === 0 ? 'jpg' : 'webp', colour };
}

/** The middle of a decoded output; a film's first frame. */
async function middleOf(bytes: Buffer, target: string): Promise<Colour> {
  let picture = bytes;
  if (target === 'webm') {
    const path = join(folder, 'decoded.webm');
    await writeFile(path, bytes);
    const args = ['-v', 'error', '-i', path, '-frames:v', '1', '-f', 'image2pipe', '-c:v', 'png', '-'];
    picture = (await run('/usr/bin/ffmpeg', args, { encoding: 'buffer', maxBuffer: 1 << 24 })).stdout;
  }
  const { data, info } = await sharp(picture).removeAlpha().toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
  const at = (Math.floor(info.height / 2) * info.width + Math.floor(info.width / 2)) * info.channels;
  return [data[at] ?? 0, data[at + 1] ?? 0, data[at + 2] ?? 0];
}

describe(`a server that is killed ${AIMED.length + BLIND.length} times (SEED=${seed})`, () => {
  const dataDir = join(folder, 'data');
  const accepted = new Map<string, Sent>();
  const claims = new Map<string, number>();
  const killedIn = new Map<string, number>();
  let sent = 0;

  const settings = { upkeep: { intervalMs: 300 } };
  const debug = { LOG_LEVEL: 'debug' };

  /** Sends until `count` have been taken or the server is gone: what it did not answer it has not accepted. */
  async function send(url: string, count: number): Promise<void> {
    for (let taken = 0; taken < count && accepted.size < JOBS; taken++) {
      const { name, bytes, target, colour } = await sourceOf(sent++);
      const answer = await convert(url, { name, bytes }, target, {}, { prefer: 'respond-async' }).catch(() => undefined);
      if (answer === undefined) return;
      expect(answer.status, JSON.stringify(answer.error)).toBe(200);
      accepted.set(answer.data?.job_id ?? '', { target, colour });
    }
  }

  /** What the dead server was at, as its last words tell: each job it had claimed, at the phase it had come to. */
  function learn(lines: readonly string[]): void {
    const at = new Map<string, string>();
    for (const line of lines.filter((text) => text.startsWith('{'))) {
      const { job_id: id, phase, msg } = JSON.parse(line) as Record<string, string>;
      if (id === undefined) continue;
      if (phase === 'claimed') claims.set(id, (claims.get(id) ?? 0) + 1);
      if (phase !== undefined) at.set(id, phase);
      else if (msg === 'the job ended') at.delete(id);
    }
    for (const phase of at.values()) killedIn.set(phase, (killedIn.get(phase) ?? 0) + 1);
  }

  it('loses no job that it accepted, and ends each once', { timeout: 240_000 }, async () => {
    await mkdir(dataDir, { mode: 0o755 });
    const rounds: (string | number)[] = [...AIMED, ...BLIND];
    for (let left = rounds.length; left > 0; left--) {
      const [kill] = rounds.splice(upTo(left), 1);
      const aimed = typeof kill === 'string';
      const hook = `--import ${join(checkout, 'test/kit/roles/kill-at.ts')}`;
      const { child, lines, serving, ended } = await spawnService(
        dataDir,
        settings,
        aimed ? { ...debug, KILL_AT: kill, NODE_OPTIONS: hook } : debug,
      );
      started.push(child);
      // What it found waiting may bring it to its end before it serves.
      const url = await serving;
      if (!aimed) setTimeout(() => child.kill('SIGKILL'), kill);
      if (url !== undefined) await send(url, EACH);
      await within(
        KILLED_MS,
        undefined,
        () => new Error(`the server was not killed: ${kill}`),
        () => ended,
      );
      expect(child.signalCode).toBe('SIGKILL');
      learn(lines);
    }

    const last = await startProcess(dataDir, settings, debug);
    started.push(last.child);
    while (accepted.size < JOBS) await send(last.url, JOBS);
    const ended = new Map<string, JobRecord>();
    for (const id of accepted.keys()) await untilEnded(last.url, id);
    for (const [id, { target, colour }] of accepted) {
      const response = await fetch(`${last.url}/api/v1/jobs/${id}/output`);
      if (response.status === 200) {
        const middle = await middleOf(Buffer.from(await response.arrayBuffer()), target);
        for (const [index, part] of middle.entries()) expect(Math.abs(part - (colour[index] ?? 0)), `${id} ${target}`).toBeLessThan(16);
      } else await response.body?.cancel();
    }
    await expect
      .poll(async () => (await filesBelow(join(dataDir, 'objects'))).filter((name) => /\/input-\d+$/.test(name)), {
        timeout: 15_000,
        interval: 200,
      })
      .toEqual([]);
    await endProcess(last);
    learn(last.lines);
    expect(last.child.exitCode).toBe(0);

    const jobs = openSqliteJobs(join(dataDir, 'filemill.db'), Date.now);
    for (const { record } of await collect(jobs.scan())) ended.set(record.id, record);
    await jobs.close();

    const states = Map.groupBy(accepted.keys(), (id) => ended.get(id)?.state ?? 'lost');
    console.log(
      `SEED=${seed}: ${accepted.size} jobs, ${[...states].map(([state, ids]) => `${state} ${ids.length}`).join(', ')}; killed in ${[...killedIn].map(([phase, times]) => `${phase} ${times}`).join(', ')}`,
    );
    for (const id of accepted.keys()) {
      const record = ended.get(id);
      if (record?.state === 'done') continue;
      // A job is given up only when it was in the hands of that many servers as they died.
      expect(record).toMatchObject({ state: 'error', failure: { reason: 'engine_crashed' }, attempts: MAX_CLAIMS });
      expect(claims.get(id)).toBeGreaterThanOrEqual(MAX_CLAIMS);
    }
    // Three slots, and as many deaths until a job is given up: one for each kill, at most.
    expect(states.get('done')?.length).toBeGreaterThanOrEqual(JOBS - AIMED.length - BLIND.length);
    for (const phase of ['claimed', 'converting', 'uploading', 'finishing']) expect(killedIn.get(phase), phase).toBeGreaterThan(0);

    // One output for each job that is done, under the winner's key, and nothing else.
    const wanted = [...ended.values()].filter(({ state }) => state === 'done').map(({ id, attempt }) => outputKey(id, attempt ?? ''));
    expect((await filesBelow(join(dataDir, 'objects'))).toSorted()).toEqual(wanted.toSorted());
    expect(await filesBelow(join(dataDir, 'work'))).toEqual([]);
    expect(await processesOf(dataDir)).toEqual([]);
  });
});

describe('a client that waits', () => {
  const WAITED = rounds(PHASES.length, 1);
  const first = upTo(PHASES.length);

  it.each(Array.from({ length: WAITED }, (_, at) => PHASES[(first + at) % PHASES.length]))(
    'gets one job by its key, whether the server died with it or after it (%s)',
    { timeout: 120_000 },
    async (phase) => {
      const dataDir = await mkdtemp(join(folder, 'waited-'));
      await chmod(dataDir, 0o755);
      const hook = `--import ${join(checkout, 'test/kit/roles/kill-at.ts')}`;
      const settings = { upkeep: { intervalMs: 300 } };
      const { name, bytes, target, colour } = await sourceOf(0);
      const ask = (url: string) => convert(url, { name, bytes }, target, {}, { 'idempotency-key': 'the-same' });

      const dying = await startProcess(dataDir, settings, { LOG_LEVEL: 'debug', KILL_AT: `${phase}:1`, NODE_OPTIONS: hook });
      started.push(dying.child);
      await expect(ask(dying.url)).rejects.toThrow();
      const last = await startProcess(dataDir, settings);
      started.push(last.child);
      // What was committed is claimed again when its worker is known to be dead.
      const { data } = await ask(last.url);
      const answer = await untilEnded(last.url, data?.job_id ?? '');
      expect(answer.data?.status).toBe('done');
      const output = Buffer.from(await (await fetch(`${last.url}/api/v1/jobs/${data?.job_id}/output`)).arrayBuffer());
      for (const [index, part] of (await middleOf(output, target)).entries())
        expect(Math.abs(part - (colour[index] ?? 0))).toBeLessThan(16);
      // The files of a job that no client was told of have gone, too.
      await expect.poll(() => filesBelow(join(dataDir, 'objects')), { timeout: 15_000, interval: 200 }).toHaveLength(1);
      await endProcess(last);
      const jobs = openSqliteJobs(join(dataDir, 'filemill.db'), Date.now);
      const records = await collect(jobs.scan());
      await jobs.close();
      expect(records.map(({ record: { id, state } }) => [id, state])).toEqual([[data?.job_id, 'done']]);
    },
  );
});
