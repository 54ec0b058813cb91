/** The target of one file. */
import { useEffect } from 'preact/hooks';
import { sourceOf, usualTargets } from '../api/catalog.ts';
import { formatName, loadSearch, saysMore } from '../words/search.ts';
import { t } from '../words/words.ts';
import type { Task } from '../work/tasks.ts';

export function TargetOf({ task, name }: { task: Task; name: string }) {
  const source = sourceOf(task.pieces.value[0]?.name ?? '');
  // The list of all formats says what they are.
  useEffect(() => void loadSearch(), []);
  if (source === undefined)
    return (
      <input
        class="target"
        aria-label={t('targetOf', { name })}
        placeholder={t('to')}
        value={task.target.value}
        size={6}
        autocomplete="off"
        onInput={(event) => {
          task.target.value = event.currentTarget.value.trim().toLowerCase().replace(/^\./, '');
        }}
      />
    );
  const usual = usualTargets(source);
  const rest = source.targets.map(({ format }) => format).filter((format) => !usual.includes(format));
  const option = (format: string) => (
    <option key={format} value={format} selected={format === task.target.value}>
      {format.toUpperCase()}
      {/* What is chosen needs no words. */}
      {format !== task.target.value && saysMore(format) && ` (${formatName(format)})`}
    </option>
  );
  return (
    <select
      class="target"
      aria-label={t('targetOf', { name })}
      value={task.target.value}
      onChange={(event) => {
        task.target.value = event.currentTarget.value;
      }}
    >
      <optgroup label={t('usual')}>{usual.map(option)}</optgroup>
      <optgroup label={t('all')}>{rest.map(option)}</optgroup>
    </select>
  );
}
