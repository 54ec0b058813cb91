/** Reads a PDF's dictionaries line by line from qpdf's JSON: a file may have a million objects, of which few are pictures. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { askQpdf, type Pdf } from './qpdf.ts';

/** References are `12 0 R`, names begin with `/`. (qpdf manual, "qpdf JSON") */
type Value = null | boolean | number | string | readonly Value[] | Dictionary;
interface Dictionary {
  readonly [key: string]: Value;
}

/** A stream that may be a picture or contain one. */
export interface Stream {
  readonly object: number;
  /** Filter names as written (abbreviations are not expanded), in the order in which they apply. */
  readonly filters: readonly string[];
  readonly picture: boolean;
  /** Px; 0 if not declared. */
  readonly width: number;
  readonly height: number;
}

/** What a page or a form draws. */
export interface Content {
  readonly object: number;
  /** As stored. */
  readonly bytes: number;
  /** Names of objects by names of its resources: those that are no forms have no content. */
  readonly forms: ReadonlyMap<string, string>;
}

export interface PdfListing {
  /** By page number from 1 on; those of 1 are left out. */
  readonly units: Readonly<Record<number, number>>;
  readonly streams: readonly Stream[];
  /** By name, forms first: empty in a file without forms, unless all are asked for. */
  readonly contents: ReadonlyMap<string, Content>;
  /** Names of the contents of each page. */
  readonly pageContents: readonly (readonly string[])[];
}

/** Longer objects are skipped, characters of JSON. Nothing that draws has a longer dictionary. */
const MOST_TEXT = 1 << 20;
/** More streams than any document of 2,000 pages has. */
const MOST_STREAMS = 200_000;
/** Passes that resolve references: a dictionary's values may be separate objects, and so may theirs. */
const MOST_PASSES = 3;

/** @param allContents also those of a file without forms */
export async function listObjects(pdf: Pdf, allContents = false): Promise<PdfListing> {
  const answer = `${pdf.folder}/objects.json`;
  askQpdf(pdf, ['--json-key=pages', '--json-key=qpdf'], answer);
  const pages: string[] = [];
  const units = new Map<string, Value>();
  const dictionaries = new Map<string, Dictionary>();
  const holders = new Map<string, Dictionary>();
  for await (const [name, text] of objectsIn(answer, (page) => pages.push(page))) {
    const { value, stream } = JSON.parse(text) as { readonly value?: Value; readonly stream?: { readonly dict: Dictionary } };
    if (stream !== undefined) dictionaries.set(name, stream.dict);
    else if (isDictionary(value)) {
      if (value['/UserUnit'] !== undefined) units.set(name, value['/UserUnit']);
      if (value['/Contents'] !== undefined || value['/Resources'] !== undefined) holders.set(name, value);
    }
    if (dictionaries.size > MOST_STREAMS) throw new Error('more streams than any document has');
  }
  const known = await resolve(answer, [...units.values(), ...[...dictionaries.values()].flatMap(worthKnowing)]);
  const unitOf = (page: string) => numberOf(known(units.get(page) ?? 1), 1);
  return {
    units: Object.fromEntries(pages.flatMap((page, index) => (unitOf(page) === 1 ? [] : [[index + 1, unitOf(page)]]))),
    streams: [...dictionaries].map(([name, dictionary]) => streamOf(Number.parseInt(name, 10), dictionary, known)),
    ...(await contentsOf(answer, { pages, holders, dictionaries }, allContents)),
  };
}

/** Levels of the page tree from which a page inherits its resources (ISO 32000-1, 7.7.3.4). */
const MOST_LEVELS = 50;

interface Found {
  readonly pages: readonly string[];
  /** Pages and nodes of their tree. */
  readonly holders: ReadonlyMap<string, Dictionary>;
  readonly dictionaries: ReadonlyMap<string, Dictionary>;
}

/** What pages and forms draw, and by which names they know the forms. */
async function contentsOf(
  answer: string,
  { pages, holders, dictionaries }: Found,
  allContents: boolean,
): Promise<Pick<PdfListing, 'contents' | 'pageContents'>> {
  const forms = [...dictionaries].filter(([, dictionary]) => dictionary['/Subtype'] === '/Form');
  if (forms.length === 0 && !allContents) return { contents: new Map(), pageContents: [] };
  const resourcesOf = (page: string): Value | undefined => {
    let holder = holders.get(page);
    for (let level = 0; level < MOST_LEVELS && holder !== undefined; level++) {
      if (holder['/Resources'] !== undefined) return holder['/Resources'];
      const parent: Value | undefined = holder['/Parent'];
      holder = isReference(parent) ? holders.get(parent) : undefined;
    }
    return undefined;
  };
  const resources = [...forms.map(([, dictionary]) => dictionary['/Resources']), ...pages.map(resourcesOf)];
  const contentValues = pages.map((page) => holders.get(page)?.['/Contents']);
  const lengths = [...dictionaries.values()].map((dictionary) => dictionary['/Length']);
  const known = await resolve(answer, [...resources.flatMap(withXObjects), ...contentValues, ...lengths], withXObjects);
  /** Pages share their resources. */
  const listed = new Map<Value | undefined, ReadonlyMap<string, string>>();
  const formsIn = (value: Value | undefined): ReadonlyMap<string, string> => {
    const dictionary = known(value);
    const named = known(isDictionary(dictionary) ? dictionary['/XObject'] : undefined);
    return listed.getOrInsertComputed(named, () => {
      const rows = isDictionary(named) ? Object.entries(named) : [];
      return new Map(rows.flatMap(([name, object]) => (isReference(object) ? [[name.slice(1), object] as const] : [])));
    });
  };
  const contents = new Map<string, Content>();
  const add = (name: string, forms: ReadonlyMap<string, string>) => {
    const dictionary = dictionaries.get(name);
    if (dictionary === undefined || contents.has(name)) return;
    contents.set(name, { object: Number.parseInt(name, 10), bytes: numberOf(known(dictionary['/Length']), 0), forms });
  };
  for (const [name, dictionary] of forms) add(name, formsIn(dictionary['/Resources']));
  const pageContents: (readonly string[])[] = [];
  for (const [index, page] of pages.entries()) {
    const value = contentValues[index];
    // One stream, a list of them, or an object that is such a list.
    const names = (isReference(value) && dictionaries.has(value) ? [value] : listOf(known(value))).filter(isReference);
    const forms = formsIn(resourcesOf(page));
    for (const name of names) add(name, forms);
    pageContents.push(names);
  }
  return { contents, pageContents };
}

