import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AccountOutcome, admit, enlarge, refund, release, type Taken } from '../../../src/limits/account.ts';
import { headersOf, type LimitSurface } from '../../../src/limits/answers/headers.ts';
import { limitRefusal } from '../../../src/limits/answers/refusal.ts';
import { usageOf } from '../../../src/limits/answers/usage.ts';
import { identifyWith } from '../../../src/limits/clients/client.ts';
import { floodGuard } from '../../../src/limits/flood.ts';
import { ClientRecord, lapsesAt, NEW_CLIENT, SLOT_MS, settle } from '../../../src/limits/record.ts';
import { limitSettings } from '../../../src/limits/settings.ts';
import { type Rules, rulesFor, type Want } from '../../../src/limits/tiers.ts';
import { unlimited } from '../../../src/limits/unlimited.ts';

const START = 1_800_000_000_000;
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

const settings = (change: z.input<typeof limitSettings> = {}) => limitSettings.parse(change);
const stranger = { multiple: 1, bannable: true };

/** A client's day, told request by request: the clock moves only by `after`. */
class Visitor {
  record: ClientRecord = NEW_CLIENT;
  now = START;
  readonly rules: Rules;
  #made = 0;

  constructor(change: z.input<typeof limitSettings> = {}, client: { multiple: number; bannable: boolean } = stranger) {
    this.rules = rulesFor(settings(change), client);
  }

  after(ms: number): this {
    this.now += ms;
    return this;
  }

  /** Sends a working request whose jobs end at once, unless `stay`. */
  sends(want: Partial<Want> & { readonly files?: number; readonly stay?: boolean } = {}): AccountOutcome['verdict'] {
    const jobs = Array.from({ length: want.files ?? 1 }, () => `job${this.#made++}`);
    const { verdict, record } = admit(
      this.record,
      { via: want.via ?? 'rest', jobs, ...(want.tool !== undefined && { tool: want.tool }) },
      this.rules,
      this.now,
    );
    this.record = verdict.is === 'admitted' && want.stay !== true ? release(record, jobs) : record;
    return verdict;
  }

  /** Sends a working request that must be admitted, and leaves its jobs unfinished. */
  starts(want: Partial<Want> & { readonly files?: number } = {}): Taken {
    const verdict = this.sends({ ...want, stay: true });
    if (verdict.is !== 'admitted') throw new Error(`expected to be admitted, was ${JSON.stringify(verdict)}`);
    return verdict.taken;
  }

  /** Sends requests at a pace no limit but the quotas minds. */
  sendsPatiently(count: number, want: Partial<Want> = {}): void {
    for (let n = 0; n < count; n++) expect(this.after(2 * SECOND).sends(want).is).toBe('admitted');
  }

  /** Sends requests in the same second until this many were refused. */
  isRefused(times: number): void {
    for (let refused = 0; refused < times; ) {
      const verdict = this.after(1).sends();
      expect(verdict.is).not.toBe('banned');
      if (verdict.is === 'limited') refused++;
    }
  }

  get usage() {
    return usageOf(this.record, this.rules, this.now);
  }
}

const anHourOf = (change: z.input<typeof limitSettings> = {}) => new Visitor({ cooldownMs: 0, ...change });

