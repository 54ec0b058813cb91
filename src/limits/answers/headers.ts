/** The rate-limit headers of a response: `X-RateLimit-*`, and `RateLimit` with `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers-10. */
import type { LimitShare, Usage } from './usage.ts';

/** Where the response comes from: the MCP endpoint, a REST tool, or anything else of REST. */
export interface LimitSurface {
  readonly mcp?: boolean;
  readonly tool?: string;
}

/** Every header that `headersOf` may set, to expose by CORS. */
export const limitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit', 'RateLimit-Policy'] as const;

/** Reports the limit with the smallest share left; the policy lists all that apply. Times are in seconds from now. */
export function headersOf(usage: Usage, surface: LimitSurface = {}): Partial<Record<(typeof limitHeaders)[number], string>> {
  if (!usage.enforced) return {};
  const shares = sharesOf(usage, surface);
  const [name, { limit, remaining, resetSeconds }] = shares.reduce((scarcest, share) => (isScarcer(share, scarcest) ? share : scarcest));
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetSeconds),
    RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
    'RateLimit-Policy': shares.map(([each, { limit, windowSeconds }]) => `"${each}";q=${limit};w=${windowSeconds}`).join(', '),
  };
}

type Named = readonly [string, LimitShare];

function sharesOf({ daily, hourly, mcp, ai }: Usage, surface: LimitSurface): readonly [Named, ...Named[]] {
  if (surface.mcp === true) return [['mcp', mcp]];
  const tool = surface.tool !== undefined && Object.hasOwn(ai, surface.tool) ? ai[surface.tool] : undefined;
  return [['daily', daily], ['hourly', hourly], ...(tool === undefined ? [] : [['ai', tool] as const])];
}

/** Among equal shares, the one with fewer requests left is scarcer; then the one that takes longer to reset. */
function isScarcer([, a]: Named, [, b]: Named): boolean {
  const byShare = a.remaining * b.limit - b.remaining * a.limit;
  return (byShare || a.remaining - b.remaining || b.resetSeconds - a.resetSeconds) < 0;
}
