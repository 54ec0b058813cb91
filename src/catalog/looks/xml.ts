/** Finds the root element of an XML or HTML text, after comments, declarations and document types. Linear; expands no entities. */

export interface Root {
  /** Without its prefix; case is kept. */
  readonly name: string;
  readonly prefix: string;
  /** The text between the name and the `>` of the tag; cut at the end of the sample. */
  readonly attributes: string;
  /** The text after `<!DOCTYPE`, up to its subset; empty if there is none. */
  readonly doctype: string;
}

/** @returns undefined if the text does not begin with an element */
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

/** Offset of the tag's closing `>`, ignoring quoted ones; with an unclosed quote, of the first one. */
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

/** Attributes by name with prefix; of duplicates the first. Stops at anything that is no attribute. Expands no entities. */
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

/** Offset after the `>` of a document type, skipping quoted names and an internal subset with comments. */
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