describe('the tiers', () => {
  it('are those of the contract', () => {
    const rules = rulesFor(settings(), stranger);
    expect([rules.daily.limit, rules.hourly.limit, rules.mcp.limit, rules.cooldownMs, rules.concurrent]).toEqual([
      1000, 150, 1000, 1000, 40,
    ]);
    const ai = Object.entries(rules.ai).map(([slug, { limit }]) => [slug, limit]);
    expect(Object.fromEntries(ai)).toEqual({
      'upscale-image': 50,
      'enhance-photo': 50,
      'vocal-remover': 50,
      'speech-to-text': 100,
      'remove-background': 100,
      'colorize-photo': 50,
      'restore-old-photo': 50,
      'noise-reduction': 50,
      'change-background': 100,
      'remove-object': 50,
      'passport-photo': 100,
      'image-to-text': 100,
    });
  });

  it('admit 150 REST requests in an hour, and refuse the next until the hour is over', () => {
    const visitor = new Visitor();
    visitor.sendsPatiently(150);
    expect(visitor.after(2 * SECOND).sends()).toEqual({ is: 'limited', tier: 'hourly', limit: 150, waitMs: HOUR - 300 * SECOND });
    visitor.after(HOUR - 300 * SECOND - 1);
    expect(visitor.sends()).toMatchObject({ tier: 'hourly', waitMs: 1 });
    expect(visitor.after(1).sends().is).toBe('admitted');
  });

  it('admit 1000 REST requests in 24 hours, and refuse the next until the day is over', () => {
    const visitor = new Visitor({ hourly: 5_000 });
    visitor.sendsPatiently(1_000);
    expect(visitor.after(2 * SECOND).sends()).toEqual({ is: 'limited', tier: 'daily', limit: 1000, waitMs: DAY - 2_000 * SECOND });
    expect(visitor.after(DAY - 2_000 * SECOND).sends().is).toBe('admitted');
  });

  it('count a batch as its files in daily and as one in hourly and cooldown', () => {
    const visitor = new Visitor();
    visitor.sends({ files: 20 });
    expect(visitor.usage).toMatchObject({ daily: { used: 20 }, hourly: { used: 1 }, cooldown: { used: 1 } });
    expect(visitor.after(SECOND).sends().is).toBe('admitted');
  });

  it('refuse a batch that daily has no room for, whole', () => {
    const visitor = anHourOf({ daily: 25 });
    visitor.sends({ files: 20 });
    expect(visitor.sends({ files: 6 })).toMatchObject({ is: 'limited', tier: 'daily' });
    expect(visitor.usage.daily.used).toBe(20);
    expect(visitor.sends({ files: 5 }).is).toBe('admitted');
  });

  it('let a second pass from one admitted request to the next', () => {
    const visitor = new Visitor();
    visitor.sends();
    expect(visitor.after(999).sends()).toEqual({ is: 'limited', tier: 'cooldown', limit: 1, waitMs: 1 });
    expect(visitor.after(1).sends().is).toBe('admitted');
  });

  it('count the second from the admitted request, not from refused ones', () => {
    const visitor = new Visitor();
    visitor.sends();
    for (let n = 1; n < 10; n++) visitor.after(100).sends();
    expect(visitor.after(100).sends().is).toBe('admitted');
  });

  it('count AI tools apart from each other, beside daily and hourly', () => {
    const visitor = anHourOf();
    for (let n = 0; n < 50; n++) visitor.sends({ tool: 'upscale-image' });
    expect(visitor.sends({ tool: 'upscale-image' })).toEqual({ is: 'limited', tier: 'ai', limit: 50, waitMs: DAY });
    expect(visitor.sends({ tool: 'speech-to-text' }).is).toBe('admitted');
    expect(visitor.sends({ tool: 'resize-image' }).is).toBe('admitted');
    expect(visitor.usage).toMatchObject({ daily: { used: 52 }, hourly: { used: 52 } });
  });

  it('take no object property for an AI tool', () => {
    expect(anHourOf().sends({ tool: 'constructor' }).is).toBe('admitted');
  });

  it('count MCP in its own alone, without AI and without cooldown', () => {
    const visitor = new Visitor();
    for (let n = 0; n < 60; n++) expect(visitor.sends({ via: 'mcp', tool: 'upscale-image' }).is).toBe('admitted');
    const { daily, hourly, cooldown, mcp, ai } = visitor.usage;
    expect([daily, hourly, cooldown, ai['upscale-image']].map((share) => share?.used)).toEqual([0, 0, 0, 0]);
    expect(mcp).toMatchObject({ limit: 1000, used: 60, remaining: 940 });
    expect(visitor.sends().is).toBe('admitted');
  });

  it('refuse the MCP call after 1000 in 24 hours, and REST stays open', () => {
    const visitor = new Visitor();
    for (let n = 0; n < 1_000; n++) visitor.sends({ via: 'mcp' });
    expect(visitor.sends({ via: 'mcp' })).toEqual({ is: 'limited', tier: 'mcp', limit: 1000, waitMs: DAY });
    expect(visitor.sends().is).toBe('admitted');
  });

  it('open a window with its first request, each its own', () => {
    const visitor = anHourOf();
    visitor.sends();
    visitor.after(2 * HOUR).sends({ tool: 'upscale-image' });
    const { daily, hourly, ai } = visitor.usage;
    expect([daily, hourly, ai['upscale-image']].map((share) => share?.resetSeconds)).toEqual([22 * 3_600, 3_600, 24 * 3_600]);
  });

  it('name the one that lasts longest where several refuse, so that the retry is not refused again', () => {
    const visitor = new Visitor({ daily: 1, hourly: 1 });
    visitor.sends();
    expect(visitor.sends()).toMatchObject({ tier: 'daily', waitMs: DAY });
  });

  it('open no window for a refused request, and charge it nothing', () => {
    const visitor = new Visitor({ daily: 1 });
    visitor.sends({ via: 'mcp' });
    visitor.sends({ files: 2 });
    expect(visitor.usage).toMatchObject({ daily: { used: 0, resetSeconds: 86_400 }, hourly: { used: 0 }, rejectionsLastHour: 1 });
    expect(Object.keys(visitor.record.windows)).toEqual(['mcp']);
  });
});

