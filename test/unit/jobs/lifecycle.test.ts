import { describe, expect, it } from 'vitest';
import {
  cancel,
  claim,
  fail,
  finish,
  GIVE_UP_MS,
  goneAt,
  hasEnded,
  MAX_CLAIMS,
  RETENTION_MS,
  requeue,
  TOMBSTONE_MS,
  visibility,
  waitingSince,
  withdraw,
} from '../../../src/jobs/lifecycle.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { JobRecordSchema } from '../../../src/jobs/record-schema.ts';
import { aRecord, START } from '../../conformance/samples.ts';

const LATER = START + 5_000;
const output = { key: 'k', filename: 'f.jpg', sizeBytes: 1, contentType: 'image/jpeg', sha256: '', files: 1 };
const result = { output, warnings: [{ code: 'lossy', message: 'm' }], engine: { name: 'e', version: '1' } };
const failure = { reason: 'timeout', message: 'm', details: {} };

const queued = aRecord({ sealed: 'sealed password' });
const running = aRecord({ ...queued, state: 'running', attempt: 'first', attempts: 1, startedAt: START });
const ends: Readonly<Record<string, JobRecord>> = {
  done: finish(running, LATER, result),
  error: fail(running, LATER, failure),
  cancelled: cancel(running, LATER),
};

describe('a claim', () => {
  const claimed = (change: Partial<JobRecord>) => claim(aRecord(change), 'next', LATER);
  const cases: Record<string, [Partial<JobRecord>, Partial<JobRecord>]> = {
    'takes a job that waits': [{}, { state: 'running', attempt: 'next', attempts: 1, startedAt: LATER }],
    'takes a job over from a holder that fell silent': [running, { state: 'running', attempt: 'next', attempts: 2, startedAt: LATER }],
    'is granted for the last time after two others': [{ attempts: MAX_CLAIMS - 1 }, { state: 'running', attempts: MAX_CLAIMS }],
    'ends a job that took three workers with it': [
      { ...running, attempts: MAX_CLAIMS },
      { state: 'error', endedAt: LATER, attempts: MAX_CLAIMS, failure: expect.objectContaining({ reason: 'engine_crashed' }) },
    ],
  };
  for (const [sentence, [before, after]] of Object.entries(cases)) it(sentence, () => expect(claimed(before)).toMatchObject(after));
  for (const [state, record] of Object.entries(ends))
    it(`finds nothing to take in a job that is ${state}`, () => expect(claim(record, 'next', LATER)).toBeUndefined());
});

describe('a holder that fell silent', () => {
  const takenOver = claim(running, 'second', LATER) ?? running;
  const twice = claim(takenOver, 'third', LATER) ?? running;

  it('is remembered by the worker that takes over', () => {
    expect(takenOver).toMatchObject({ attempt: 'second', attempts: 2, lapsed: ['first'] });
    expect(twice).toMatchObject({ attempt: 'third', attempts: 3, lapsed: ['first', 'second'] });
    expect(JobRecordSchema.parse(twice)).toEqual(twice);
  });
  it('and was only late takes its own claim back, once', () => {
    const back = withdraw(twice, 'second');
    expect(back).toMatchObject({ state: 'running', attempt: 'third', attempts: 2, lapsed: ['first'] });
    expect(withdraw(back ?? twice, 'second')).toBeUndefined();
    expect(withdraw(takenOver, 'first')).toEqual({ ...takenOver, attempts: 1, lapsed: undefined });
  });
  it('takes nothing back that is not its own, of a record of earlier days, or of a job that has ended', () => {
    for (const [record, attempt] of [
      [takenOver, 'second'],
      [takenOver, 'other'],
      [{ ...running, attempts: 3 }, 'first'],
      [finish(takenOver, LATER, result), 'first'],
    ] as const)
      expect(withdraw(record, attempt)).toBeUndefined();
  });
  it('counts until then: the fourth claim ends the job', () => {
    expect(claim(twice, 'fourth', LATER)).toMatchObject({ state: 'error', attempts: 3, failure: { reason: 'engine_crashed' } });
    const late = withdraw(twice, 'first') ?? twice;
    expect(claim(late, 'fourth', LATER)).toMatchObject({ state: 'running', attempts: 3, lapsed: ['second', 'third'] });
  });
  it('still counts when its successor gives the job back', () => {
    const back = requeue(takenOver, LATER);
    expect(back).toMatchObject({ state: 'queued', attempts: 1, lapsed: ['first'] });
    expect(withdraw(back, 'first')).toMatchObject({ state: 'queued', attempts: 0 });
  });
  it('is forgotten at the end', () => expect(finish(twice, LATER, result).lapsed).toBeUndefined());
});

