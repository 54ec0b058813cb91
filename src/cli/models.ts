/** `filemill models`: the models of AI tools listed, brought from registries and publishers, checked, and measured. */
import { readFile } from 'node:fs/promises';
import { setGlobalProxyFromEnv } from 'node:http';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findDevices } from '../exec/confine/devices.ts';
import { PullFailed, type WantedFile } from '../exec/models/download/file.ts';
import { registriesOf } from '../exec/models/download/registries.ts';
import { findModels, type InstalledModel, modelsIn } from '../exec/models/installed.ts';
import { listedModels as all } from '../exec/models/manifest.gen.ts';
import { bytesOf, lackOf, type Model } from '../exec/models/manifest.ts';
import { pullModel } from '../exec/models/pull.ts';
import { printable } from '../printable.ts';
import { CannotStart } from '../roles/process/cannot-start.ts';
import { benchModels } from './bench-models.ts';
import { tell } from './print.ts';

/** Time limit of one call, ms. */
const LONGEST_MS = 30 * 60_000;
/** Between two reports of a download, ms. */
const EVERY_MS = 2_000;
const USAGE = 'usage: filemill models [list | verify | bench [<model>…] | pull [<model>…] [--into <folder>] [--from <folder or mirror>]]';

/** @returns what to print @throws CannotStart */
export async function manageModels(args: readonly string[], checkout: string): Promise<string> {
  const { action, ids, into, from } = asked(args);
  const unknown = ids.find((id) => !all.some((model) => model.id === id));
  if (unknown !== undefined) throw new CannotStart(`there is no model "${unknown}"; there are: ${all.map(({ id }) => id).join(', ')}`);
  const folder = into ?? modelsIn(checkout);
  const found = await findModels(all, [folder, modelsIn(checkout)], action === 'verify' ? undefined : modelsIn(checkout));
  if (action === 'list') return listed(found);
  if (action === 'bench') {
    const wanted = found.filter(({ model, state }) => state === 'whole' && (ids.length === 0 || ids.includes(model.id)));
    return benchModels(wanted, checkout, (await findDevices(['nvidia'])).counts.nvidia ?? 0);
  }
  if (action === 'verify') return verified(found);
  const wanted = all.filter(({ id, small }) => (ids.length === 0 ? small : ids.includes(id)));
  const lacking = wanted.filter(({ id }) => found.find(({ model }) => model.id === id)?.state !== 'whole');
  for (const model of lacking) {
    tell(await licenceOf(model, checkout));
    await pull(model, folder, from);
  }
  return wanted.map(({ id }) => `${id} is in ${folder}`).join('\n');
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function listed(found: readonly InstalledModel[]): string {
  return found
    .map(({ model, state }) => {
      const bytes = bytesOf(model);
      const size = bytes === undefined ? '' : ` ${megabytes(bytes)},`;
      const lack = lackOf(model);
      const missing = lack === undefined ? 'not installed' : `not installable: ${lack}`;
      const here = { whole: 'installed', missing, changed: 'changed: it is not used' }[state];
      return `${model.id}: ${model.title},${size} ${model.licence}; ${here}\n  ${model.does}: ${model.tools.join(', ')}\n  ${model.source}`;
    })
    .join('\n');
}

/** @throws CannotStart where a file has changed */
function verified(found: readonly InstalledModel[]): string {
  const changed = found.filter(({ state }) => state === 'changed');
  if (changed.length > 0)
    throw new CannotStart(`the files of these models differ from models/manifest.yaml: ${changed.map(({ folder }) => folder).join(', ')}`);
  const whole = found.filter(({ state }) => state === 'whole');
  return whole.length === 0 ? 'no model is installed' : `whole: ${whole.map(({ model }) => model.id).join(', ')}`;
}

/** What is agreed to by a download: the licence's name, its holder, and its text. */
async function licenceOf({ id, title, licence, copyright, source }: Model, checkout: string): Promise<string> {
  const names = licence.split(' OR ');
  const texts = await Promise.all(names.map((name) => readFile(join(checkout, `models/licences/${name}.txt`), 'utf8')));
  return [`${id}: ${title}, ${source}`, `licence: ${licence}${copyright === undefined ? '' : `\n${copyright}`}`, ...texts].join('\n\n');
}

/** @throws CannotStart */
async function pull(model: Model, into: string, mirror: string | undefined): Promise<void> {
  let told = 0;
  const onBytes = ({ bytes, name }: WantedFile, received: number) => {
    if (Date.now() - told < EVERY_MS && received !== bytes) return;
    told = Date.now();
    tell(`  ${model.id}: ${megabytes(received)}${bytes === undefined ? '' : ` of ${megabytes(bytes)}`} of ${name}`);
  };
  const { env } = process;
  const from = { registries: registriesOf(env), huggingFace: env['HF_ENDPOINT']?.replace(/\/$/, ''), mirror, onBytes };
  // HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case.
  const direct = setGlobalProxyFromEnv(env);
  try {
    await pullModel(model, into, from, AbortSignal.timeout(LONGEST_MS));
  } catch (error) {
    throw error instanceof PullFailed ? new CannotStart(error.message, { cause: error }) : error;
  } finally {
    direct();
  }
}

interface Asked {
  readonly action: 'list' | 'verify' | 'bench' | 'pull';
  readonly ids: readonly string[];
  readonly into: string | undefined;
  /** A folder, or a mirror's address, with the files, instead of registries and publishers. */
  readonly from: string | undefined;
}

/** @throws CannotStart */
function asked(args: readonly string[]): Asked {
  try {
    const options = { into: { type: 'string' }, from: { type: 'string' } } as const;
    const { positionals, values } = parseArgs({ args: [...args], allowPositionals: true, options });
    const [action = 'list', ...ids] = positionals;
    if (action === 'pull') return { action, ids, into: values.into, from: values.from };
    if ((action === 'bench' || ((action === 'list' || action === 'verify') && ids.length === 0)) && values.from === undefined)
      return { action, ids, into: values.into, from: undefined };
  } catch {
    // Reported below, as any other wrong argument.
  }
  throw new CannotStart(`invalid arguments "${printable(args.join(' '))}"; ${USAGE}`);
}
