/** Measures a job's result, and compares it with what was found in its source. */
import type { EngineWarning, Facts } from '../../catalog/engine.ts';
import { receiptOf, sentenceOf } from '../../catalog/fidelity/receipt.ts';
import { hasPictureHeader } from '../../catalog/planning/headers/read.ts';
import type { PropertyVerdict } from '../../contracts/api/job.ts';
import { Failure } from '../../errors.ts';
import type { Judge } from '../../judge/judge.ts';
import type { ConversionResult } from './convert.ts';
import type { PackedOutput } from './output.ts';

/** @param target the result's format @returns undefined for several results, and for kinds of files that are not measured */
export async function receiptFor(
  judge: Judge,
  { found }: ConversionResult,
  { path, files }: Pick<PackedOutput, 'path' | 'files'>,
  target: string,
): Promise<readonly PropertyVerdict[] | undefined> {
  if (found === undefined || files !== 1) return undefined;
  const header = found.source['picture'] !== undefined && hasPictureHeader(target) ? await headerOf(judge, target, path) : {};
  return receiptOf(found.source, { ...found.result, ...header }, found.options, target);
}

/** Nothing is known of a result that takes the judge too long. */
async function headerOf(judge: Judge, target: string, path: string): Promise<Facts> {
  try {
    return await judge.lookThrough(target, path);
  } catch (error) {
    if (error instanceof Failure) return {};
    throw error;
  }
}

export function lossesIn(fidelity: readonly PropertyVerdict[] | undefined): readonly EngineWarning[] {
  const lost = sentenceOf(fidelity ?? [], 'lost');
  return lost === undefined ? [] : [{ code: 'property_lost', message: `The result does not have what the source has: ${lost}.` }];
}
