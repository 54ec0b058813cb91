/** Measures a job's result, and compares it with what was found in its source. */
import type { EngineWarning, Facts } from '../../catalog/engine.ts';
import type { JudgedProperty } from '../../catalog/fidelity/fidelity.ts';
import { receiptOf } from '../../catalog/fidelity/receipt.ts';
import { sentenceOf } from '../../catalog/fidelity/words.ts';
import { hasPictureHeader } from '../../catalog/planning/headers/read.ts';
import type { PropertyVerdict } from '../../contracts/api/job.ts';
import { conversionFailed, Failure } from '../../errors.ts';
import type { Judge } from '../../judge/judge.ts';
import type { ConversionResult } from './convert.ts';
import { measureContents } from './measure.ts';
import type { PackedOutput } from './output.ts';

/**
 * @param target the result's format @throws Failure `property_lost` where the result lacks what only a mistake of ours can have lost
 * @returns undefined for several results, and for kinds of files that are not measured
 */
export async function receiptFor(
  judge: Judge,
  { found, engine }: ConversionResult,
  { path, files }: Pick<PackedOutput, 'path' | 'files'>,
  target: string,
): Promise<readonly PropertyVerdict[] | undefined> {
  if (found === undefined || files !== 1) return undefined;
  const { picture, contents } = found.source;
  const header = picture !== undefined && hasPictureHeader(target) ? await headerOf(judge, target, path) : {};
  const made = contents === undefined ? {} : await measureContents(judge, target, path);
  const verdicts = receiptOf(found.source, { ...found.result, ...header, ...made }, found.options, target);
  refuseBroken(verdicts, engine.name);
  return verdicts;
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

/** @throws Failure `property_lost` where nothing is left of what the conversion keeps of every file */
function refuseBroken(verdicts: readonly JudgedProperty[] | undefined, engine: string): void {
  const broken = verdicts?.filter(({ isBroken }) => isBroken) ?? [];
  if (broken.length === 0) return;
  const says = `The result does not have what the source has, so it is not delivered: ${sentenceOf(broken, 'lost')}.`;
  throw conversionFailed('property_lost', { says, details: { engine, lost: broken.map(({ property }) => property) } });
}

export function lossesIn(fidelity: readonly PropertyVerdict[] | undefined): readonly EngineWarning[] {
  const lost = sentenceOf(fidelity ?? [], 'lost');
  return lost === undefined ? [] : [{ code: 'property_lost', message: `The result does not have what the source has: ${lost}.` }];
}