describe('a request that ends 400, 413 or 415', () => {
  const givenBack = (visitor: Visitor, taken: Taken) => {
    visitor.record = refund(visitor.record, taken, visitor.rules, visitor.now);
  };

  it('gets daily, hourly and ai back, not cooldown', () => {
    const visitor = new Visitor();
    const taken = visitor.starts({ tool: 'upscale-image' });
    givenBack(visitor.after(10), taken);
    expect(visitor.usage).toMatchObject({ daily: { used: 0 }, hourly: { used: 0 }, cooldown: { used: 1 } });
    expect(visitor.usage.ai['upscale-image']?.used).toBe(0);
    expect(visitor.sends()).toMatchObject({ tier: 'cooldown' });
  });

  it('gets mcp back too, and the places of its jobs', () => {
    const visitor = new Visitor({ concurrent: 1 });
    givenBack(visitor, visitor.starts({ via: 'mcp' }));
    expect(visitor.usage.mcp.used).toBe(0);
    expect(visitor.sends().is).toBe('admitted');
  });

  it('gets it back once, however often that is tried', () => {
    const visitor = anHourOf();
    visitor.sends();
    const taken = visitor.starts();
    for (let n = 0; n < 3; n++) givenBack(visitor, taken);
    expect(visitor.usage.daily.used).toBe(1);
  });

  it('takes nothing from a window that opened after it', () => {
    const visitor = anHourOf();
    const taken = visitor.starts();
    visitor.after(HOUR).sends();
    givenBack(visitor, taken);
    expect(visitor.usage).toMatchObject({ hourly: { used: 1 }, daily: { used: 1 } });
  });
});

describe('a batch whose files are counted as they come', () => {
  const more = (visitor: Visitor, taken: Taken, jobs: readonly string[]) =>
    enlarge(visitor.record, taken, [...taken.jobs, ...jobs], visitor.rules, visitor.now);

  it('is charged for each file, once for the request, and gets all of it back', () => {
    const visitor = new Visitor();
    const taken = visitor.starts();
    const { verdict, record } = more(visitor.after(100), taken, ['b', 'c']);
    expect(usageOf(record, visitor.rules, visitor.now)).toMatchObject({ daily: { used: 3 }, hourly: { used: 1 } });
    expect(record.slots).toHaveLength(3);
    if (verdict.is !== 'admitted') throw new Error('it was refused');
    const after = refund(record, verdict.taken, visitor.rules, visitor.now);
    expect(usageOf(after, visitor.rules, visitor.now)).toMatchObject({ daily: { used: 0 }, hourly: { used: 0 } });
    expect(after.slots).toEqual([]);
  });

  it('has its places by the jobs that it became, whichever was reserved first', () => {
    const visitor = new Visitor();
    const taken = visitor.starts();
    const { verdict, record } = enlarge(visitor.record, taken, ['b', 'c'], visitor.rules, visitor.now);
    expect(usageOf(record, visitor.rules, visitor.now)).toMatchObject({ daily: { used: 2 }, hourly: { used: 1 } });
    expect(record.slots.map(({ job }) => job)).toEqual(['b', 'c']);
    if (verdict.is !== 'admitted') throw new Error('it was refused');
    const after = refund(record, verdict.taken, visitor.rules, visitor.now);
    expect(usageOf(after, visitor.rules, visitor.now)).toMatchObject({ daily: { used: 0 }, hourly: { used: 0 } });
    expect(after.slots).toEqual([]);
  });

  it('that daily has no room for gives back what it took, as one rejection', () => {
    const visitor = new Visitor({ daily: 2 });
    const taken = visitor.starts();
    const { verdict, record } = more(visitor, taken, ['b', 'c']);
    expect(verdict).toMatchObject({ is: 'limited', tier: 'daily', limit: 2 });
    const usage = usageOf(record, visitor.rules, visitor.now);
    expect(usage).toMatchObject({ daily: { used: 0 }, hourly: { used: 0 }, rejectionsLastHour: 1 });
    expect(record.slots).toEqual([]);
  });

  it('is not stopped by a ban that came since', () => {
    const visitor = new Visitor();
    const taken = visitor.starts();
    visitor.isRefused(11);
    expect(visitor.sends().is).toBe('banned');
    expect(more(visitor, taken, ['b']).verdict.is).toBe('admitted');
  });
});

