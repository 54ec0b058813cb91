/** What differs between what was asked for and what came of it. */
import { warningText } from '../words/words.ts';
import type { Job } from '../work/follow.ts';

export function Warnings({ warnings }: Pick<Job, 'warnings'>) {
  if (warnings.length === 0) return null;
  return (
    <ul class="warnings">
      {warnings.map((warning) => {
        const { text, lang } = warningText(warning);
        return (
          <li key={warning.code + warning.message} lang={lang}>
            {text}
          </li>
        );
      })}
    </ul>
  );
}
