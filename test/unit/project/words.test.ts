/** Messages, log lines, warnings, help, docs, comments and the titles of tests use words that a reader knows and would search for. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

/** Words that readers stumbled over, and what to write instead. */
const BANNED: Readonly<Record<string, string>> = {
  anew: 'say "again": clients read this in a hurry, and not all of them speak English well',
  'asks for too much': 'say what there are too many of: "makes too many requests"',
  'came too slowly': 'a body arrives, and so does a file: "arrived too slowly"',
  'make no new work': 'a client "is banned until …"',
  nobody: 'say who does not act: no client, no process, no worker',
  'not spoken here': 'a protocol version is "not supported"',
  'of its own': 'say "its own", "separate", or "one for each"',
  'of no kind': 'a file type is "not supported"',
  'of their own': 'say "their own", or "separate"',
  'order is released': 'say what happens next: the order is "requeued"',
  'reaches no other': 'say which setting decides: "fetching by URL is disabled"',
  somebody: 'say who: the client, the operator, another process',
  supposes: 'name the header or field that does not match',
  'take that method': 'an endpoint "does not support" a method',
  'that is asked': 'name the request, or the field of it',
  whoever: 'say who: the client, the operator, every user that may …',
  'word behind': 'a deleted record leaves a "tombstone"',
};
const RULES = Object.entries(BANNED).map(([words, instead]) => ({ words, instead, pattern: new RegExp(`\\b${words}\\b`, 'i') }));
/** A sentence has a subject: what begins with "Of" lacks one. */
const FRAGMENT = /(?:^|[.:;|]\s+)Of (?!course)/;

describe('plain words', () => {
  const all = ['src', 'web/src', 'test'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  );
  // This file says what it bans.
  const sources = all.filter((path) => /\.tsx?$/.test(path) && !/node_modules|words\.test/.test(path));
  const docs = ['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (name.endsWith('.md') || name === 'openapi.json' ? [join(folder, name)] : [])),
  );
  const maps = ['test/README.md', 'test/kit/README.md', 'test/e2e/README.md'];
  const pages = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'charts/filemill/README.md', ...maps, ...docs];

  it('are all that the program and its tests say', () => expect(sources.flatMap((path) => faults(path, textsOf(path)))).toEqual([]));

  it('are all that comments say', () => expect(sources.flatMap((path) => faults(path, commentsOf(path)))).toEqual([]));

  it('are all that the docs say', () => expect(pages.flatMap((path) => faults(path, readFileSync(path, 'utf8').split('\n')))).toEqual([]));

  it('are told from others', () => {
    expect(faults('a', ['The server has nobody.', 'Of each pod', 'Limits. Of a pool', 'Anewer'])).toHaveLength(3);
    expect(textsOf('a.ts', `log.info(\`for \${whom} nobody\`, "a b", "one"); // nobody`)).toEqual(['for … nobody', 'a b']);
    expect(commentsOf('a.ts', '/**\n * Of a pool. */ f("nobody"); // nobody')).toEqual(['Of a pool.', 'nobody']);
  });
});

function faults(place: string, texts: readonly string[]): string[] {
  return texts.flatMap((text) => {
    const found = RULES.filter(({ pattern }) => pattern.test(text));
    const says = found.map(({ words, instead }) => `${place}: "${words}" in "${text.slice(0, 200)}": ${instead}`);
    return FRAGMENT.test(text) ? [...says, `${place}: a fragment that begins with "Of" in "${text.slice(0, 200)}"`] : says;
  });
}

/** Texts of more than one word: all of them, since a message may be put together far from where it is sent. */
function textsOf(path: string, code = readFileSync(path, 'utf8')): string[] {
  const texts: string[] = [];
  new Visitor({
    Literal: ({ value }) => void (typeof value === 'string' && texts.push(value)),
    TemplateLiteral: ({ quasis }) => void texts.push(quasis.map(({ value }) => value.cooked ?? '').join('…')),
  }).visit(parseSync(path, code).program);
  return texts.filter((text) => / /.test(text));
}

/** The lines of its comments. */
function commentsOf(path: string, code = readFileSync(path, 'utf8')): string[] {
  return parseSync(path, code).comments.flatMap(({ value }) =>
    value.split('\n').flatMap((line) => line.replace(/^[\s*]+/, '').trim() || []),
  );
}