describe('a ban', () => {
  it('follows the eleventh rejection in an hour, which is still a plain refusal', () => {
    const visitor = new Visitor();
    visitor.isRefused(11);
    expect(visitor.usage).toMatchObject({ rejectionsLastHour: 11, banExpiresAt: undefined });
    expect(visitor.after(1).sends()).toEqual({ is: 'banned', until: visitor.now + DAY });
  });

  it('does not follow ten', () => {
    const visitor = new Visitor();
    visitor.isRefused(10);
    expect(visitor.after(1).sends()).toMatchObject({ is: 'limited' });
  });

  it('lasts 24 hours from there, and asking does not lengthen it', () => {
    const visitor = new Visitor();
    visitor.isRefused(11);
    visitor.after(1).sends();
    const until = visitor.now + DAY;
    for (let n = 0; n < 23; n++) expect(visitor.after(HOUR).sends()).toEqual({ is: 'banned', until });
    visitor.now = until - 1;
    expect(visitor.sends()).toEqual({ is: 'banned', until });
    expect(visitor.after(1).sends().is).toBe('admitted');
  });

  it('is remembered without a write for each request that meets it', () => {
    const visitor = new Visitor();
    visitor.isRefused(11);
    visitor.sends();
    expect(admit(visitor.record, { via: 'rest', jobs: ['x'] }, visitor.rules, visitor.now).changed).toBe(false);
  });

  it('is one for REST and MCP', () => {
    const visitor = new Visitor();
    visitor.isRefused(11);
    expect(visitor.after(1).sends({ via: 'mcp' }).is).toBe('banned');
    const other = new Visitor({ mcp: 1 });
    other.sends({ via: 'mcp' });
    for (let n = 0; n < 11; n++) other.sends({ via: 'mcp' });
    expect(other.sends().is).toBe('banned');
  });

  it('does not follow eleven rejections that more than an hour holds', () => {
    const visitor = new Visitor({ daily: 1 });
    visitor.sends();
    for (let n = 0; n < 20; n++) expect(visitor.after(6 * 60 * SECOND).sends()).toMatchObject({ tier: 'daily' });
    expect(visitor.usage.rejectionsLastHour).toBe(10);
  });

  it('strikes no shared egress, which has multiples of every limit', () => {
    const visitor = new Visitor({}, { multiple: 10, bannable: false });
    expect(visitor.usage).toMatchObject({ daily: { limit: 10_000 }, hourly: { limit: 1_500 }, mcp: { limit: 10_000 } });
    expect(visitor.usage.ai['upscale-image']?.limit).toBe(500);
    expect(visitor.rules).toMatchObject({ cooldownMs: 100, concurrent: 400 });
    visitor.sends();
    for (let n = 0; n < 100; n++) visitor.sends();
    expect(visitor.sends()).toMatchObject({ is: 'limited', tier: 'cooldown' });
    expect(visitor.record.rejections).toHaveLength(11);
  });
});

describe('a cooldown rejection', () => {
  it('is struck off when the next request comes after its Retry-After', () => {
    const visitor = new Visitor();
    visitor.sends();
    visitor.after(500).sends();
    expect(visitor.usage.rejectionsLastHour).toBe(1);
    expect(visitor.after(SECOND).sends().is).toBe('admitted');
    expect(visitor.usage.rejectionsLastHour).toBe(0);
  });

  it('stays when the next request comes before, even one that is admitted', () => {
    const visitor = new Visitor();
    visitor.sends();
    visitor.after(500).sends();
    expect(visitor.after(500).sends().is).toBe('admitted');
    expect(visitor.after(HOUR / 2).sends().is).toBe('admitted');
    expect(visitor.usage.rejectionsLastHour).toBe(1);
  });

  it('stays when another refusal came before its time, which alone is struck off', () => {
    const visitor = new Visitor();
    visitor.sends();
    visitor.after(100).sends();
    visitor.after(100).sends();
    visitor.after(2 * SECOND).sends();
    expect(visitor.usage.rejectionsLastHour).toBe(1);
  });

  it('is struck off by an MCP call as well', () => {
    const visitor = new Visitor();
    visitor.isRefused(1);
    visitor.after(SECOND).sends({ via: 'mcp' });
    expect(visitor.usage.rejectionsLastHour).toBe(0);
  });

  it('that was waited for is not one of the eleven that ban', () => {
    const visitor = new Visitor();
    for (let n = 0; n < 11; n++) {
      visitor.sends();
      visitor.after(80);
    }
    expect(visitor.usage.rejectionsLastHour).toBe(10);
    visitor.after(120).sends();
    visitor.after(500).sends();
    expect(visitor.usage.rejectionsLastHour).toBe(11);
    expect(visitor.after(SECOND).sends().is).toBe('admitted');
    expect(visitor.usage.rejectionsLastHour).toBe(10);
  });

  it('is the only kind that is struck off', () => {
    const visitor = anHourOf({ hourly: 1 });
    visitor.sends();
    visitor.sends();
    visitor.after(HOUR - 1).sends();
    expect(visitor.usage.rejectionsLastHour).toBe(2);
  });

  it('never bans an obedient retry loop, whatever the moments', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = randomFrom(seed);
      const visitor = new Visitor({ daily: 100_000, hourly: 100_000 });
      for (let n = 0; n < 300; n++) {
        // Work of any length, then as long as Retry-After says for as long as it says so.
        let verdict = visitor.after(Math.floor(random() * 1_500)).sends();
        while (verdict.is === 'limited') {
          verdict = visitor.after(Math.ceil(verdict.waitMs / SECOND) * SECOND + Math.floor(random() * 20)).sends();
        }
        expect(verdict.is).toBe('admitted');
      }
    }
  });

  it('in the same moment as another is struck off with it', () => {
    const visitor = new Visitor();
    visitor.isRefused(5);
    visitor.after(SECOND).sends();
    expect(visitor.usage.rejectionsLastHour).toBe(0);
  });

  it('never bans up to ten obedient retry loops side by side', () => {
    for (let loops = 2; loops <= 10; loops++) {
      const random = randomFrom(loops);
      const visitor = new Visitor({ daily: 100_000, hourly: 100_000 });
      let waiting = Array.from({ length: loops }, () => START + random() * 20);
      while (waiting.length > 0) {
        waiting.sort((a, b) => a - b);
        const [next = 0, ...later] = waiting;
        visitor.now = Math.floor(next);
        const verdict = visitor.sends();
        expect(verdict.is, `${loops} loops`).not.toBe('banned');
        waiting = verdict.is === 'limited' ? [...later, next + Math.ceil(verdict.waitMs / SECOND) * SECOND + random()] : later;
      }
    }
  });

  it('bans a client that does not wait', () => {
    for (const every of [7, 90, 333, 500, 900]) {
      const visitor = new Visitor();
      const verdicts = Array.from({ length: 60 }, () => visitor.after(every).sends().is);
      expect(verdicts, `one request in ${every} ms`).toContain('banned');
    }
  });
});

