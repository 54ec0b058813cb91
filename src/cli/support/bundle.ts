/** `filemill support-bundle`: what helps others to help, as one file of JSON: without secrets, names, addresses and ids, and made to be read before it is sent. */
import { existsSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir, hostname, networkInterfaces, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text as textOf } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { type Config, ConfigError, givenSettings } from '../../config.ts';
import { toolchains } from '../../contracts/toolchains.ts';
import { askSystem } from '../../exec/system.ts';
import { printable } from '../../printable.ts';
import { databaseIn } from '../../roles/machine/data-dir.ts';
import { CannotStart, errorCode } from '../../roles/process/cannot-start.ts';
import { type Examination, examine, tallyOf } from '../doctor/examination.ts';
import type { Finding } from '../doctor/finding.ts';
import { hostToAsk } from '../doctor/port.ts';
import { lastErrors } from './last-errors.ts';
import { type Redactor, redactorOf } from './redact.ts';
import { isSetting, shownSettings, valuesIn, variablesSet } from './settings.ts';

const ASK_MS = 10_000;
/** At most so many lines of the journal, and so many bytes of a log file. */
const JOURNAL_LINES = 5_000;
const LOG_BYTES = 64 * 1024 * 1024;

/** @returns what to print @throws ConfigError · CannotStart */
export async function supportBundle(args: readonly string[], checkout: string): Promise<string | undefined> {
  const { path, log } = asked(args);
  // Before the look at the machine, which takes seconds.
  if (path !== '-' && existsSync(path)) throw cannotWrite(path, 'EEXIST');
  const [given, seen] = [await logOf(log), await examine(checkout, process.env)];
  const { config, findings } = seen;
  const redactor = redactorFor(seen, checkout);
  const bundle = {
    about:
      'Made by filemill support-bundle. Secrets, names, addresses and ids are marked as <secret-1>, <name-1> and the like: the same mark is the same value.',
    version: seen.version,
    commit: seen.commit ?? null,
    checked_at: seen.checkedAt,
    node: process.version,
    tally: tallyOf(findings),
    findings: redactor.clean(findings.map((finding) => (finding.check === 'settings' ? withoutValues(finding, redactor) : finding))),
    settings: redactor.clean(shownSettings(config)),
    variables: variablesSet(process.env),
    data: redactor.clean(dataOf(config, seen.version)),
    health: await healthOfService(config, redactor),
    metrics: await metricsOfService(config, redactor),
    errors:
      given === undefined ? { from: 'no log was found: name one with --log' } : { from: given.from, ...lastErrors(given.text, redactor) },
  };
  const json = `${JSON.stringify(bundle, undefined, 1)}\n`;
  if (path === '-') {
    return json.trimEnd();
  }
  write(path, json);
  return `wrote ${path}: read it before you send it`;
}

/** Readable by its owner alone. @throws CannotStart */
function write(path: string, content: string): void {
  try {
    writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
  } catch (cause) {
    throw cannotWrite(path, errorCode(cause), cause);
  }
}

const cannotWrite = (path: string, why: string, cause?: unknown): CannotStart =>
  new CannotStart(`${printable(path)} cannot be written (${why}): name another file`, { cause });

/** The mistakes of the settings, without what was found in place of what is expected. */
function withoutValues(finding: Finding, redactor: Redactor): Finding {
  const mistakes = finding.facts?.['mistakes'] as readonly string[] | undefined;
  if (mistakes === undefined) return finding;
  const cleaned = mistakes.map((mistake) => {
    const [from, to] = [mistake.indexOf(': received '), mistake.lastIndexOf('; expected ')];
    const rest = from < 0 || to < from ? mistake : `${mistake.slice(0, from)}: ${mistake.slice(to + 2)}`;
    // The path of a setting has the form of a host's name; the last of what stands before the colon.
    const path = rest.split(': ')[0]?.split(', ').at(-1) ?? '';
    return isSetting(path) ? redactor.text(rest) : redactor.foreign(rest);
  });
  return { ...finding, says: finding.says.split(': ')[0] ?? '', facts: { mistakes: cleaned } };
}

/** Versions of programs are no addresses, and commits of filemill no ids. Settings with mistakes are not in `config`, and hold names all the same. */
function redactorFor({ config, findings, commit }: Examination, checkout: string): Redactor {
  const isFaulty = findings.some(({ check, state }) => check === 'settings' && state !== 'ok');
  const { secrets, names } = valuesIn([config, ...(isFaulty ? givenSettings(process.env) : [])]);
  const commits = [commit, ...findings.map(({ facts }) => facts?.['commit'])].filter((each) => /^[0-9a-f]{40}$/.test(String(each)));
  const versions = findings.flatMap(({ facts }) => Object.values((facts?.['versions'] ?? {}) as Readonly<Record<string, string>>));
  const { username } = userInfo();
  const addresses = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
  const ours = [hostname(), homedir(), config.dataDir, checkout, process.cwd(), ...addresses];
  return redactorOf({
    // An environment holds proxies with passwords, and tokens of others.
    secrets: [...secrets, ...secretsIn(process.env)],
    // `root` names no one, and / is no folder of theirs.
    names: [...names, ...ours, ...(username === 'root' ? [] : [username])].filter(
      (name) => !['/', '/root', 'localhost', '127.0.0.1', '::1'].includes(name),
    ),
    kept: [...versions, ...commits.map(String)],
  });
}

