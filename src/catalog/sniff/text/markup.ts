/** Guesses the kind of a text from signs in its lines, for files whose name does not tell. */

/** Longer lines are skipped, characters: they are data. */
const LONGEST_LINE = 400;
const MOST_LINES = 2000;
/** Characters that are read: the beginning of a text is like the rest of it. */
const LOOKED_AT = 128 * 1024;
/** Lower scores are prose that happens to contain a sign. */
const CONVINCING = 2;

/** Tests a line for a sign: a regular expression, or an object with the same method where a regular expression would not be linear. */
type Sign = readonly [pattern: { test(line: string): boolean }, weight: number];

/** A link of reStructuredText, with its text: `` `filemill <https://…>`_ ``. */
const rstLink = {
  test(line: string): boolean {
    const parts = line.split('`');
    return parts.some((part, at) => at > 0 && /^[^<]{1,100}<[^>]{1,200}>$/.test(part) && parts[at + 1]?.startsWith('_') === true);
  },
};

/** A URL followed by its label in brackets, as in AsciiDoc. */
const labelledUrl = {
  test(line: string): boolean {
    const parts = line.split('[');
    return parts.some((part, at) => /^[^\]]{1,100}\]/.test(parts[at + 1] ?? '') && /(?:https?:\/\/|link:)\S/.test(lastWord(part)));
  },
};

/** A URL followed by its label, both in brackets, as in wikis. */
const bracketedUrl = {
  test: (line: string): boolean => line.split('[').some((part) => /^https?:\/\/\S{1,200} [^\]]{1,100}\]/.test(part)),
};

/** A link of XWiki, with its text before its target: `[[filemill>>https://…]]`. */
const pointedLink = {
  test: (line: string): boolean => line.split('[[').some((part, at) => at > 0 && /^[^\]>]{1,150}>>[^\]]/.test(part)),
};

/** The text after the last blank. */
const lastWord = (text: string): string => text.split(/\s/).at(-1) ?? '';