describe('unfinished jobs', () => {
  it('are 40 at most, and the refusal is no rejection', () => {
    const visitor = anHourOf();
    visitor.starts({ files: 20 });
    const jobs = [visitor.starts({ files: 19 }).jobs, visitor.starts({ via: 'mcp' }).jobs].flat();
    for (let n = 0; n < 30; n++) expect(visitor.sends()).toMatchObject({ is: 'limited', tier: 'concurrent', limit: 40 });
    expect(visitor.usage).toMatchObject({ rejectionsLastHour: 0, daily: { used: 39 } });
    visitor.record = release(visitor.record, jobs.slice(0, 1));
    expect(visitor.sends().is).toBe('admitted');
  });

  it('whose end was not reported hold their places for six hours at most', () => {
    const visitor = anHourOf({ concurrent: 1 });
    visitor.starts();
    expect(visitor.after(SLOT_MS - 1).sends()).toMatchObject({ tier: 'concurrent' });
    expect(visitor.after(1).sends().is).toBe('admitted');
  });
});

describe('a record', () => {
  const eventful = () => {
    const visitor = new Visitor();
    visitor.starts({ tool: 'upscale-image', files: 3 });
    visitor.starts({ via: 'mcp' });
    visitor.isRefused(11);
    visitor.sends();
    return visitor;
  };

  it('is empty at the moment it may be forgotten, and not before', () => {
    const { record, rules } = eventful();
    const end = lapsesAt(record, rules);
    expect(settle(record, rules, end)).toEqual(NEW_CLIENT);
    expect(settle(record, rules, end - 1)).not.toEqual(NEW_CLIENT);
  });

  it('survives being written and read', () => {
    const { record } = eventful();
    expect(ClientRecord.parse(JSON.parse(JSON.stringify(record)))).toEqual(record);
  });

  it('with the most that it can hold stays below 16 kB', () => {
    const visitor = anHourOf();
    for (const tool of Object.keys(visitor.rules.ai)) visitor.sends({ tool });
    const record = { ...visitor.record, slots: Array.from({ length: 40 }, () => ({ job: 'f'.repeat(32), at: START })) };
    expect(JSON.stringify(record).length).toBeLessThan(16_384);
  });

  it('by a clock that was a day ahead holds no client longer than the limits say', () => {
    const visitor = new Visitor({ hourly: 2 });
    visitor.now += DAY;
    visitor.isRefused(11);
    visitor.sends();
    visitor.now = START;
    expect(visitor.sends()).toEqual({ is: 'banned', until: START + DAY });
    const other = new Visitor({ hourly: 2 });
    other.now += DAY;
    other.sendsPatiently(2);
    other.now = START;
    expect(other.sends()).toMatchObject({ tier: 'hourly', waitMs: HOUR });
    expect(other.after(HOUR).sends().is).toBe('admitted');
  });

  it('never counts below nothing, nor above a limit, nor admits more than a window holds', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = randomFrom(seed);
      const visitor = new Visitor({ daily: 30, hourly: 8, mcp: 10, concurrent: 12, ai: { 'upscale-image': 4 } });
      const open: Taken[] = [];
      for (let n = 0; n < 400; n++) {
        visitor.after(Math.floor(random() * random() * 2 * HOUR));
        const verdict = visitor.sends({
          via: random() < 0.3 ? 'mcp' : 'rest',
          files: 1 + Math.floor(random() * 4),
          stay: true,
          ...(random() < 0.3 && { tool: 'upscale-image' }),
        });
        if (verdict.is === 'admitted') open.push(verdict.taken);
        const one = open[Math.floor(random() * open.length * 2)];
        if (one !== undefined) {
          visitor.record = random() < 0.5 ? refund(visitor.record, one, visitor.rules, visitor.now) : release(visitor.record, one.jobs);
        }
        const { daily, hourly, mcp, ai } = visitor.usage;
        for (const share of [daily, hourly, mcp, ...Object.values(ai)]) {
          expect(share.used).toBeGreaterThanOrEqual(0);
          expect(share.used).toBeLessThanOrEqual(share.limit);
          expect(share.used + share.remaining).toBe(share.limit);
          expect(share.resetSeconds).toBeGreaterThan(0);
        }
        expect(visitor.record.slots.length).toBeLessThanOrEqual(12);
      }
    }
  });
});

