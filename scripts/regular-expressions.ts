/**
 * Refuses regular expressions whose cost can grow faster than the text that they look at: every one in src/, judged by recheck.
 *
 *   regular-expressions.ts            those that the list has not, and fails where the list is not what it would be
 *   regular-expressions.ts --write    writes the list of all that are safe
 *   regular-expressions.ts --all      every one, whatever the list says: a minute on two cores
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CallExpression, type NewExpression, parseSync, Visitor } from 'oxc-parser';
import { check, type Diagnostics } from 'recheck';

/** Literals that may backtrack, each as `path /pattern/flags` with the reason why no foreign text reaches it. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map();

/** Files that may build an expression out of parts, which no tool can judge before it runs, with the reason why that is safe. */
const BUILDERS: ReadonlyMap<string, string> = new Map([
  [
    'api/http/methods.ts',
    'of the paths of our own routes, quoted; a parameter stands for one path segment, so nothing can be read in two ways',
  ],
  ['cli/support/redact.ts', 'of the names that settings and machine have, each escaped as a whole: it repeats nothing'],
]);

/** Half a minute of one thread for one expression, ms: a judgement that takes longer is none, and an expression without one is refused. */
const TIMEOUT_MS = 30_000;
const AT_ONCE = 4;
/** What was found safe before, so that only new expressions take time. */
const LIST = 'scripts/safe-expressions.gen.json';

export interface Literal {
  readonly path: string;
  readonly line: number;
  readonly source: string;
  readonly flags: string;
}

export interface Found {
  readonly literals: readonly Literal[];
  /** Lines with a call of `RegExp`. */
  readonly built: readonly number[];
}

/** @param path relative to src/ */
export function expressionsIn(path: string, text: string): Found {
  const literals: Literal[] = [];
  const built: number[] = [];
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length;
  const noteCall = ({ callee, start }: NewExpression | CallExpression) => {
    if (callee.type === 'Identifier' && callee.name === 'RegExp') built.push(lineAt(start));
  };
  new Visitor({
    Literal(node) {
      if ('regex' in node) literals.push({ path, line: lineAt(node.start), source: node.regex.pattern, flags: node.regex.flags });
    },
    NewExpression: noteCall,
    CallExpression: noteCall,
  }).visit(parseSync(path, text).program);
  return { literals, built };
}

/** Why an expression is refused; undefined where it is safe. */
export async function judge({ source, flags }: Pick<Literal, 'source' | 'flags'>, timeout = TIMEOUT_MS): Promise<string | undefined> {
  // Its attempts are bounded by steps, not by time: a busy machine must not change what it finds.
  return complaint(await check(source, flags, { timeout, seedingTimeout: null, incubationTimeout: null, attackTimeout: null }));
}

function complaint(found: Diagnostics): string | undefined {
  if (found.status === 'safe') return undefined;
  if (found.status === 'vulnerable') return `backtracks: ${found.complexity.summary}`;
  return `cannot be judged (${found.error.kind}): write it more simply`;
}

const nameOf = ({ source, flags }: Literal): string => `/${source}/${flags}`;

async function main(): Promise<void> {
  const version = (JSON.parse(readFileSync('node_modules/recheck/package.json', 'utf8')) as { version: string }).version;
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  const found = files.map((path) => ({ path, ...expressionsIn(path, readFileSync(join('src', path), 'utf8')) }));
  const wrong = found.flatMap(({ path, built }) =>
    BUILDERS.has(path) ? [] : built.map((line) => `src/${path}:${line} builds an expression: scripts/regular-expressions.ts lists who may`),
  );
  const literals = found.flatMap((file) => file.literals);
  const safe = new Set(process.argv.includes('--all') ? [] : readList(version));
  const waiting = literals.filter((literal) => !safe.has(nameOf(literal)) && !EXCEPTIONS.has(`${literal.path} ${nameOf(literal)}`));
  const judgeNext = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const why = await judge(next);
      if (why === undefined) safe.add(nameOf(next));
      else wrong.push(`src/${next.path}:${next.line} ${nameOf(next)} ${why}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, judgeNext));
  const names = new Set(literals.map(nameOf).filter((name) => safe.has(name)));
  const list = `${JSON.stringify({ recheck: version, safe: [...names].sort() }, null, 2)}\n`;
  if (process.argv.includes('--write')) writeFileSync(LIST, list);
  else if (list !== readText(LIST)) wrong.push(`${LIST} is not the list of these expressions; run: make generate`);
  const unused = [...EXCEPTIONS.keys()].filter((key) => !literals.some((literal) => key === `${literal.path} ${nameOf(literal)}`));
  wrong.push(...unused.map((key) => `the exception "${key}" is of no expression any more`));
  for (const line of wrong.sort()) console.error(line);
  if (wrong.length > 0) process.exitCode = 1;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function readList(version: string): readonly string[] {
  const text = readText(LIST);
  const { recheck, safe } = text === '' ? { recheck: '', safe: [] } : (JSON.parse(text) as { recheck: string; safe: string[] });
  return recheck === version ? safe : [];
}

if (import.meta.main) await main();