/** The signs of each kind, with the weight of a line that shows them. Anchored or bounded, so that matching is linear. */
const SIGNS: Readonly<Record<string, readonly Sign[]>> = {
  md: [
    [/^#{1,6} \S/, 1],
    [/^(?:```|~~~)/, 1],
    [/\[[^\][]{1,100}\]\([^()\s]{1,200}\)/, 1],
    [/\*\*\w[^*]{0,100}\*\*/, 0.7],
    [/^\|(?: ?:?-{3,}:? ?\|)+$/, 2],
    [/^(?:[-*+]|\d{1,3}\.) +\S/, 0.2],
    [/^> \S/, 0.3],
    [/^\[[^\]]{1,60}\]: \S/, 1],
  ],
  rst: [
    [/^ {0,3}\.\. [\w-]{1,40}::/, 2],
    [/^\.\. _[^:]{1,80}:/, 2],
    [/:\w{1,20}:`[^`]{1,100}`/, 2],
    [/``[^`]{1,100}``/, 0.6],
    [rstLink, 2],
    [/^(?:={4,}|-{4,}|~{4,}|\^{4,}|"{4,})$/, 0.7],
    [/^(?:=+ +){1,20}=+$/, 2],
    [/\S::$/, 0.7],
  ],
  tex: [
    [/\\(?:documentclass|usepackage|begin|end|(?:sub){0,2}section|chapter|maketitle|label)\b[*[{]?/, 1],
    [/\\(?:textbf|emph|textit|cite|ref|href|item)\b/, 0.7],
  ],
  org: [
    [/^#\+\w{2,30}:/, 2],
    [/^#\+(?:begin|end)_\w/i, 2],
    [/^ {0,8}:(?:PROPERTIES|END|CUSTOM_ID):/, 2],
    [/\[\[[^\][]{1,200}\]\[[^\][]{1,200}\]\]/, 2],
    [/^\*{1,6} (?:TODO|DONE) /, 2],
    [/^\*{1,6} \S/, 0.5],
  ],
  adoc: [
    [/^={1,6} [^=]{1,200}$/, 1.2],
    [/^:[\w-]{1,40}:(?: |$)/, 0.7],
    [/^\[(?:source|NOTE|TIP|WARNING|quote|cols|%|width|#|\[)[^\]]{0,100}\]/, 2],
    [/^(?:\|===|\.{4}|={4,}|\*{4,})$/, 0.7],
    [/^(?:image|include|toc|video)::[^[]{0,200}\[/, 2],
    [labelledUrl, 1.5],
    [/^(?:NOTE|TIP|WARNING|CAUTION|IMPORTANT): /, 1],
  ],
  wiki: [
    [/^={1,6} ?[^=]{1,200}={1,6}\s*$/, 1.2],
    [/\[\[(?:[^\][|]{1,150}\|)?[^\][|]{1,150}\]\](?!\])/, 1],
    [/'''[^']{1,100}'''/, 1],
    [/^(?:\{\||\|\}|\|-)/, 1.5],
    [bracketedUrl, 1.2],
    [/<(?:nowiki|ref|references|syntaxhighlight)\b/, 1.5],
    [/\{\{[^{}]{1,200}\}\}/, 1],
  ],
  textile: [
    [/^h[1-6](?:[(#{][^.]{0,60})?\. \S/, 2],
    [/^(?:bq|bc|fn\d+|p[()<>=]{0,4}|pre)\.\.? \S/, 1.5],
    [/"[^"]{1,100}":(?:https?:|\/|mailto)/, 1.5],
    [/^\|_\./, 2],
  ],
  jira: [
    [/^h[1-6]\. \S/, 2],
    [/^\|\|[^|]{1,200}\|\|/, 3],
    [/\{(?:code|noformat|quote|panel|color|anchor)\b[^{}]{0,60}\}/, 2],
    [/\[[^\][|]{1,100}\|(?:https?:|#)/, 1],
  ],
  doku: [
    [/^={5,6} [^=]{1,200} ={5,6}\s*$/, 2],
    [/^={2,4} [^=]{1,200} ={2,4}\s*$/, 0.7],
    [/^\^[^^]{1,200}\^/, 3],
    [/^ {2,8}[*-] \S/, 0.3],
  ],
  xwiki: [
    [/\{\{(?:id|code|info|toc|html|velocity|box)\b[^{}]{0,100}\}\}/, 2],
    [pointedLink, 3],
    [/^\|=[^|]{1,200}\|=/, 1],
  ],
  twiki: [
    [/^---\+{1,6}(?:!!)? ?\S/, 3],
    [/^\| \*[^*|]{1,80}\* \|/, 2],
    [/%[A-Z]{2,20}(?:\{[^{}]{0,100}\})?%/, 1.5],
  ],
  tiki: [
    [/^!{1,6} ?\S/, 1.5],
    [/^\|\|[^|]{1,200}\|[^|]/, 1.5],
    [/__[^_\s][^_]{0,100}__/, 0.7],
    [/\{(?:maketoc|CODE|img)\b[^{}]{0,100}\}/, 2],
  ],
  creol: [
    [/^={1,6} ?[^=\s]/, 1.2],
    [/^\|=[^|]{1,200}\|=/, 3],
    [/\*\*\w[^*]{0,100}\*\*/, 0.7],
  ],
  vwiki: [
    [/^%(?:title|toc|nohtml|date|template)\b/, 3],
    [/^={1,6} [^=]{1,200} ={1,6}\s*$/, 1.2],
    [/^ {0,8}[*-] \[[ .oOX]\] \S/, 2],
  ],
  muse: [
    [/^#(?:title|author|date|lang|desc) \S/, 2],
    [/^ [^|]{1,100} \|\| /, 2],
    [/^<(?:example|verse|quote|comment|center)>$/, 1.5],
    [/\[\[[^\][]{1,200}\]\[[^\][]{1,200}\]\]/, 1.9],
    [/^\*{1,5} \S/, 0.4],
  ],
  hdoc: [
    [/^={1,6} [^=]{1,200}$/, 1.1],
    [/__[^_\s][^_]{0,100}__/, 1],
    [/<https?:\/\/[^\s<>]{1,200} [^<>]{1,100}>/, 2],
    [/^#[\w-]{1,80}#$/, 2],
    [/^\+[-=]{3,}\+/, 0.7],
    [/^>>> \S/, 1.5],
  ],
  t2t: [
    [/^%!\w{1,20}(?:\(\w{1,20}\))? ?:/, 3],
    [/^={1,5}[^=]{1,200}={1,5}(?:\[[\w-]{1,60}\])?$/, 1],
    [/^\|\| [^|]{1,200} \|/, 1.4],
    [/\[[^\][]{1,100} https?:\/\/[^\s\]]{1,200}\]/, 1.5],
  ],
  man: [
    [/^[.'](?:TH|SH|SS|PP|TP|IP|LP|RS|RE|nf|fi|EX|EE|Dd|Dt|Sh|Nm)\b/, 1],
    [/^\.(?:B|I|BR|IR|RB|BI) \S/, 1],
    [/\\f[BIRP]/, 0.5],
  ],
  html: [
    [/<(?:p|div|h[1-6]|table|ul|ol|body|head|section|article|pre)(?:\s[^<>]{0,200})?>/i, 1],
    [/<\/(?:p|div|h[1-6]|table|ul|ol|li|td|body|a|em|strong|span)>/i, 0.7],
  ],
};

/** Signs of wikis that few people use are those of programs and of other texts, too: more of them are needed. */
const WEIGHTS: Readonly<Record<string, number>> = {
  html: 0.5,
  ...Object.fromEntries('doku xwiki twiki tiki creol vwiki muse hdoc t2t'.split(' ').map((kind) => [kind, 0.6])),
};

/**
 * Markdown and wiki pages often begin with a piece of HTML, and contain more: so HTML comes last, and its signs count half.
 * @param otherwise the result if there are too few signs
 */
export function likeliest(text: string, otherwise: 'txt' | 'html' = 'txt'): string {
  const lines = text.slice(0, LOOKED_AT).split(/\r\n|\n|\r/, MOST_LINES);
  // If every row has the same number of fields, it is a table, whatever its cells contain.
  const table = delimiter(lines, text.length <= LOOKED_AT);
  if (table !== undefined && otherwise === 'txt') return table;
  // A short document has few lines: one strong sign in ten lines is as good as two in fifty.
  const share = lines.length < 12 ? 2 : 1;
  const scores = Object.entries(SIGNS).map(([kind, signs]) => ({ kind, score: share * total(lines, signs) * (WEIGHTS[kind] ?? 1) }));
  const best = scores.reduce((most, next) => (next.score > most.score ? next : most));
  return best.score > CONVINCING ? best.kind : otherwise;
}

const total = (lines: readonly string[], signs: readonly Sign[]): number => lines.reduce((sum, line) => sum + scoreOf(line, signs), 0);

function scoreOf(line: string, signs: readonly Sign[]): number {
  if (line.length < 2 || line.length > LONGEST_LINE) return 0;
  return signs.reduce((sum, [pattern, weight]) => sum + (pattern.test(line) ? weight : 0), 0);
}

const ROWS_LOOKED_AT = 100;

/** The kind of table, if every row has the same number of fields (at least two; quotes are respected). @param whole whether the last line is complete */
function delimiter(lines: readonly string[], whole: boolean): 'csv' | 'tsv' | undefined {
  const text = (whole ? lines : lines.slice(0, -1)).slice(0, ROWS_LOOKED_AT).join('\n');
  // Rows that begin with a bar are a table in some markup language.
  const marks = text.startsWith('|') ? ['\t'] : ['\t', ';', ',', '|'];
  const found = marks.find((mark) => {
    const rows = fieldCounts(text, mark);
    const first = rows[0] ?? 0;
    // Prose has blanks after commas; a table written by hand may too, but then needs more rows.
    const spaced = text.split(`${mark} `).length > text.split(mark).length / 2 + 1;
    return first >= 2 && rows.length >= (spaced ? 4 : 2) && rows.every((count) => count === first);
  });
  return found === undefined ? undefined : found === '\t' ? 'tsv' : 'csv';
}

/** The number of fields of each row, with the quoting of RFC 4180; empty rows are skipped. */
function fieldCounts(text: string, mark: string): readonly number[] {
  const rows: number[] = [];
  let [fields, quoted, blank] = [1, false, true];
  for (const character of `${text}\n`) {
    if (character === '"') quoted = !quoted;
    if (quoted) blank = false;
    else if (character === mark) fields++;
    else if (character === '\n') {
      if (!blank || fields > 1) rows.push(fields);
      [fields, blank] = [1, true];
    } else blank = false;
  }
  return rows;
}