describe('a refusal', () => {
  it('carries the particulars of RATE_LIMITED', () => {
    const visitor = new Visitor();
    visitor.sends();
    const verdict = visitor.after(300).sends();
    if (verdict.is !== 'limited') throw new Error('it was admitted');
    expect(limitRefusal(verdict, visitor.usage, visitor.now)).toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterSeconds: 1,
      details: { tier: 'cooldown', limit: 1, reset_seconds: 1, rejections_last_hour: 1 },
    });
  });

  it('carries the end of the ban', () => {
    const visitor = new Visitor();
    visitor.isRefused(11);
    const verdict = visitor.sends();
    if (verdict.is !== 'banned') throw new Error('it was not banned');
    expect(limitRefusal(verdict, visitor.usage, visitor.now)).toMatchObject({
      code: 'BANNED',
      retryAfterSeconds: 86_400,
      details: { ban_expires_at: new Date(visitor.now + DAY).toISOString() },
    });
  });
});

describe('the headers', () => {
  const of = (visitor: Visitor, surface: LimitSurface = {}) => headersOf(visitor.usage, surface);

  it('name the limit with the smallest share left', () => {
    const visitor = anHourOf({ daily: 100, hourly: 50 });
    visitor.sends({ files: 40 });
    expect(of(visitor.after(60 * SECOND))).toEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '60',
      'X-RateLimit-Reset': '86340',
      RateLimit: '"daily";r=60;t=86340',
      'RateLimit-Policy': '"daily";q=100;w=86400, "hourly";q=50;w=3600',
    });
  });

  it('name hourly to a client that has done nothing', () => {
    expect(of(new Visitor())).toMatchObject({ 'X-RateLimit-Limit': '150', 'X-RateLimit-Remaining': '150', 'X-RateLimit-Reset': '3600' });
  });

  it('name the later reset where both are used up', () => {
    const visitor = anHourOf({ daily: 1, hourly: 1 });
    visitor.sends();
    expect(of(visitor)).toMatchObject({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '86400' });
  });

  it('speak of an AI tool on its own slug only', () => {
    const visitor = anHourOf();
    for (let n = 0; n < 49; n++) visitor.sends({ tool: 'upscale-image' });
    expect(of(visitor, { tool: 'upscale-image' })).toMatchObject({
      RateLimit: '"ai";r=1;t=86400',
      'RateLimit-Policy': '"daily";q=1000;w=86400, "hourly";q=150;w=3600, "ai";q=50;w=86400',
    });
    expect(of(visitor, { tool: 'resize-image' })).toMatchObject({ RateLimit: '"hourly";r=101;t=3600' });
  });

  it('speak of mcp alone on the MCP endpoint', () => {
    const visitor = anHourOf();
    visitor.sends({ via: 'mcp' });
    expect(of(visitor, { mcp: true })).toMatchObject({ RateLimit: '"mcp";r=999;t=86400', 'RateLimit-Policy': '"mcp";q=1000;w=86400' });
  });

  it('are none where limits are off', () => expect(headersOf({ ...new Visitor().usage, enforced: false })).toEqual({}));
});

