/** What the parts of an Office Open XML package have in common (ECMA-376 part 2, 8 and 9). */
import type { Package } from '../package.ts';
import { attributeIn, walkTags, withoutEntities } from '../tags.ts';
import { isOutside, shownText } from './facts.ts';

export interface Relation {
  readonly id: string;
  /** The last word of its type: `hyperlink`, `image`, `worksheet`. */
  readonly type: string;
  /** From the top of the package, but for what lies outside. */
  readonly target: string;
}

/** What a part refers to. @param part `word/document.xml` */
export function relationsOf(file: Package, part: string): readonly Relation[] {
  const slash = part.lastIndexOf('/');
  const folder = part.slice(0, slash + 1);
  const relations: Relation[] = [];
  walkTags(
    file.text(`${folder}_rels/${part.slice(slash + 1)}.rels`),
    (tag) => {
      if (tag.name.split(':').at(-1) !== 'Relationship') return;
      const [id = '', type = '', target = ''] = ['Id', 'Type', 'Target'].map((name) => attributeIn(tag, name));
      const isExternal = attributeIn(tag, 'TargetMode') === 'External';
      relations.push({ id, type: type.slice(type.lastIndexOf('/') + 1), target: isExternal ? target : resolved(folder, target) });
    },
    () => {},
  );
  return relations;
}

function resolved(folder: string, target: string): string {
  if (target.startsWith('/')) return target.slice(1);
  const parts = folder.split('/').filter(Boolean);
  for (const step of target.split('/')) {
    if (step === '..') parts.pop();
    else if (step !== '.') parts.push(step);
  }
  return parts.join('/');
}

/** The distinct addresses of links that lead outside. */
export const outsideLinks = (relations: readonly Relation[]): readonly string[] =>
  relations.filter(({ type, target }) => type === 'hyperlink' && isOutside(target)).map(({ target }) => target);

/** The first element of the name that has a text. @param names of elements, with their prefixes */
export function textIn(xml: string, ...names: readonly string[]): string {
  let [isIn, text] = [false, ''];
  walkTags(
    xml,
    ({ name, kind }) => {
      isIn = kind === 'open' && names.includes(name) && text === '';
    },
    (piece) => {
      if (isIn) text = withoutEntities(piece);
    },
  );
  return shownText(text);
}

export const titleOf = (file: Package): string => textIn(file.text('docProps/core.xml'), 'dc:title');

export function countTags(xml: string, isCounted: (name: string) => boolean): number {
  let count = 0;
  walkTags(
    xml,
    ({ name, kind }) => {
      if (kind !== 'close' && isCounted(name)) count++;
    },
    () => {},
  );
  return count;
}
