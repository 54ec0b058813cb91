/** A real Prometheus for a test, Debian's, with the chart's alerts: it scrapes what it is told, and says which alerts fire. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { eventually } from '../api/wire.ts';
import { freePort } from '../exec/ports.ts';
import { kill, startProgram } from './processes.ts';

export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly [more: string]: unknown;
}

interface Alert {
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
}
interface Answer {
  readonly data: {
    readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly alerts: readonly Alert[] }[] }[];
  };
}

/** The answer to an instant query: each value is the time and the figure (https://prometheus.io/docs/prometheus/latest/querying/api/). */
interface Instant {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
}

export interface Prometheus {
  /** Labels of each alert of this name that fires. */
  firing(alert: string): Promise<readonly Alert['labels'][]>;
  /** Names of alerts that fire, or will if it goes on. */
  raised(): Promise<readonly string[]>;
  /** What an expression comes to now, by which autoscalers scale; undefined where it finds nothing. @throws where it is none of PromQL */
  query(expression: string): Promise<number | undefined>;
  /** Whether every target answered when it was last asked. */
  scrapesAll(): Promise<boolean>;
  stop(): Promise<void>;
}

const PROGRAM = '/usr/bin/prometheus';
const EVERY = '1s';

/** @param targets `host:port` of each, by the namespace that a pod there would have */
export async function startPrometheus(targets: Readonly<Record<string, readonly string[]>>, rules: readonly Rule[]): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-prometheus-'));
  const address = `127.0.0.1:${await freePort()}`;
  await writeFile(join(folder, 'rules.yaml'), stringify({ groups: [{ name: 'filemill', rules }] }));
  const jobs = Object.entries(targets).map(([namespace, of]) => ({
    job_name: namespace,
    static_configs: [{ targets: of, labels: { namespace } }],
  }));
  const config = {
    global: { scrape_interval: EVERY, evaluation_interval: EVERY, scrape_timeout: EVERY },
    rule_files: ['rules.yaml'],
    scrape_configs: jobs,
  };
  await writeFile(join(folder, 'prometheus.yaml'), stringify(config));
  const options = {
    'config.file': join(folder, 'prometheus.yaml'),
    'storage.tsdb.path': join(folder, 'data'),
    'web.listen-address': address,
  };
  const child = await startProgram(PROGRAM, options, join(folder, 'log'));
  const ask = async <T>(path: string): Promise<T> => (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as T;
  await eventually(async () => (await fetch(`http://${address}/-/ready`).catch(() => undefined))?.ok, 'Prometheus is ready', 30_000);
  const alerts = async () => (await ask<Answer>('rules?type=alert')).data.groups.flatMap((group) => group.rules);
  return {
    firing: async (alert) => {
      const rule = (await alerts()).find(({ name }) => name === alert);
      if (rule === undefined) throw new Error(`there is no alert ${alert}`);
      return rule.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels);
    },
    raised: async () => (await alerts()).filter(({ alerts: raised }) => raised.length > 0).map(({ name }) => name),
    query: async (expression) => {
      const answer = await ask<Instant>(`query?query=${encodeURIComponent(expression)}`);
      if (answer.status !== 'success') throw new Error(answer.error);
      const value = answer.data.result[0]?.value[1];
      return value === undefined ? undefined : Number(value);
    },
    scrapesAll: async () => {
      const { data } = await ask<{ data: { activeTargets: readonly { health: string }[] } }>('targets?state=active');
      return data.activeTargets.length > 0 && data.activeTargets.every(({ health }) => health === 'up');
    },
    async stop() {
      await kill(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
