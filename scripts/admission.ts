/** The pools that `manifests/admission/workers.yaml` names, one for each toolchain: the binding of the first is written for the others. */

import { readFileSync } from 'node:fs';
import { toolchains } from '../src/contracts/toolchains.ts';

const PATH = 'manifests/admission/workers.yaml';

/** @throws where the file has not the parts that are known here: the policy, a binding for each pool, and the policy and binding of the others */
export function admissionFile(): Readonly<Record<string, string>> {
  const [policy = '', binding = '', ...rest] = readFileSync(PATH, 'utf8').split('---\n');
  const [others = '', last = ''] = rest.slice(-2);
  const [, model = ''] = /^ {2}name: filemill-workers-(\w+)$/m.exec(binding) ?? [];
  const list = /values: \[[\w, ]*\]/;
  if (model === '' || !list.test(last)) throw new Error(`${PATH} has no binding of a pool, or none of the other pools`);
  const bindings = toolchains.map((name) => binding.replaceAll(new RegExp(`\\b${model}\\b`, 'g'), name));
  return { [PATH]: [policy, ...bindings, others, last.replace(list, `values: [${toolchains.join(', ')}]`)].join('---\n') };
}