/** Resources, and the objects in them that may be forms. */
const withXObjects = (value: Value | undefined): Value[] => {
  if (isReference(value)) return [value];
  const named = isDictionary(value) ? value['/XObject'] : undefined;
  return isReference(named) ? [named] : [];
};

const WANTED = /"stream": \{|"\/UserUnit"|"\/Contents"|"\/Resources"/;

/** Yields the reference (`12 0 R`) and the JSON of each stream, and of each other object that may be a page or above one. */
async function* objectsIn(
  answer: string,
  onPage: (name: string) => void,
  wanted: (name: string, text: string) => boolean = (_, text) => WANTED.test(text),
): AsyncGenerator<readonly [name: string, text: string]> {
  let section = '';
  let name = '';
  let text: string[] = [];
  let length = 0;
  for await (const line of createInterface({ input: createReadStream(answer), crlfDelay: Number.POSITIVE_INFINITY })) {
    section = /^ {2}"(\w+)": /.exec(line)?.[1] ?? section;
    // Only the page's own `object` key; its pictures have such keys too, indented deeper.
    if (section === 'pages' && line.startsWith('      "object": "')) onPage(line.slice(17, line.lastIndexOf('"')));
    if (section !== 'qpdf') continue;
    const begins = /^ {6}"obj:(\d+ \d+ R)": \{$/.exec(line)?.[1];
    if (begins !== undefined) {
      [name, text, length] = [begins, ['{'], 0];
    } else if (name !== '' && /^ {6}\},?$/.test(line)) {
      const whole = `${text.join('\n')}}`;
      if (length <= MOST_TEXT && wanted(name, whole)) yield [name, whole];
      name = '';
    } else if (name !== '') {
      length += line.length;
      if (length <= MOST_TEXT) text.push(line);
    }
  }
}

type Resolver = (value: Value | undefined) => Value | undefined;

/** Resolves references, with one pass over qpdf's answer for each level of nesting. */
async function resolve(
  answer: string,
  values: readonly (Value | undefined)[],
  nextIn: (value: Value | undefined) => readonly Value[] = () => [],
): Promise<Resolver> {
  const found = new Map<string, Value>();
  let missing = new Set(values.flatMap(referencesIn));
  for (let pass = 0; pass < MOST_PASSES && missing.size > 0; pass++) {
    const names = missing;
    missing = new Set();
    for await (const [name, text] of objectsIn(
      answer,
      () => {},
      (each) => names.has(each),
    )) {
      const { value = null } = JSON.parse(text) as { readonly value?: Value };
      found.set(name, value);
      for (const next of [...referencesIn(value), ...nextIn(value).flatMap(referencesIn)]) if (!found.has(next)) missing.add(next);
    }
  }
  return (value) => (isReference(value) ? found.get(value) : value);
}

const PICTURE_KEYS = ['/Subtype', '/Width', '/Height', '/Filter', '/DecodeParms'] as const;

/** The values that the size depends on: streams refer to much more. */
const worthKnowing = (dictionary: Dictionary): (Value | undefined)[] => PICTURE_KEYS.map((key) => dictionary[key]);

/** References one level deep: filters and their parameters may be lists, and a parameter may be a separate object. */
function referencesIn(value: Value | undefined): string[] {
  if (isReference(value)) return [value];
  if (Array.isArray(value)) return value.flatMap((each) => (isReference(each) ? [each] : isDictionary(each) ? sizesIn(each) : []));
  return isDictionary(value) ? sizesIn(value) : [];
}

const sizesIn = ({ '/Columns': columns, '/Rows': rows }: Dictionary): string[] => [columns, rows].filter(isReference);

function streamOf(object: number, dictionary: Dictionary, known: Resolver): Stream {
  const filters = listOf(known(dictionary['/Filter'])).map((each) => String(known(each)).slice(1));
  const fax = listOf(known(dictionary['/DecodeParms']))
    .map((each) => known(each))
    .filter(isDictionary);
  const declared = (key: '/Width' | '/Height', parameter: '/Columns' | '/Rows') =>
    Math.max(
      numberOf(known(dictionary[key]), 0),
      ...(filters.includes('CCITTFaxDecode') ? fax : []).map((each) => numberOf(known(each[parameter]), 0)),
    );
  return {
    object,
    filters,
    picture: known(dictionary['/Subtype']) === '/Image',
    width: declared('/Width', '/Columns'),
    height: declared('/Height', '/Rows'),
  };
}

const isReference = (value: Value | undefined): value is string => typeof value === 'string' && /^\d+ \d+ R$/.test(value);
const isDictionary = (value: Value | undefined): value is Dictionary =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: Value | undefined): readonly Value[] =>
  Array.isArray(value) ? (value as readonly Value[]) : value === undefined || value === null ? [] : [value];
const numberOf = (value: Value | undefined, otherwise: number): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : otherwise;
