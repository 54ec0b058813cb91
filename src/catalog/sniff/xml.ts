/** The first element of an XML or HTML text, past everything that may stand before it. One pass, no entity is ever expanded. */

export interface Root {
  /** Without its prefix, in its own case. */
  readonly name: string;
  readonly prefix: string;
  /** All between the name and the `>` that ends the tag; cut where the sample ends. */
  readonly attributes: string;
  /** What follows `<!DOCTYPE`, up to its subset; empty where there is none. */
  readonly doctype: string;
}

/** @returns undefined where the text begins with no element: prose, or a document type without a root */
export function rootOf(text: string): Root | undefined {
  let at = 0;
  let doctype = '';
  for (;;) {
    while (at < text.length && /\s/.test(text.charAt(at))) at++;
    if (text.startsWith('<?', at)) at = past(text, '?>', at);
    else if (text.startsWith('<!--', at)) at = past(text, '-->', at);
    else if (/^<!doctype/i.test(text.slice(at, at + 9))) {
      const end = pastDoctype(text, at + 9);
      doctype ||= text
        .slice(at + 9, Math.min(end, at + 521))
        .replace(/[[>].*$/s, '')
        .trim();
      at = end;
    } else break;
  }
  const name = /^<(?:([A-Za-z_][\w.-]{0,63}):)?([A-Za-z_][\w.-]{0,63})(?=[\s/>]|$)/.exec(text.slice(at, at + 140));
  if (name === null) return doctype === '' ? undefined : { name: '', prefix: '', attributes: '', doctype };
  const from = at + name[0].length;
  return { name: name[2] ?? '', prefix: name[1] ?? '', attributes: text.slice(from, endOfTag(text, from)), doctype };
}

/** Where the tag's own `>` stands, which one between quotes is not; where a quote is left open, the first one. */
function endOfTag(text: string, from: number): number {
  let quote = '';
  for (let at = from; at < text.length; at++) {
    const character = text.charAt(at);
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at;
  }
  const first = text.indexOf('>', from);
  return first < 0 ? text.length : first;
}

/** Values of all attributes by their names with prefix, of each the first, up to what is no attribute. No entity is expanded. */
export function attributesOf({ attributes }: Root): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const one = /\s*([^\s=>"'/]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/y;
  for (let match = one.exec(attributes); match !== null; match = one.exec(attributes)) {
    const [, name = '', double, single] = match;
    if (!found.has(name)) found.set(name, double ?? single ?? '');
  }
  return found;
}

/** The value of an attribute, whatever its prefix. */
export function attribute({ attributes }: Root, name: string): string | undefined {
  const at = attributes.indexOf(`${name}=`);
  return at < 0 ? undefined : /^["']([^"'<]{0,200})["']/.exec(attributes.slice(at + name.length + 1))?.[1];
}

const past = (text: string, mark: string, from: number): number => {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at + mark.length;
};

/** Past the `>` that ends a document type, over quoted names and an internal subset with comments. */
function pastDoctype(text: string, from: number): number {
  let inSubset = false;
  for (let at = from; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"' || character === "'") at = past(text, character, at + 1) - 1;
    else if (text.startsWith('<!--', at)) at = past(text, '-->', at) - 1;
    else if (character === '[') inSubset = true;
    else if (character === ']') inSubset = false;
    else if (character === '>' && !inSubset) return at + 1;
  }
  return text.length;
}
