/** Walks through XML or HTML tag by tag, in linear time. It checks nothing: what is not well-formed gives some tags. */

export interface Tag {
  /** As it is written, with its prefix. */
  readonly name: string;
  /** What stands behind the name. */
  readonly attributes: string;
  readonly kind: 'open' | 'close' | 'empty';
}

/** @param onText gets what stands between two tags, with its entities */
export function walkTags(markup: string, onTag: (tag: Tag) => void, onText: (text: string) => void): void {
  for (let at = 0; ; ) {
    const open = markup.indexOf('<', at);
    const text = open < 0 ? markup.slice(at) : markup.slice(at, open);
    if (text !== '') onText(text);
    if (open < 0) return;
    const special = SPECIAL.find(([begins]) => markup.startsWith(begins, open));
    const [begins, ends] = special ?? ['<', '>'];
    const end = markup.indexOf(ends, open + begins.length);
    if (end < 0) return;
    if (begins === CDATA) onText(markup.slice(open + begins.length, end).replaceAll('&', '&amp;'));
    else if (special === undefined) onTag(tagIn(markup.slice(open + 1, end)));
    at = end + ends.length;
  }
}

const CDATA = '<![CDATA[';
/** Nothing in them is a tag. */
const SPECIAL: readonly (readonly [begins: string, ends: string])[] = [
  ['<!--', '-->'],
  [CDATA, ']]>'],
  ['<?', '?>'],
  ['<!', '>'],
];

function tagIn(inner: string): Tag {
  const isClose = inner.startsWith('/');
  const isEmpty = inner.endsWith('/');
  const from = isClose ? 1 : 0;
  const end = inner.search(/[\s/]/);
  const nameEnd = isClose ? inner.slice(1).search(/\s/) : end;
  const name = inner.slice(from, nameEnd < 0 ? undefined : nameEnd + from);
  const attributes = isClose || end < 0 ? '' : inner.slice(end, isEmpty ? -1 : undefined);
  return { name, attributes, kind: isClose ? 'close' : isEmpty ? 'empty' : 'open' };
}

/** @returns its value without entities; undefined where the tag does not have it */
export function attributeIn({ attributes }: Tag, name: string): string | undefined {
  for (let at = attributes.indexOf(name); at >= 0; at = attributes.indexOf(name, at + name.length)) {
    const [before, after] = [attributes[at - 1] ?? ' ', attributes[at + name.length]];
    if (after !== '=' || !/\s/.test(before)) continue;
    const quote = attributes[at + name.length + 1] ?? '';
    const start = at + name.length + 2;
    if (quote !== '"' && quote !== "'") return withoutEntities(attributes.slice(start - 1).split(/\s/, 1)[0] ?? '');
    const end = attributes.indexOf(quote, start);
    return withoutEntities(attributes.slice(start, end < 0 ? undefined : end));
  }
  return undefined;
}

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: ' ', shy: '' };

/** Without entities: those of XML, numbers, and spaces; names of letters stay. */
export function withoutEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/gi, (whole, hex?: string, number?: string, name?: string) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const code = hex === undefined ? Number(number) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
