/** Style sheets with the pictures and the sheets that they refer to inside (CSS Syntax 3, 4.3; CSS Values 4, 4.5; CSS Cascade 5, 2). */

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
  const next = /\/\*|["']|url\(|@import\b/gi;
  let [result, from] = ['', 0];
  for (let found = next.exec(css); found !== null; found = next.exec(css)) {
    const [mark] = found;
    if (mark === '/*' || mark === '"' || mark === "'") {
      next.lastIndex = mark === '/*' ? endOfComment(css, found.index) : endOfString(css, found.index);
      continue;
    }
    const isImport = mark.startsWith('@');
    const reference = isImport ? importIn(css, next.lastIndex) : urlIn(css, next.lastIndex);
    if (reference === undefined) {
      if (isImport) continue;
      // No end: neither has what follows.
      break;
    }
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

/** In the place of the statement. @param prelude the conditions under which it counts: a layer, what a browser has to support, media queries */
function imported(css: string | undefined, prelude: string): string {
  if (css === undefined) return '';
  const plain = prelude.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, ' ').trim();
  const layer = /^layer(?![\w-])/i.test(plain) ? insideOf(plain, 'layer'.length) : undefined;
  const afterLayer = plain.slice(layer?.end).trim();
  const supports = /^supports\(/i.test(afterLayer) ? insideOf(afterLayer, 'supports'.length) : undefined;
  const media = afterLayer.slice(supports?.end).trim();
  const rules = [
    ...(media === '' ? [] : [`@media ${media}`]),
    ...(supports === undefined ? [] : [`@supports (${supports.value})`]),
    ...(layer === undefined ? [] : [`@layer ${layer.value}`.trim()]),
  ];
  return `${rules.map((rule) => `${rule} {\n`).join('')}${css}\n${'}\n'.repeat(rules.length)}`;
}

/** What is in the parentheses at a place, if there are any. */
function insideOf(text: string, from: number): Reference {
  if (text.charAt(from) !== '(') return { value: '', end: from };
  let [at, open] = [from + 1, 1];
  for (; at < text.length && open > 0; at++) open += text.charAt(at) === '(' ? 1 : text.charAt(at) === ')' ? -1 : 0;
  return { value: text.slice(from + 1, at - 1), end: at };
}

/** A semicolon that is in no comment and no string, or the end. */
function endOfStatement(css: string, from: number): number {
  const next = /\/\*|["';]/g;
  next.lastIndex = from;
  for (let found = next.exec(css); found !== null; found = next.exec(css)) {
    if (found[0] === ';') return found.index;
    next.lastIndex = found[0] === '/*' ? endOfComment(css, found.index) : endOfString(css, found.index);
  }
  return css.length;
}

function importIn(css: string, from: number): Reference | undefined {
  let start = skipBlanks(css, from);
  while (css.startsWith('/*', start)) start = skipBlanks(css, endOfComment(css, start));
  return css.slice(start, start + 4).toLowerCase() === 'url(' ? urlIn(css, start + 4) : stringIn(css, start);
}

/** @param from after the parenthesis */
function urlIn(css: string, from: number): Reference | undefined {
  const start = skipBlanks(css, from);
  const string = stringIn(css, start);
  const next = /\\[\s\S]|\)/g;
  next.lastIndex = string?.end ?? start;
  let found = next.exec(css);
  while (found !== null && found[0] !== ')') found = next.exec(css);
  if (found === null) return undefined;
  return { value: string?.value ?? unescaped(css.slice(start, found.index)).trim(), end: next.lastIndex };
}

function stringIn(css: string, from: number): Reference | undefined {
  const quote = css.charAt(from);
  if (quote !== '"' && quote !== "'") return undefined;
  const end = endOfString(css, from);
  return css.charAt(end - 1) !== quote || end < from + 2 ? undefined : { value: unescaped(css.slice(from + 1, end - 1)), end };
}

const [DOUBLE, SINGLE] = [/(?:[^"\\\n]|\\[\s\S])*"?/y, /(?:[^'\\\n]|\\[\s\S])*'?/y];

/** Behind its other mark, or at the end of its line, where it has none. @param from its first mark */
function endOfString(css: string, from: number): number {
  const rest = css.charAt(from) === '"' ? DOUBLE : SINGLE;
  rest.lastIndex = from + 1;
  rest.exec(css);
  return rest.lastIndex;
}

function endOfComment(css: string, from: number): number {
  const end = css.indexOf('*/', from + 2);
  return end < 0 ? css.length : end + 2;
}

/** CSS Syntax 3, 4.3.7. */
const unescaped = (text: string): string =>
  text.replace(/\\(?:([0-9a-f]{1,6})\s?|\r?\n|([\s\S]))/gi, (_, code: string | undefined, letter = '') =>
    code === undefined ? letter : letterOf(Number.parseInt(code, 16)),
  );
const letterOf = (code: number): string => (code === 0 || code > 0x10_ffff ? '\ufffd' : String.fromCodePoint(code));

function skipBlanks(css: string, from: number): number {
  let at = from;
  while (at < css.length && css.charCodeAt(at) <= 0x20) at++;
  return at;
}
