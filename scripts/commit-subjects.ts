/**
 * Refuses new commits whose subject is not `area: what`, in at most 72 characters and the imperative: `jobs: claim by compare-and-swap`.
 *
 *   commit-subjects.ts [BASE]    those since a commit; none where the history is not there, as in a shallow clone or a tarball
 */
import { spawnSync } from 'node:child_process';

/** The commits up to this one were made before the rule. */
const BEFORE_THE_RULE = 'cba312aa03986227d8c0e402d606d74e9fcee0a3';
const LONGEST = 72;
/** One or more folders or topics, as `exec, worker: ` or `make e2e: `. */
const AREA = /^[\w./, -]{1,40}: (?=\S)/;
/** Verbs that end like a participle, or like the third person. */
const VERBS: ReadonlySet<string> = new Set(
  'embed exceed feed need proceed seed shed speed succeed weed bring cling fling ping ring sing sling spring string swing wring alias bias canvas focus'.split(
    ' ',
  ),
);

/** @returns what is wrong with it; undefined for a good one */
export function faultOf(subject: string): string | undefined {
  if (subject.length > LONGEST) return `has ${subject.length} characters, and may have ${LONGEST}`;
  const area = AREA.exec(subject)?.[0];
  if (area === undefined) return 'does not begin with an area, as in `jobs: claim by compare-and-swap`';
  if (subject.endsWith('.')) return 'ends with a full stop';
  const verb = /^[a-z]+(?= |$)/.exec(subject.slice(area.length))?.[0] ?? '';
  const isOther = /(?:ed|ing|[^s]s)$/.test(verb) && !VERBS.has(verb);
  return isOther ? `says "${verb}" where an imperative belongs, as "add" rather than "added" or "adds"` : undefined;
}

function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

if (import.meta.main) {
  const [base = BEFORE_THE_RULE] = process.argv.slice(2);
  // Of a history that was cut off, or of another project's around this folder, no commit is judged.
  const isHere = git('merge-base', '--is-ancestor', base, 'HEAD') !== undefined;
  const listed = isHere ? git('log', '--no-merges', '--format=%h %s', `${base}..HEAD`) : undefined;
  if (listed === undefined) console.log('  commits are not checked: their history is not here');
  const wrong = (listed ?? '').split('\n').flatMap((line) => {
    const [, commit = '', subject = ''] = /^(\S+) (.*)$/.exec(line) ?? [];
    const fault = commit === '' ? undefined : faultOf(subject);
    return fault === undefined ? [] : [`  ${commit} ${subject}\n    ${fault}`];
  });
  if (wrong.length > 0) {
    console.error(`Subjects of commits (CONTRIBUTING.md, "Commits"):\n${wrong.join('\n')}`);
    process.exitCode = 1;
  }
}