describe('a job that is given back', () => {
  const back = requeue(running, LATER);

  it('waits as if it had never been claimed', () => {
    const { attempt: _, startedAt: __, ...before } = running;
    expect(back).toEqual({ ...before, state: 'queued', attempts: 0, queuedAt: LATER });
    expect(JobRecordSchema.parse(back)).toEqual(back);
  });
  it('keeps the password that it will need', () => expect(back.sealed).toBe(queued.sealed));
  it('goes on waiting where it ended: the time that a worker held it does not count', () => {
    const claimed = claim(queued, 'a', START + 60_000) ?? queued;
    expect(waitingSince(queued)).toBe(START);
    expect(waitingSince(requeue(claimed, START + 90_000))).toBe(START + 30_000);
    const again = claim(requeue(claimed, START + 90_000), 'b', START + 100_000) ?? queued;
    expect(waitingSince(requeue(again, START + 200_000))).toBe(START + 130_000);
  });
  it('can be claimed and given back any number of times', () => {
    let record = queued;
    for (let times = 0; times < 10; times++) record = requeue(claim(record, `${times}`, LATER) ?? record, LATER);
    expect(record).toMatchObject({ state: 'queued', attempts: 0 });
  });
  it('is not given back any more when it is too old', () => {
    expect(requeue(running, START + GIVE_UP_MS).state).toBe('queued');
    const given = requeue(running, START + GIVE_UP_MS + 1);
    expect(given).toMatchObject({ state: 'error', failure: { reason: 'queue_timeout' } });
    expect(given.sealed).toBeUndefined();
  });
});

describe('every end', () => {
  for (const [state, record] of Object.entries(ends)) {
    it(`leaves no password in a job that is ${state}`, () => expect(record.sealed).toBeUndefined());
    it(`is the end of a job that is ${state}`, () =>
      expect([record.state, record.endedAt, hasEnded(record)]).toEqual([state, LATER, true]));
    it(`can be stored of a job that is ${state}`, () => expect(JobRecordSchema.parse(record)).toEqual(record));
  }
  it('remembers which attempt won', () => expect(ends['done']?.attempt).toBe('first'));
  it('adds warnings to those that were there', () => {
    const warned = { ...running, warnings: [{ code: 'option_unknown', message: 'm' }] };
    expect(finish(warned, LATER, result).warnings.map(({ code }) => code)).toEqual(['option_unknown', 'lossy']);
  });
  it('keeps files for two hours from then', () => expect(ends['done']?.expiresAt).toBe(LATER + RETENTION_MS));
  it('never promises less time than was promised before', () =>
    expect(finish({ ...running, expiresAt: LATER + 9 * RETENTION_MS }, LATER, result).expiresAt).toBe(LATER + 9 * RETENTION_MS));
});

describe('a reader', () => {
  const done = ends['done'] as JobRecord;
  const cancelled = ends['cancelled'] as JobRecord;
  const refusal = fail(queued, LATER, { reason: 'internal', message: 'm', details: { refused: 'NOT_FOUND' } });
  const cases: Record<string, [JobRecord, number, ReturnType<typeof visibility>]> = {
    'sees a job that waits, however old': [queued, START + 100 * RETENTION_MS, 'live'],
    'sees a job that runs, however old': [running, START + 100 * RETENTION_MS, 'live'],
    'sees what is done until the last moment': [done, done.expiresAt - 1, 'live'],
    'is told that it has expired from then on': [done, done.expiresAt, 'expired'],
    'is told so for a day': [done, done.expiresAt + TOMBSTONE_MS - 1, 'expired'],
    'is told nothing after that': [done, done.expiresAt + TOMBSTONE_MS, 'forgotten'],
    'is told at once that a cancelled job is gone': [cancelled, LATER, 'expired'],
    'is told of a cancelled job for a day': [cancelled, LATER + TOMBSTONE_MS - 1, 'expired'],
    'hears a refusal again until it expires': [refusal, refusal.expiresAt - 1, 'live'],
    'knows nothing of a refusal after that': [refusal, refusal.expiresAt, 'forgotten'],
    'is told nothing of it after that': [cancelled, LATER + TOMBSTONE_MS, 'forgotten'],
  };
  for (const [sentence, [record, now, seen]] of Object.entries(cases)) it(sentence, () => expect(visibility(record, now)).toBe(seen));
  it('and upkeep agree on when a record may go', () =>
    expect([visibility(done, goneAt(done) - 1), visibility(done, goneAt(done))]).toEqual(['expired', 'forgotten']));
});
