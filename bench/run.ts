/**
 * `make bench`: the service with confinement on, upload and download included, beside the raw tools, in one run on one machine.
 *
 *   run.ts           everything
 *   run.ts --peers <folder>   imgproxy and Gotenberg, built from their checkouts in that folder, and nothing else
 *   run.ts photo     one part: small, photo, short, long, requests, cluster, replica, overload, controller, upkeep, fair, deletions, frozen, cli, page, models, receipts or ai
 *
 * Sizes that the environment changes are named where they are read, by `sizeOf`.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ai } from './ai.ts';
import { commandLine } from './cli.ts';
import { cluster } from './cluster.ts';
import { controller } from './controller.ts';
import { conversionParts, conversions, smallPicture } from './conversions.ts';
import { deletions } from './deletions.ts';
import { fair } from './fair.ts';
import { frozen } from './frozen.ts';
import { models } from './models.ts';
import { overload } from './overload.ts';
import { page } from './page.ts';
import { peers } from './peers/peers.ts';
import { receipts } from './receipts.ts';
import { replica } from './replica.ts';
import { costs } from './requests.ts';
import { upkeep } from './upkeep.ts';

const folder = await mkdtemp(join(tmpdir(), 'filemill-bench-'));

const parts: Readonly<Record<string, () => Promise<void>>> = {
  async requests() {
    console.log('\n| what | measured |\n|---|---|');
    for (const { what, measured } of await costs(folder, await smallPicture(folder))) console.log(`| ${what} | ${measured} |`);
  },
  cluster: async () => cluster(await smallPicture(folder)),
  replica: async () => replica(await smallPicture(folder)),
  overload: async () => overload(await smallPicture(folder)),
  controller,
  upkeep,
  fair: () => fair(folder),
  frozen,
  cli: () => commandLine(folder),
  page,
  models: () => models(folder),
  receipts: () => receipts(folder),
  ai: () => ai(folder),
  deletions: async () => deletions(await readFile(await smallPicture(folder))),
};

const [wanted, checkouts] = process.argv.slice(2);
if (wanted === '--peers') {
  if (checkouts === undefined) throw new Error('--peers needs the folder of the checkouts: gotenberg, unoconverter, imgproxy');
  await peers(folder, resolve(checkouts));
  await rm(folder, { recursive: true, force: true });
  process.exit();
}
const isWanted = ([name]: readonly [string, unknown]): boolean => wanted === undefined || wanted === name;
const known = [...Object.keys(conversionParts), ...Object.keys(parts)];
if (wanted !== undefined && !known.includes(wanted)) throw new Error(`there is no part ${wanted}: ${known.join(', ')}`);

const converting = Object.entries(conversionParts).filter(isWanted);
if (converting.length > 0)
  await conversions(
    folder,
    converting.map(([, part]) => part),
  );
for (const [, measure] of Object.entries(parts).filter(isWanted)) await measure();
await rm(folder, { recursive: true, force: true });
