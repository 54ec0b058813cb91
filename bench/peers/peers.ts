/**
 * `make bench PEERS=<folder>`: the same files through filemill, imgproxy and Gotenberg, which are built from checkouts of their repositories in that folder.
 *
 * All run at once and idle but for the one that is asked; rounds are interleaved, so that a slow minute of the machine is everyone's.
 * One client program sends for all. Ratios compare the figures of one round.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Child, startChild } from '../child.ts';
import { documentOf, photograph, picture } from '../conversions.ts';
import { treeCpuOf } from '../cpu.ts';
import { median, quantile, sizeOf } from '../rows.ts';
import { chart, type Rate } from './chart.ts';
import { type Contender, startFilemill, startPeers, type Work } from './contenders.ts';
import type { Load, Loaded } from './load.ts';

/** Rounds of each work, `ROUNDS`; a round lasts about so long for each contender, `ROUND_S`. */
const ROUNDS = sizeOf('ROUNDS', 5);
const ROUND_S = sizeOf('ROUND_S', 4);
const CLIENTS = [1, 2, 4];
const MOST_COUNT = 400;

interface Figures {
  readonly perSecond: number;
  readonly p50: number;
  /** ms of CPU a request. */
  readonly serverCpu: number;
  readonly clientCpu: number;
}

export async function peers(folder: string, checkouts: string): Promise<void> {
  const works: readonly Work[] = [
    { name: '64 × 64 PNG → JPG', file: await picture(folder, 64, 64, 'png'), target: 'jpg' },
    { name: '1 MP JPEG → 500 px WebP', file: await picture(folder, 1_152, 864, 'jpg'), target: 'webp', width: 500 },
    { name: '36 MP JPEG → 500 px WebP', file: await photograph(folder), target: 'webp', width: 500 },
    ...(await Promise.all(
      [1, 22, 100].map(async (pages) => ({
        name: `DOCX of ${pages === 1 ? 'one page' : `${pages} pages`} → PDF`,
        file: await documentOf(folder, pages),
        target: 'pdf' as const,
      })),
    )),
  ];
  const { peers: running, missing } = await startPeers(checkouts, folder);
  for (const sentence of missing) console.log(`  missing: ${sentence}`);
  const contenders = [await startFilemill(folder), ...running];
  const load = await startChild('peers/load.ts', {});
  const rates: Rate[] = [];
  try {
    console.log(
      '\n| work | clients | who | a second | p50, ms | CPU of the server, ms each | of the client | filemill, times as many |\n|---|---|---|---|---|---|---|---|',
    );
    for (const work of works) for (const clients of CLIENTS) rates.push(...(await compare(load, contenders, work, clients)));
  } finally {
    await load.end();
    for (const contender of contenders) await contender.stop();
  }
  const drawn = join(import.meta.dirname, 'peers.svg');
  await writeFile(drawn, await chart(rates));
  console.log(`\ndrawn: bench/peers/peers.svg`);
}

async function compare(load: Child, contenders: readonly Contender[], work: Work, clients: number): Promise<readonly Rate[]> {
  const able = contenders.filter((contender) => contender.wanted(work) !== undefined);
  const counts = new Map<Contender, number>();
  const rounds: ReadonlyMap<Contender, Figures>[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const figures = new Map<Contender, Figures>();
    for (const contender of able) {
      // The first round warms up, and tells how many requests a round has.
      const count = round < 0 ? 2 * clients + 2 : (counts.get(contender) ?? 1);
      const measured = await measure(load, contender, work, clients, count);
      if (round < 0) counts.set(contender, Math.min(MOST_COUNT, Math.max(2 * clients, Math.round(measured.perSecond * ROUND_S))));
      figures.set(contender, measured);
    }
    if (round >= 0) rounds.push(figures);
  }
  return able.map((contender) => {
    const of = (figure: keyof Figures) => rounds.map((figures) => figures.get(contender)?.[figure] ?? 0);
    const ours = rounds.map((figures) => figures.get(able[0] as Contender)?.perSecond ?? 0);
    const rate = { work: work.name, clients, who: contender.name, perSecond: of('perSecond') };
    const ratio =
      contender === able[0]
        ? ''
        : spread(
            ours.map((value, at) => value / (rate.perSecond[at] ?? 1)),
            2,
          );
    const cells = [work.name, clients, contender.name, spread(rate.perSecond, 1), median(of('p50')).toFixed(1)];
    console.log(`| ${[...cells, median(of('serverCpu')).toFixed(1), median(of('clientCpu')).toFixed(1), ratio].join(' | ')} |`);
    return rate;
  });
}

async function measure(load: Child, contender: Contender, work: Work, clients: number, count: number): Promise<Figures> {
  const wanted = contender.wanted(work);
  if (wanted === undefined) throw new Error(`${contender.name} cannot do ${work.name}`);
  const before = treeCpuOf(contender.pid);
  const { took, seconds, clientCpu } = await load.ask<Loaded>({ wanted, clients, count } satisfies Load);
  const serverCpu = treeCpuOf(contender.pid) - before;
  return {
    perSecond: took.length / seconds,
    p50: quantile(took, 0.5),
    serverCpu: serverCpu / took.length,
    clientCpu: clientCpu / took.length,
  };
}

/** @returns the median, and from where to where */
const spread = (values: readonly number[], digits: number): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}-${Math.max(...values).toFixed(digits)})`;
