/** Style sheets with the pictures and the sheets that they refer to inside (CSS Values 4, 4.5; CSS Cascade 5, 2). */
import { type CSSToken, TokenType, tokenizer } from '@csstools/css-tokenizer';

/** Resolves what a style sheet refers to in its own file. */
export interface StyleResources {
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

type Next = () => CSSToken;

/** References to what is not in the file stay, but for imports. */
export function styled(css: string, { picture, sheet }: StyleResources): string {
  const next: Next = tokenizer({ css }).nextToken;
  let [result, from] = ['', 0];
  for (let token = next(); token[0] !== TokenType.EOF; ) {
    const [type, , start] = token;
    if (type === TokenType.AtKeyword && token[4].value.toLowerCase() === 'import') {
      token = pastBlanks(next);
      const reference = stringIn(token) ?? urlIn(token, next);
      if (reference === undefined) continue;
      const end = endOfStatement(next, css.length);
      result += css.slice(from, start) + imported(sheet(reference.value), css.slice(reference.end, end));
      from = end + 1;
    } else {
      const reference = urlIn(token, next);
      const url = reference === undefined ? undefined : picture(reference.value);
      if (reference !== undefined && url !== undefined) {
        result += `${css.slice(from, start)}url("${url}")`;
        from = reference.end;
      }
    }
    token = next();
  }
  return result + css.slice(from);
}

function pastBlanks(next: Next): CSSToken {
  let token = next();
  while (token[0] === TokenType.Whitespace || token[0] === TokenType.Comment) token = next();
  return token;
}

function stringIn(token: CSSToken): Reference | undefined {
  return token[0] === TokenType.String ? { value: token[4].value, end: token[3] + 1 } : undefined;
}

/** With a string in it, it is a function. */
function urlIn(token: CSSToken, next: Next): Reference | undefined {
  if (token[0] === TokenType.URL) return { value: token[4].value, end: token[3] + 1 };
  if (token[0] !== TokenType.Function || token[4].value.toLowerCase() !== 'url') return undefined;
  const string = stringIn(pastBlanks(next));
  if (string === undefined) return undefined;
  let end = string.end;
  for (let inside = next(); inside[0] !== TokenType.EOF; inside = next()) {
    end = inside[3] + 1;
    if (inside[0] === TokenType.CloseParen) break;
  }
  return { value: string.value, end };
}

/** @returns the place of its semicolon, or of the end */
function endOfStatement(next: Next, length: number): number {
  for (let token = next(); token[0] !== TokenType.EOF; token = next()) if (token[0] === TokenType.Semicolon) return token[2];
  return length;
}

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
