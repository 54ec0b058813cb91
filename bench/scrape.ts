/** What a controller says of itself and its process: its metrics, and proc(5). */
import { readFileSync } from 'node:fs';

/** Counts by upper bound, s, each with those below it. */
export type Buckets = ReadonlyMap<number, number>;

/** Of its looks at pools, since it started. */
export async function looksOf(url: string): Promise<Buckets> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.matchAll(/^controller_runtime_reconcile_time_seconds_bucket\{le="([^"]+)",controller="toolchainpool"\} (\d+)$/gm);
  return new Map(
    [...lines].map(([, bound = '', count = '']) => [bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), Number(count)]),
  );
}

export const countOf = (buckets: Buckets): number => Math.max(0, ...buckets.values());

export const since = (before: Buckets, now: Buckets): Buckets =>
  new Map([...now].map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)]));

/** By a straight line within the bucket, as Prometheus' histogram_quantile. @returns ms */
export function quantileMs(buckets: Buckets, share: number): number {
  const wanted = countOf(buckets) * share;
  let [below, from] = [0, 0];
  for (const [bound, count] of buckets) {
    if (count >= wanted && count > below)
      return (Number.isFinite(bound) ? from + ((bound - from) * (wanted - below)) / (count - below) : from) * 1000;
    [below, from] = [count, bound];
  }
  return 0;
}

/** Resident size now and at its largest, bytes. */
export function residentOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) * 1024;
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}
