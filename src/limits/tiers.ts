/** The limits of one client in each of the five tiers, and what a request costs in each. */
import { listedTools } from '../catalog/tools.ts';
import type { Client } from './clients/client.ts';
import type { LimitSettings } from './settings.ts';

export type Tier = 'daily' | 'hourly' | 'cooldown' | 'ai' | 'mcp';

/** A tier that counts in windows. */
export interface Quota {
  readonly tier: Exclude<Tier, 'cooldown'>;
  /** Name of the window in the client's record: each AI tool has its own. */
  readonly window: string;
  readonly limit: number;
  /** How long a window lasts, ms. */
  readonly ms: number;
}

/** The limits of one client. Durations in ms. */
export interface Rules {
  readonly daily: Quota;
  readonly hourly: Quota;
  readonly mcp: Quota;
  /** By slug of the tool. */
  readonly ai: Readonly<Record<string, Quota>>;
  readonly cooldownMs: number;
  readonly concurrent: number;
  /** Refusals in an hour that are tolerated. */
  readonly rejections: number;
  readonly banMs: number;
  readonly bannable: boolean;
}

/** A request that wants to create jobs. */
export interface Want {
  readonly via: 'rest' | 'mcp';
  /** Ids of the jobs it will create, at least one: a batch has one for each file. */
  readonly jobs: readonly string[];
  /** Slug of the tool, AI or not. */
  readonly tool?: string;
}

export const HOUR_MS = 3_600_000;
/** By slug: what the tools say, which settings may change. */
const DAILY: Readonly<Record<string, number>> = Object.fromEntries(
  listedTools.flatMap(({ slug, daily }) => (daily === undefined ? [] : [[slug, daily]])),
);
const DAY_MS = 24 * HOUR_MS;

export function rulesFor(settings: LimitSettings, { multiple, bannable }: Pick<Client, 'multiple' | 'bannable'>): Rules {
  const quota = (tier: Quota['tier'], limit: number, ms: number, window: string = tier): Quota => ({
    tier,
    window,
    limit: limit * multiple,
    ms,
  });
  return {
    daily: quota('daily', settings.daily, DAY_MS),
    hourly: quota('hourly', settings.hourly, HOUR_MS),
    mcp: quota('mcp', settings.mcp, DAY_MS),
    ai: Object.fromEntries(
      Object.entries({ ...DAILY, ...settings.ai }).map(([slug, limit]) => [slug, quota('ai', limit, DAY_MS, `ai:${slug}`)]),
    ),
    // Several people share the address: each may send one request a second.
    cooldownMs: settings.cooldownMs / multiple,
    concurrent: settings.concurrent * multiple,
    rejections: settings.rejections,
    banMs: settings.banMs,
    bannable,
  };
}

/** The quota of an AI tool; undefined for every other tool. */
export const aiQuota = (rules: Rules, tool: string | undefined): Quota | undefined =>
  tool !== undefined && Object.hasOwn(rules.ai, tool) ? rules.ai[tool] : undefined;

/** What a request costs in each of its windows: MCP calls count only in their own. */
export function costs({ via, jobs, tool }: Want, rules: Rules): readonly { readonly quota: Quota; readonly cost: number }[] {
  if (via === 'mcp') return [{ quota: rules.mcp, cost: 1 }];
  const ai = aiQuota(rules, tool);
  return [
    { quota: rules.daily, cost: jobs.length },
    { quota: rules.hourly, cost: 1 },
    ...(ai === undefined ? [] : [{ quota: ai, cost: 1 }]),
  ];
}