describe('the client', () => {
  const salt = 's'.repeat(32);
  const identify = (trustProxy: readonly string[] = [], sharedEgress: readonly { cidr: string; multiple: number }[] = []) =>
    identifyWith({ trustProxy, sharedEgress, salt });

  const addresses: Record<string, [remote: string, network: string]> = {
    'IPv4 is the address': ['203.0.113.7', '203.0.113.7'],
    'IPv4 mapped into IPv6 is the IPv4 address': ['::ffff:203.0.113.7', '203.0.113.7'],
    'IPv4 mapped in hexadecimal is the IPv4 address': ['::ffff:cb00:7107', '203.0.113.7'],
    'IPv6 is its /64': ['2001:db8:1:2:aaaa:bbbb:cccc:dddd', '2001:db8:1:2::/64'],
    'IPv6 of another form is the same /64': ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
    'IPv6 with a zone is its /64': ['fe80::1%eth0', 'fe80::/64'],
    'what has no address has a name all the same': ['/run/filemill.sock', 'unknown'],
  };
  for (const [sentence, [remote, network]] of Object.entries(addresses)) {
    it(`of ${sentence}`, () => expect(identify()(remote, undefined).network).toBe(network));
  }

  const chains: Record<string, [trusted: string[], remote: string, forwarded: string | string[] | undefined, network: string]> = {
    'from an untrusted peer is that peer, whatever it forwards': [[], '203.0.113.7', '198.51.100.1', '203.0.113.7'],
    'behind a proxy is whom it names': [['10.0.0.0/8'], '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    'behind a proxy that speaks mapped IPv4 is whom it names': [['10.0.0.0/8'], '::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    'behind a proxy listed as mapped IPv4 is whom it names': [['::ffff:10.0.0.0/104'], '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    'behind two proxies is whom the outer names': [['10.0.0.0/8', '192.0.2.1'], '10.1.2.3', '198.51.100.1, 192.0.2.1', '198.51.100.1'],
    'that invents addresses is not believed': [['10.0.0.0/8'], '10.1.2.3', '1.1.1.1, 10.9.9.9, 198.51.100.1', '198.51.100.1'],
    'in several header lines is read to the last': [['10.0.0.0/8'], '10.1.2.3', ['1.1.1.1', '198.51.100.1'], '198.51.100.1'],
    'named with a port is the address': [['10.0.0.0/8'], '10.1.2.3', '198.51.100.1:5678', '198.51.100.1'],
    'named with brackets and a port is the /64': [['10.0.0.0/8'], '10.1.2.3', '[2001:db8::1]:5678', '2001:db8::/64'],
    'named by no address is the proxy that says so': [['10.0.0.0/8'], '10.1.2.3', '198.51.100.1, unknown', '10.1.2.3'],
    'named in octal is not guessed at': [['10.0.0.0/8'], '10.1.2.3', '0300.0250.1.1', '10.1.2.3'],
    'among trusted ones only is the first of them': [['10.0.0.0/8'], '10.1.2.3', '10.5.5.5, 10.4.4.4', '10.5.5.5'],
    'behind an IPv6 proxy is whom it names': [['fd00::/8'], 'fd00::7', '198.51.100.1', '198.51.100.1'],
    'behind a proxy that names no client is the proxy': [['10.0.0.0/8'], '10.1.2.3', undefined, '10.1.2.3'],
    'past empty entries is found': [['10.0.0.0/8'], '10.1.2.3', '198.51.100.1, , ', '198.51.100.1'],
  };
  for (const [sentence, [trusted, remote, forwarded, network]] of Object.entries(chains)) {
    it(sentence, () => expect(identify(trusted)(remote, forwarded).network).toBe(network));
  }

  it.each<[remote: string, forwarded: string | undefined, trusted: string[], isUnlimited: boolean]>([
    ['127.0.0.1', undefined, [], true],
    ['::ffff:127.0.0.1', undefined, [], true],
    ['203.0.113.7', undefined, [], false],
    // A proxy on this machine that is not trusted: its clients are not this machine.
    ['127.0.0.1', '198.51.100.1', [], false],
    ['127.0.0.1', '198.51.100.1', ['127.0.0.1'], false],
  ])('%s that forwards for %s, with %j trusted: limited, or not', (remote, forwarded, trustProxy, isUnlimited) => {
    const home = identifyWith({ trustProxy, sharedEgress: [], unlimited: ['127.0.0.0/8'], salt });
    expect(home(remote, forwarded).isUnlimited).toBe(isUnlimited);
  });

  it('is stored as a hash that lasts, differs between networks and shows none of them', () => {
    const [one, again, neighbour, other] = ['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1', '203.0.113.7'].map(
      (at) => identify()(at, undefined).key,
    );
    expect(one).toMatch(/^[0-9a-f]{32}$/);
    expect(again).toBe(one);
    expect(new Set([one, neighbour, other]).size).toBe(3);
    expect(identifyWith({ trustProxy: [], sharedEgress: [], salt: 'another' })('203.0.113.7', undefined).key).not.toBe(other);
  });

  it('behind a shared egress has the largest multiple that is said of it, and cannot be banned', () => {
    const ask = identify(
      [],
      [
        { cidr: '203.0.113.0/24', multiple: 5 },
        { cidr: '203.0.0.0/16', multiple: 20 },
      ],
    );
    expect(ask('203.0.113.7', undefined)).toMatchObject({ multiple: 20, bannable: false });
    expect(ask('198.51.100.1', undefined)).toMatchObject({ multiple: 1, bannable: true });
  });

  it('is not looked for with a network that cannot be read', () => {
    for (const wrong of ['10.0.0.0/33', 'localhost', '', '10.0.0.0/-1', '2001:db8::/129', '0x0a.0.0.0/8']) {
      expect(() => identify([wrong]), wrong).toThrow(RangeError);
    }
  });
});

describe('the flood guard', () => {
  const client = (key: string, multiple = 1) => ({ key, multiple });

  it('lets 600 requests a minute pass, from the first', () => {
    const guard = floodGuard(600);
    for (let n = 0; n < 600; n++) expect(guard.take(client('a'), START + n)).toBeUndefined();
    expect(guard.take(client('a'), START + 30_000)).toEqual({ is: 'limited', tier: 'flood', limit: 600, waitMs: 30_000 });
    expect(guard.take(client('b'), START + 30_000)).toBeUndefined();
    expect(guard.take(client('a'), START + 60_000)).toBeUndefined();
  });

  it('lets a shared egress have a multiple', () => {
    const guard = floodGuard(1);
    for (let n = 0; n < 3; n++) expect(guard.take(client('a', 3), START)).toBeUndefined();
    expect(guard.take(client('a', 3), START)).toMatchObject({ limit: 3 });
  });

  it('remembers so many clients and no more, forgetting first those whose minute began first', () => {
    const guard = floodGuard(1, 100);
    for (let n = 0; n < 1_000; n++) guard.take(client(`c${n}`), START + n);
    expect(guard.size).toBe(100);
    expect(guard.take(client('c999'), START + 1_000)).toBeDefined();
    expect(guard.take(client('c0'), START + 1_000)).toBeUndefined();
  });

  it('forgets clients whose minute is over', () => {
    const guard = floodGuard(1);
    for (let n = 0; n < 100; n++) guard.take(client(`c${n}`), START);
    guard.take(client('late'), START + 60_000);
    expect(guard.size).toBe(1);
  });

  it('goes on when the clock is set back', () => {
    const guard = floodGuard(1);
    guard.take(client('a'), START + DAY);
    expect(guard.take(client('a'), START)).toBeUndefined();
    expect(guard.take(client('a'), START)).toMatchObject({ waitMs: 60_000 });
  });
});

describe('limits that are off', () => {
  it('admit every client, whatever it did before, and put nothing into headers', async () => {
    const limiter = unlimited(settings({ enabled: false, daily: 1 }), () => START);
    const client = { key: 'c', network: 'c', ...stranger };
    for (let n = 0; n < 100; n++) {
      const answer = await limiter.reserve(client, { via: 'rest', jobs: ['a'] });
      if (!answer.granted) throw new Error('it was refused');
      expect(headersOf(answer.usage)).toEqual({});
      expect((await limiter.enlarge(answer.reservation, ['b'])).granted).toBe(true);
    }
    expect(await limiter.usage(client)).toMatchObject({ enforced: false, daily: { limit: 1, used: 0 } });
  });
});

describe('the settings', () => {
  it('take what the environment says of LIMITS_ENABLED', () => {
    expect([true, 'true', false, 'false'].map((enabled) => limitSettings.parse({ enabled }).enabled)).toEqual([true, true, false, false]);
    expect(limitSettings.safeParse({ enabled: 'no' }).success).toBe(false);
  });

  it('keep the AI tools that are not named', () => {
    const { ai } = rulesFor(settings({ ai: { 'upscale-image': 5 } }), stranger);
    expect(ai).toMatchObject({ 'upscale-image': { limit: 5 }, 'speech-to-text': { limit: 100 }, 'image-to-text': { limit: 100 } });
  });

  it('refuse what would limit no client, or all of them, and networks that are none', () => {
    const wrong = [
      { daily: 0 },
      { banMs: 1 },
      { sharedEgress: [{ cidr: 'everywhere' }] },
      { sharedEgress: [{ cidr: '10.0.0.0/8', multiple: 0 }] },
    ];
    for (const one of wrong) expect(limitSettings.safeParse(one).success, JSON.stringify(one)).toBe(false);
  });

  it('have a schema to explain mistakes with', () => {
    const schema = z.toJSONSchema(limitSettings, { io: 'input', unrepresentable: 'any' });
    expect(schema.properties?.['enabled']).toMatchObject({ type: 'boolean' });
  });
});

/** Numbers from 0 to 1 that a seed repeats. */
function randomFrom(seed: number): () => number {
  let drawn = 0;
  return () => createHash('sha256').update(`${seed} ${drawn++}`).digest().readUInt32BE() / 2 ** 32;
}
