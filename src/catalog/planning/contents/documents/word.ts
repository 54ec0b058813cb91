/** A text document in WordprocessingML (ECMA-376 part 1, 17). */
import type { Package } from '../package.ts';
import { attributeIn, type Tag, walkTags, withoutEntities } from '../tags.ts';
import { distinctWords } from '../words.ts';
import { distinct, isOutside, isRaster, millimetres, type OfficeFacts, primaryLanguage } from './facts.ts';
import { countTags, outsideLinks, relationsOf, titleOf } from './ooxml.ts';

const TWIPS_PER_MM = 1440 / 25.4;
const isOn = (tag: Tag): boolean => !['0', 'false', 'off', 'none'].includes(attributeIn(tag, 'w:val') ?? '');

interface Story {
  readonly text: string;
  readonly headings: number;
  readonly footnotes: number;
  readonly fields: number;
  readonly changes: number;
  readonly sizes: readonly string[];
  readonly fieldLinks: readonly string[];
}

export function wordFacts(file: Package): OfficeFacts {
  const main = 'word/document.xml';
  const relations = relationsOf(file, main);
  const styles = file.text('word/styles.xml');
  const headings = headingStyles(styles);
  const story = storyIn(file.text(main), headings.levels);
  const notes = ['word/footnotes.xml', 'word/endnotes.xml'].map((part) => storyIn(file.text(part), new Set()).text);
  const pictures = relations.filter(({ type, target }) => type === 'image' && isRaster(target));
  return {
    document: {
      words: distinctWords([story.text, ...notes].join(' ')),
      pageSizes: distinct(story.sizes),
      links: new Set([...outsideLinks(relations), ...story.fieldLinks]).size,
      headings: story.headings,
      fields: story.fields,
      pictures: new Set(pictures.map(({ target }) => target)).size,
      footnotes: story.footnotes,
      comments: countTags(file.text('word/comments.xml'), (name) => name === 'w:comment'),
      changes: story.changes,
      language: headings.language,
      title: titleOf(file),
      ...(styles.includes('<w:vanish') && { hasHiding: true }),
    },
  };
}

/** Ids of styles with a level of the outline, and the language of a text that names none. */
function headingStyles(xml: string): { readonly levels: ReadonlySet<string>; readonly language: string } {
  const levels = new Set<string>();
  let [id, language] = ['', ''];
  walkTags(
    xml,
    (tag) => {
      if (tag.kind === 'close') return;
      if (tag.name === 'w:style') {
        id = attributeIn(tag, 'w:styleId') ?? '';
        if (/^heading ?[1-9]$/i.test(id)) levels.add(id);
      } else if (tag.name === 'w:outlineLvl' && Number(attributeIn(tag, 'w:val')) < BODY_TEXT && id !== '') levels.add(id);
      else if (tag.name === 'w:lang' && language === '') {
        const named = primaryLanguage(attributeIn(tag, 'w:val') ?? '');
        if (named !== 'x' && named !== 'zxx') language = named;
      }
    },
    () => {},
  );
  return { levels, language };
}
/** 17.3.1.20: no level. */
const BODY_TEXT = 9;

/** Tags between which nothing shows: another version of what stands beside them, or what a program reads. */
const SKIPPED: ReadonlySet<string> = new Set(['mc:Fallback', 'w:rPrChange', 'w:pPrChange', 'w:moveFrom']);

/** Fields whose result is not the same on another day or page. (17.16.5) */
const FILLED = /^\s{0,9}(?:DATE|TIME|PAGE|NUMPAGES|PAGEREF|SECTIONPAGES|SAVEDATE|PRINTDATE)(?![A-Z])/i;

function storyIn(xml: string, levels: ReadonlySet<string>): Story {
  const pieces: string[] = [];
  const [sizes, fieldLinks]: [string[], string[]] = [[], []];
  let [headings, footnotes, fields, changes, skipped] = [0, 0, 0, 0, 0];
  let [isText, isInstruction, isHidden, isHeading, hasText] = [false, false, false, false, false];
  /** Whether each field that is open fills in its result on another day or page; how many do; and what the innermost says. */
  const open: boolean[] = [];
  let [filled, simple, instruction] = [0, 0, ''];
  const onTag = (tag: Tag): void => {
    const { name, kind } = tag;
    if (SKIPPED.has(name)) {
      if (name === 'w:moveFrom' && kind === 'open') changes++;
      if (kind !== 'empty') skipped += kind === 'open' ? 1 : -1;
    }
    if (skipped > 0) return;
    isText = name === 'w:t' && kind === 'open' && !isHidden && filled === 0 && simple === 0;
    isInstruction = name === 'w:instrText' && kind === 'open';
    switch (name) {
      case 'w:p':
        if (kind === 'open') [isHeading, hasText] = [false, false];
        else if (isHeading && hasText) headings++;
        pieces.push(' ');
        break;
      case 'w:r':
        if (kind === 'open') isHidden = false;
        break;
      case 'w:fldSimple':
        if (kind === 'open' && (simple > 0 || FILLED.test(withoutEntities(attributeIn(tag, 'w:instr') ?? '')))) simple++;
        else if (kind === 'close' && simple > 0) simple--;
        break;
      case 'w:fldChar': {
        const part = attributeIn(tag, 'w:fldCharType');
        if (kind === 'close') break;
        if (part === 'begin') open.push(false);
        if (part === 'separate' && open.at(-1) === false && FILLED.test(instruction)) {
          open[open.length - 1] = true;
          filled++;
        }
        if (part === 'end' && open.pop() === true) filled--;
        instruction = '';
        break;
      }
      case 'w:vanish':
        isHidden = isOn(tag);
        break;
      case 'w:tab':
      case 'w:br':
      case 'w:cr':
        pieces.push(' ');
        break;
      case 'w:pStyle':
        isHeading ||= levels.has(attributeIn(tag, 'w:val') ?? '');
        break;
      case 'w:pgSz': {
        const [width, height] = [Number(attributeIn(tag, 'w:w')), Number(attributeIn(tag, 'w:h'))];
        if (width > 0 && height > 0) sizes.push(millimetres(width / TWIPS_PER_MM, height / TWIPS_PER_MM));
        break;
      }
      case 'w:footnoteReference':
      case 'w:endnoteReference':
        footnotes++;
        break;
      case 'w:ffData':
        if (kind === 'open') fields++;
        break;
      case 'w:ins':
      case 'w:del':
      case 'w:moveTo':
        if (kind === 'open') changes++;
    }
  };
  const onText = (text: string): void => {
    if (skipped > 0) return;
    if (isText) {
      pieces.push(withoutEntities(text));
      hasText = true;
    } else if (isInstruction) {
      instruction += withoutEntities(text).slice(0, 100);
      const link = /HYPERLINK\s{1,9}"([^"]{1,2000})"/.exec(withoutEntities(text))?.[1];
      if (link !== undefined && isOutside(link)) fieldLinks.push(link);
    }
  };
  walkTags(xml, onTag, onText);
  return { text: pieces.join(''), headings, footnotes, fields, changes, sizes, fieldLinks };
}
