/** Parts of a DOCX as Pandoc is given them: which runs are hidden, and where text boxes go. */
import { expect, it } from 'vitest';
import { preparedStory } from '../../../../../src/exec/programs/documents/docx/story.ts';

const run = (properties: string, inside = '<w:t>seen</w:t>') => `<w:r><w:rPr>${properties}</w:rPr>${inside}</w:r>`;
const paragraph = (inside: string) => `<w:p>${inside}</w:p>`;
const box = (inside: string) => `<w:pict><w:txbxContent>${paragraph(inside)}</w:txbxContent></w:pict>`;
const textsOf = (xml: string) => [...xml.matchAll(/<w:t>([^<]*)<\/w:t>/g)].map(([, text]) => text);

it.each<[what: string, xml: string, texts: readonly string[], hidden: number]>([
  ['a run that is hidden', run('<w:b/><w:vanish/>'), [], 1],
  ['a run that is hidden by a tag with an end', run('<w:vanish w:val="1"></w:vanish>'), [], 1],
  ['a run that a style hides and it does not', run('<w:vanish w:val="0"/>'), ['seen'], 0],
  ['the same in a word, by a tag with an end', run('<w:vanish w:val="false"></w:vanish>'), ['seen'], 0],
  ['a run that was hidden before a tracked change', run('<w:rPrChange w:id="1"><w:rPr><w:vanish/></w:rPr></w:rPrChange>'), ['seen'], 0],
  [
    'a run that is hidden, and was not before a tracked change',
    run('<w:vanish/><w:rPrChange w:id="1"><w:rPr><w:vanish w:val="0"/></w:rPr></w:rPrChange>'),
    [],
    1,
  ],
  [
    'a paragraph in a text box whose mark is hidden',
    run('<w:b/>', `<w:t>seen</w:t>${box(`<w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>${run('<w:b/>', '<w:t>boxed</w:t>')}`)}`),
    ['seen', 'boxed'],
    0,
  ],
  [
    'the text box of a hidden run, and not the one before',
    `${run('<w:b/>', box(run('', '<w:t>before</w:t>')))}${run('<w:vanish/>', box(run('', '<w:t>boxed</w:t>')))}${run('')}`,
    ['seen', 'before'],
    1,
  ],
])('%s', (_, xml, texts, hidden) => {
  const story = preparedStory(paragraph(xml));
  expect(textsOf(story.xml)).toEqual(texts);
  expect(story.hidden).toBe(hidden);
});

const EMPTY_BOX = '<w:txbxContent><w:t>x</w:t></w:txbxContent>';

it('puts all of 150,000 text boxes after their paragraph', () => {
  const { xml } = preparedStory(paragraph(EMPTY_BOX.repeat(150_000)));
  expect(xml.startsWith('<w:p></w:p><w:t>x</w:t>')).toBe(true);
  expect(textsOf(xml)).toHaveLength(150_000);
});

it.each([
  ['text boxes', paragraph(EMPTY_BOX.repeat(200_001))],
  ['text boxes in each other', '<w:txbxContent>'.repeat(30)],
  ['levels', '<w:p>'.repeat(1_001)],
  ['tags of a text', '<a/>'.repeat(8_000_001)],
])('refuses too many %s', (limit, xml) => {
  expect(() => preparedStory(xml)).toThrow(expect.objectContaining({ reason: 'input_limit', details: expect.objectContaining({ limit }) }));
});

/** @param settings of the field @param result what stands in it */
const formField = (settings: string, result = ''): string =>
  `<w:r><w:fldChar w:fldCharType="begin"><w:ffData>${settings}</w:ffData></w:fldChar></w:r><w:r><w:instrText>FORM</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${result}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;
const ENTRIES = '<w:listEntry w:val="red"/><w:listEntry w:val="blue &amp; grey"/>';

it.each([
  ['a box that is checked', formField('<w:checkBox><w:sizeAuto/><w:default w:val="0"/><w:checked/></w:checkBox>'), '☒'],
  ['a box that is not', formField('<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>'), '☐'],
  ['a box as it was at first', formField('<w:checkBox><w:default w:val="1"/></w:checkBox>'), '☒'],
  ['a list of which an entry is chosen', formField(`<w:ddList><w:result w:val="1"/>${ENTRIES}</w:ddList>`), 'blue &amp; grey'],
  ['a list with a default', formField(`<w:ddList><w:result w:val="1"/><w:default w:val="0"/>${ENTRIES}</w:ddList>`), 'blue &amp; grey'],
  ['a list of which none is', formField(`<w:ddList>${ENTRIES}</w:ddList>`), 'red'],
  ['a list whose text is there', formField(`<w:ddList>${ENTRIES}</w:ddList>`, '<w:r><w:t>red</w:t></w:r>'), undefined],
  ['a text', formField('<w:textInput><w:default w:val="x"/></w:textInput>', '<w:r><w:t>kestrel</w:t></w:r>'), undefined],
])('a form has the state of its fields as text: %s', (_, xml, expected) => {
  const written = preparedStory(paragraph(xml)).xml;
  expect(written).toBe(paragraph(xml).replace(xml, expected === undefined ? xml : `${xml}<w:r><w:t>${expected}</w:t></w:r>`));
});
