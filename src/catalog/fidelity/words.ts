/** Receipts in answers and in sentences. */
import type { Fidelity, PropertyVerdict } from '../../contracts/api/job.ts';

/** As every answer about a job has it: what is kept is counted, since there is most of it and least to say. */
export const shortReceipt = (verdicts: readonly PropertyVerdict[]): Fidelity => ({
  kept: verdicts.filter(({ outcome }) => outcome === 'kept').length,
  changes: verdicts.filter(({ outcome }) => outcome !== 'kept'),
});

/** The same in a few words: `kept 6, adapted 1: depth (16 bits a channel → 8 bits a channel)`; undefined where all is kept. */
export function receiptInWords({ kept, changes }: Fidelity): string | undefined {
  const said = (['lost', 'adapted', 'unknown'] as const).flatMap((outcome) => {
    const count = changes.filter((verdict) => verdict.outcome === outcome).length;
    return count === 0 ? [] : [`${outcome} ${count}: ${sentenceOf(changes, outcome)}`];
  });
  return said.length === 0 ? undefined : [`kept ${kept}`, ...said].join('; ');
}

/** Those that differ, and that no option explains, in a sentence; undefined: there are none. */
export function sentenceOf(verdicts: readonly PropertyVerdict[], outcome: PropertyVerdict['outcome']): string | undefined {
  const those = verdicts.filter((verdict) => verdict.outcome === outcome);
  if (those.length === 0) return undefined;
  return those
    .map(({ property, source, result }) => `${property.replaceAll('_', ' ')} (${source}${result === undefined ? '' : ` → ${result}`})`)
    .join(', ');
}
