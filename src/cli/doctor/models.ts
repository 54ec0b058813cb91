/** The models of AI tools on this machine. */
import { modelsOf } from '../../catalog/engine.ts';
import { engines } from '../../catalog/engines.gen.ts';
import type { Toolchain } from '../../contracts/toolchains.ts';
import { findModels, type ModelState, modelsIn } from '../../exec/models/installed.ts';
import { listedModels } from '../../exec/models/manifest.gen.ts';
import { broken, type Finding, fine, weak } from './finding.ts';

export interface ModelFact {
  readonly id: string;
  /** Comes with filemill. */
  readonly small: boolean;
  readonly state: ModelState;
}

/** @param folder of the operator, searched first @param checkout absolute path of the project @param served whose engines' models are wanted */
export async function readModels(
  folder: string | undefined,
  checkout: string,
  served: readonly Toolchain[],
): Promise<readonly ModelFact[]> {
  const needed = new Set(engines.filter(({ toolchains: of }) => of.some((each) => served.includes(each))).flatMap(modelsOf));
  const found = await findModels(
    listedModels.filter(({ id }) => needed.has(id)),
    [...(folder === undefined ? [] : [folder]), modelsIn(checkout)],
  );
  return found.map(({ model: { id, small }, state }) => ({ id, small: small === true, state }));
}

export function judgeModels(models: readonly ModelFact[]): Finding {
  const idsOf = (state: ModelState, among = models) => among.filter((model) => model.state === state).map(({ id }) => id);
  const facts = { whole: idsOf('whole'), missing: idsOf('missing'), changed: idsOf('changed') };
  if (facts.changed.length > 0)
    return broken(
      'models',
      `files of these models are not those of the manifest, and their tools are off: ${facts.changed.join(', ')}`,
      `remove them, then run: filemill models pull ${facts.changed.join(' ')}`,
      facts,
    );
  const lacking = idsOf(
    'missing',
    models.filter(({ small }) => small),
  );
  if (lacking.length > 0)
    return weak(
      'models',
      `models that come with filemill are missing: ${lacking.join(', ')}`,
      `run: filemill models pull ${lacking.join(' ')}`,
      facts,
    );
  const more = facts.missing.length === 0 ? '' : `; not installed, and wanted by no other tool: ${facts.missing.join(', ')}`;
  return fine('models', `${facts.whole.length} models are whole${more}`, facts);
}