const secretsIn = (environment: NodeJS.ProcessEnv): readonly string[] =>
  Object.entries(environment).flatMap(([name, value = '']) =>
    /KEY|SECRET|TOKEN|PASS|SALT|CREDENTIAL|_PROXY$/i.test(name) ? value.split(',') : [],
  );

/** How many jobs are in which state, and which programs have used the folder. */
function dataOf({ dataDir, nats }: Config, version: string): unknown {
  if (nats !== undefined) return { store: 'NATS and S3' };
  try {
    const database = new DatabaseSync(databaseIn(dataDir, version), { readOnly: true, timeout: ASK_MS });
    try {
      const jobs = database
        .prepare("SELECT iif(json_valid(record), record ->> '$.state', 'unreadable') AS state, count(*) AS count FROM jobs GROUP BY 1")
        .all();
      const programs = database.prepare('SELECT version, data_version, started_at FROM programs ORDER BY started_at').all();
      return { store: 'SQLite', jobs: Object.fromEntries(jobs.map(({ state, count }) => [String(state), count])), programs };
    } finally {
      database.close();
    }
  } catch (error) {
    return { store: 'SQLite', unread: (error as Error).message };
  }
}

async function healthOfService({ api }: Config, redactor: Redactor): Promise<unknown> {
  const answer = await askService(api.host, api.port, '/api/v1/health');
  if (answer === undefined) return 'no service answers';
  try {
    const { data } = JSON.parse(answer) as { data?: Readonly<Record<string, unknown>> };
    // By pool, whose names are the operator's.
    return {
      ...(redactor.clean(data) as object),
      queue: Object.fromEntries(Object.entries((data?.['queue'] ?? {}) as object).map(([pool, depth]) => [poolName(pool), depth])),
    };
  } catch {
    return 'what answers is not filemill';
  }
}

/** Without the help texts, and without the names of pools that are not those of toolchains. */
async function metricsOfService({ api }: Config, redactor: Redactor): Promise<unknown> {
  const answer =
    api.metricsPort > 0 ? await askService(api.metricsHost, api.metricsPort, '/metrics') : await askService(api.host, api.port, '/metrics');
  if (answer === undefined) return 'no service answers';
  return answer
    .split('\n')
    .filter((line) => /^(?:filemill|process|nodejs)_/.test(line))
    .map((line) =>
      redactor.text(line.replace(/\b(pool|pool_namespace)="([^"]*)"/g, (_, label: string, name: string) => `${label}="${poolName(name)}"`)),
    );
}

const poolName = (name: string): string => ((toolchains as readonly string[]).includes(name) ? name : '<pool>');

async function askService(host: string, port: number, path: string): Promise<string | undefined> {
  const asked_ = hostToAsk(host);
  const url = `http://${asked_.includes(':') ? `[${asked_}]` : asked_}:${port}${path}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(ASK_MS) }).catch(() => undefined);
  return response?.ok ? await response.text().catch(() => undefined) : undefined;
}

/** @param path of a log; undefined: that of the unit `filemill`, where there is one @throws CannotStart */
async function logOf(path: string | undefined): Promise<{ readonly from: string; readonly text: string } | undefined> {
  if (path === '-') return { from: 'standard input', text: await textOf(process.stdin) };
  if (path !== undefined) {
    const text = await readFile(resolve(path), 'utf8').catch((cause: unknown) => {
      throw new CannotStart(`the log ${printable(path)} cannot be read (${errorCode(cause)})`, { cause });
    });
    return { from: 'a file', text: text.slice(-LOG_BYTES) };
  }
  const args = ['--unit', 'filemill', '--lines', String(JOURNAL_LINES), '--output', 'cat', '--no-pager', '--quiet'];
  const journal = await askSystem('journalctl', args, ASK_MS, LOG_BYTES).catch(() => undefined);
  return journal === undefined || journal.stdout.trim() === '' ? undefined : { from: 'the journal', text: journal.stdout };
}

/** @throws ConfigError */
function asked(args: readonly string[]): { readonly path: string; readonly log: string | undefined } {
  try {
    const { positionals, values } = parseArgs({ args: [...args], allowPositionals: true, options: { log: { type: 'string' } } });
    const [path = `filemill-support-${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}.json`, ...more] = positionals;
    if (more.length === 0) return { path, log: values.log };
  } catch {
    // Reported below.
  }
  throw new ConfigError([
    `invalid arguments "support-bundle ${printable(args.join(' '))}"; usage: filemill support-bundle [<file.json>] [--log <file>], where - is standard output, and standard input`,
  ]);
}
