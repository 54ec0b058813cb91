/** Refuses regular expressions whose cost can grow faster than the text that they look at: every one in src/, judged by recheck. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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
]);

/** Half a minute of one thread for one expression, ms: a judgement that takes longer is none, and an expression without one is refused. */
const TIMEOUT_MS = 30_000;
const AT_ONCE = 4;
/** What was found safe before, so that only new expressions take time. */
const CACHE = '.cache/regular-expressions.json';

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
  const safe = new Set(readCache(version));
  const waiting = literals.filter((literal) => !safe.has(nameOf(literal)) && !EXCEPTIONS.has(`${literal.path} ${nameOf(literal)}`));
  const judgeNext = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const why = await judge(next);
      if (why === undefined) safe.add(nameOf(next));
      else wrong.push(`src/${next.path}:${next.line} ${nameOf(next)} ${why}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, judgeNext));
  mkdirSync('.cache', { recursive: true });
  writeFileSync(CACHE, JSON.stringify({ version, safe: literals.map(nameOf).filter((name) => safe.has(name)) }));
  const unused = [...EXCEPTIONS.keys()].filter((key) => !literals.some((literal) => key === `${literal.path} ${nameOf(literal)}`));
  wrong.push(...unused.map((key) => `the exception "${key}" is of no expression any more`));
  for (const line of wrong.sort()) console.error(line);
  if (wrong.length > 0) process.exitCode = 1;
}

function readCache(version: string): readonly string[] {
  try {
    const cached = JSON.parse(readFileSync(CACHE, 'utf8')) as { version: string; safe: string[] };
    return cached.version === version ? cached.safe : [];
  } catch {
    return [];
  }
}

if (import.meta.main) await main();
