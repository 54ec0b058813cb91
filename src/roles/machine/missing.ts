/** The last log lines of a start: which converters are missing here, and why. */
import type { Log } from '../../telemetry/log.ts';
import type { MissingEngine } from './here.ts';

/** One line for each program: two engines may use the same one. @param tried whether all engines were tried */
export function sayWhatIsMissing(log: Log, missing: readonly MissingEngine[], tried: boolean): void {
  const lines = new Set(missing.map(({ engine, reason }) => `${engine.name} is missing: ${reason}`));
  if (lines.size === 0 && tried) log.info('every converter has been tried and works');
  for (const line of lines) log.warn(line);
}
