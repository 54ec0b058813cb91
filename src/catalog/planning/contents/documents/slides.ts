/** A presentation in PresentationML (ECMA-376 part 1, 19). */
import type { Package } from '../package.ts';
import { attributeIn, walkTags, withoutEntities } from '../tags.ts';
import { distinctWords } from '../words.ts';
import { isRaster, millimetres, type OfficeFacts } from './facts.ts';
import { countTags, outsideLinks, relationsOf, titleOf } from './ooxml.ts';

const EMU_PER_MM = 36_000;
/** As many as are converted. */
const MOST_SLIDES = 2_000;

export function slideFacts(file: Package): OfficeFacts {
  const main = 'ppt/presentation.xml';
  const targets = new Map(relationsOf(file, main).map(({ id, target }) => [id, target]));
  const { ids, size } = showIn(file.text(main));
  const slides = ids.slice(0, MOST_SLIDES).flatMap((id) => slideIn(file, targets.get(id) ?? ''));
  const shown = slides.filter(({ isHidden }) => !isHidden);
  const sum = (of: (slide: (typeof slides)[number]) => number) => slides.reduce((total, slide) => total + of(slide), 0);
  return {
    document: {
      words: distinctWords(shown.map(({ text }) => text).join(' ')),
      pages: shown.length,
      pageSizes: size === undefined ? [] : [size],
      links: new Set(shown.flatMap(({ links }) => links)).size,
      pictures: new Set(shown.flatMap(({ pictures }) => pictures)).size,
      speakerNotes: sum(({ hasNotes }) => (hasNotes ? 1 : 0)),
      hiddenSlides: slides.length - shown.length,
      comments: sum(({ comments }) => comments),
      title: titleOf(file),
    },
  };
}

function showIn(xml: string): { readonly ids: readonly string[]; readonly size: string | undefined } {
  const ids: string[] = [];
  let size: string | undefined;
  walkTags(
    xml,
    (tag) => {
      if (tag.kind === 'close') return;
      if (tag.name === 'p:sldId') ids.push(attributeIn(tag, 'r:id') ?? '');
      const [width, height] = tag.name === 'p:sldSz' ? [Number(attributeIn(tag, 'cx')), Number(attributeIn(tag, 'cy'))] : [0, 0];
      if (width > 0 && height > 0) size = millimetres(width / EMU_PER_MM, height / EMU_PER_MM);
    },
    () => {},
  );
  return { ids, size };
}

function slideIn(file: Package, part: string) {
  const xml = file.text(part);
  if (xml === '') return [];
  const relations = relationsOf(file, part);
  const related = (type: string) => relations.filter((each) => each.type === type).map(({ target }) => file.text(target));
  let isHidden = false;
  walkTags(
    xml,
    (tag) => {
      if (tag.name === 'p:sld' && tag.kind === 'open') isHidden = ['0', 'false'].includes(attributeIn(tag, 'show') ?? '');
    },
    () => {},
  );
  return [
    {
      isHidden,
      text: drawnText(xml),
      links: outsideLinks(relations),
      pictures: relations.filter(({ type, target }) => type === 'image' && isRaster(target)).map(({ target }) => target),
      hasNotes: related('notesSlide').some((notes) => drawnText(notes).trim() !== ''),
      comments: related('comments').reduce((sum, xml) => sum + countTags(xml, (name) => name === 'p:cm'), 0),
    },
  ];
}

/** The text of shapes, without what a program fills in, such as the number of the slide. (ECMA-376 part 1, 21.1.2) */
export function drawnText(xml: string): string {
  const pieces: string[] = [];
  let [isText, filled, skipped] = [false, 0, 0];
  walkTags(
    xml,
    ({ name, kind }) => {
      const by = kind === 'open' ? 1 : kind === 'close' ? -1 : 0;
      if (name === 'a:fld') filled += by;
      if (name === 'mc:Fallback') skipped += by;
      isText = name === 'a:t' && kind === 'open' && filled === 0 && skipped === 0;
      if (name === 'a:p' || name === 'a:br') pieces.push(' ');
    },
    (text) => {
      if (isText) pieces.push(withoutEntities(text));
    },
  );
  return pieces.join('');
}
