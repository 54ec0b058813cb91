/** The receipt of a conversion: in a line what it kept and what it did not, and below it each property of both files. */
import { useSignal } from '@preact/signals';
import { ask } from '../api/client.ts';
import { outcomeName, propertyName, valueText } from '../words/receipt.ts';
import { inList, type Key, t } from '../words/words.ts';
import type { Job, Verdict } from '../work/follow.ts';

/** In the order told: what was lost comes before what was asked for. */
const OUTCOMES: readonly (readonly [outcome: Verdict['outcome'], sentence: Key])[] = [
  ['lost', 'receiptLost'],
  ['adapted', 'receiptAdapted'],
  ['asAsked', 'receiptAsAsked'],
  ['unknown', 'receiptUnknown'],
];

function inShort({ kept, changes }: NonNullable<Job['fidelity']>): string {
  const told = OUTCOMES.flatMap(([outcome, sentence]) => {
    const those = changes.filter((verdict) => verdict.outcome === outcome);
    const names = inList(those.map(({ property }) => propertyName(property, outcome)));
    return those.length === 0 ? [] : [t(sentence, { n: those.length, names })];
  });
  const sentence = [...(kept > 0 ? [t('receiptKept', { n: kept })] : []), ...told].join(', ');
  return sentence.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}

export function Receipt({ job: { job_id: id, fidelity } }: { job: Job }) {
  const whole = useSignal<readonly Verdict[] | undefined>(undefined);
  if (fidelity === undefined || fidelity.kept + fidelity.changes.length === 0) return null;
  const isWorse = fidelity.changes.some(({ outcome }) => outcome === 'lost');
  const read = async () => {
    whole.value ??= (await ask<{ properties: readonly Verdict[] }>(`api/v1/jobs/${id}/fidelity`)).data.properties;
  };
  const rows = whole.value?.filter(({ outcome }) => outcome === 'kept') ?? [];
  return (
    <details
      class="receipt"
      onToggle={(event) => {
        // What cannot be read now leaves the rows of what differs.
        if (event.currentTarget.open) read().catch(() => {});
      }}
    >
      <summary class={isWorse ? 'failures' : undefined}>{inShort(fidelity)}</summary>
      <div class="scrolled" tabIndex={0} role="region" aria-label={t('receiptTitle')}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('receiptProperty')}</th>
              <th scope="col">{t('receiptSource')}</th>
              <th scope="col">{t('receiptResult')}</th>
              <th scope="col">{t('receiptOutcome')}</th>
            </tr>
          </thead>
          <tbody>
            {[...fidelity.changes, ...rows].map((verdict) => (
              <Row key={verdict.property} {...verdict} />
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function Row({ property, outcome, source, result }: Verdict) {
  const after = outcome === 'kept' ? source : result;
  return (
    <tr class={outcome}>
      <th scope="row">{propertyName(property)}</th>
      <td>{source === undefined ? '' : valueText(source)}</td>
      <td>{after === undefined ? t('receiptNone') : valueText(after)}</td>
      <td>{outcomeName(outcome)}</td>
    </tr>
  );
}
