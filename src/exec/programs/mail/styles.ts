/** Style sheets with the pictures and the sheets that they refer to inside (CSS Values 4, 4.5; CSS Cascade 5, 2). */

/** What a style sheet can refer to in its own file. */
export interface StyleParts {
  /** @returns a `data:` URL; undefined for what is no picture of the file */
  readonly picture: (reference: string) => string | undefined;
  /** @returns CSS whose own references are resolved; undefined for what is no style sheet of the file */
  readonly sheet: (reference: string) => string | undefined;
}

interface Reference {
  readonly value: string;
  /** Where what follows it begins. */
  readonly end: number;
}

/** References to what is not in the file stay, but for imports. */
export function styled(css: string, { picture, sheet }: StyleParts): string {
  const next = /url\(|@import\b/gi;
  let [result, from] = ['', 0];
  for (let found = next.exec(css); found !== null; found = next.exec(css)) {
    const isImport = found[0].startsWith('@');
    const reference = isImport ? importIn(css, next.lastIndex) : urlIn(css, next.lastIndex);
    // No end: neither has what follows.
    if (reference === undefined) break;
    const { value, end } = reference;
    const after = isImport ? endOfStatement(css, end) : end;
    const text = isImport ? imported(sheet(value), css.slice(end, after)) : quoted(picture(value));
    if (text !== undefined) {
      result += css.slice(from, found.index) + text;
      from = isImport ? after + 1 : after;
    }
    next.lastIndex = after;
  }
  return result + css.slice(from);
}

const quoted = (url: string | undefined): string | undefined => (url === undefined ? undefined : `url("${url}")`);

/** In the place of the statement. @param condition media queries, or nothing */
function imported(css: string | undefined, condition: string): string {
  if (css === undefined) return '';
  const media = condition.trim();
  return media === '' ? `${css}\n` : `@media ${media} {\n${css}\n}\n`;
}

function endOfStatement(css: string, from: number): number {
  const at = css.indexOf(';', from);
  return at < 0 ? css.length : at;
}

function importIn(css: string, from: number): Reference | undefined {
  const start = skipSpace(css, from);
  return css.slice(start, start + 4).toLowerCase() === 'url(' ? urlIn(css, start + 4) : stringIn(css, start);
}

/** @param from after the parenthesis */
function urlIn(css: string, from: number): Reference | undefined {
  const start = skipSpace(css, from);
  const string = stringIn(css, start);
  const end = css.indexOf(')', string?.end ?? start);
  return end < 0 ? undefined : { value: string?.value ?? css.slice(start, end).trim(), end: end + 1 };
}

function stringIn(css: string, from: number): Reference | undefined {
  const quote = css.charAt(from);
  if (quote !== '"' && quote !== "'") return undefined;
  const end = css.indexOf(quote, from + 1);
  return end < 0 ? undefined : { value: css.slice(from + 1, end), end: end + 1 };
}

function skipSpace(css: string, from: number): number {
  let at = from;
  while (at < css.length && css.charCodeAt(at) <= 0x20) at++;
  return at;
}
