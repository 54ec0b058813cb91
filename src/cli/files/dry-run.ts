/** What `--dry-run` says of a file: what would become of it, by which engine, and what would be lost. */
import { humanSize } from '../../api/jobs/view.ts';
import { printable } from '../../printable.ts';
import { print, printJson } from '../print.ts';
import { inFlags } from './arguments.ts';
import type { Explained } from './converter.ts';
import { type Destination, existing, outputPath } from './place.ts';

export interface PlannedFile {
  readonly inputs: readonly string[];
  readonly sources: readonly { readonly sizeBytes: number }[];
  readonly place: Destination;
  readonly force: boolean;
}

export async function sayPlan(
  { sources: formats, target, engines, warnings }: Explained,
  planned: PlannedFile,
  json: boolean,
): Promise<void> {
  const { inputs, sources, place, force } = planned;
  const output = place.to === 'stdout' ? '-' : outputPath(place, `x.${target ?? ''}`);
  const taken = await existing(place, `x.${target ?? ''}`, []);
  const sizeBytes = sources.reduce((sum, each) => sum + each.sizeBytes, 0);
  const told = warnings.map((warning) => ({ ...warning, message: inFlags(warning.message) }));
  if (json)
    return printJson({
      input: inputs.length === 1 ? inputs[0] : inputs,
      ...{ output, formats, size_bytes: sizeBytes, engines, warnings: told, exists: taken !== undefined },
    });
  const by = engines.map(({ name, version }) => [name, version].filter(Boolean).join(' ')).join(', then ');
  const what = `${[...new Set(formats)].join(', ')}, ${humanSize(sizeBytes)}`;
  print(`${printable(inputs.join(', '))} (${what}) → ${printable(output)}${by === '' ? '' : ` by ${by}`}`);
  for (const { message } of told) print(`  warning: ${printable(message)}`);
  if (taken !== undefined)
    print(`  ${printable(taken)} exists: ${force ? 'it would be overwritten' : 'that would fail, unless with --force or --skip-existing'}`);
}
