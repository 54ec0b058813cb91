/** `filemill doctor`: looks at this machine as a service would use it, and says what is wrong and what to do. */
import { parseArgs } from 'node:util';
import { ConfigError } from '../../config.ts';
import { printable } from '../../printable.ts';
import { versionWith } from '../../roles/process/program.ts';
import { print, printJson } from '../print.ts';
import { type Examination, examine, tallyOf } from './examination.ts';
import type { Finding } from './finding.ts';

/** What a shell learns: whether something has to be done. */
const EXIT = { fine: 0, problem: 1 } as const;

/** Prints, and sets the exit code. @throws ConfigError */
export async function doctor(args: readonly string[], checkout: string): Promise<undefined> {
  const { json, strict } = asked(args);
  const seen = await examine(checkout, process.env);
  const tally = tallyOf(seen.findings);
  if (json) {
    const { version, commit = null, checkedAt, findings } = seen;
    printJson({ version, commit, checked_at: checkedAt, tally, findings });
  } else print(reportOf(seen));
  process.exitCode = tally.problem > 0 || (strict && tally.warning > 0) ? EXIT.problem : EXIT.fine;
  return undefined;
}

/** A line for each finding, one below it for what to do, and a sum. */
export function reportOf({ version, commit, findings }: Pick<Examination, 'version' | 'commit' | 'findings'>): string {
  const width = Math.max(...findings.map(({ check }) => check.length)) + 2;
  const { ok, unknown, warning, problem } = tallyOf(findings);
  return [
    `filemill ${versionWith(version, commit)}`,
    '',
    ...findings.flatMap((finding) => lines(finding, width)),
    '',
    `${problem} problems, ${warning} warnings, ${unknown} unknown, ${ok} fine`,
  ].join('\n');
}

const STATE_WIDTH = 9;
const lines = ({ state, check, says, todo }: Finding, width: number): readonly string[] => [
  `${state.padEnd(STATE_WIDTH)}${check.padEnd(width)}${printable(says)}`,
  ...(todo === undefined ? [] : [`${''.padEnd(STATE_WIDTH + width)}→ ${printable(todo)}`]),
];

/** @throws ConfigError */
function asked(args: readonly string[]): { readonly json: boolean; readonly strict: boolean } {
  try {
    const options = { json: { type: 'boolean', default: false }, strict: { type: 'boolean', default: false } } as const;
    const { values } = parseArgs({ args: [...args], options });
    return values;
  } catch {
    throw new ConfigError([`invalid arguments "doctor ${printable(args.join(' '))}"; usage: filemill doctor [--json] [--strict]`]);
  }
}
