/** Components of address cards and calendars, from their content lines (RFC 5545, 3.1; RFC 6350, 3.2; vCard 2.1). */
import ICAL from 'ical.js';
import { encodingOf } from '../../text/charset.ts';
import { beyond } from '../values/value.ts';

/** Components in components: an event in a calendar has an alarm. */
const MOST_LEVELS = 10;
/** Unfolded: each takes half a kilobyte of memory. */
const MOST_LINES = 2_000_000;
/** Components that are never inside one another. */
const ENTRIES: ReadonlySet<string> = new Set(['VCARD', 'VEVENT', 'VTODO', 'VJOURNAL']);

export interface Property {
  readonly name: string;
  readonly parameters: Readonly<Record<string, string | readonly string[]>>;
  /** As ical.js names it: `text`, `date`, `uri` and so on. */
  readonly type: string;
  /** The first value of a structured property, such as an address, is a list. */
  readonly values: readonly unknown[];
  /** As it is written. */
  readonly written: string;
}

export interface Component {
  readonly name: string;
  readonly properties: Property[];
  readonly inside: Component[];
}

export interface Components {
  readonly components: readonly Component[];
  /** How many lines say nothing that can be read. */
  readonly skipped: number;
  /** How many components have no end. */
  readonly unended: number;
}

export function componentsIn(text: string): Components {
  const top: Component = { name: '', properties: [], inside: [] };
  const open = [top];
  let [lines, skipped, unended] = [0, 0, 0];
  for (const line of unfolded(text)) {
    if (++lines > MOST_LINES) throw beyond('lines of cards or entries', MOST_LINES);
    const [, verb, written = ''] = /^(BEGIN|END):([\w-]{1,40})\s{0,20}$/i.exec(line) ?? [];
    const name = written.toUpperCase();
    if (verb?.toUpperCase() === 'BEGIN') {
      unended += closeUnended(open, name);
      const at = open.at(-1) ?? top;
      if (open.length > MOST_LEVELS) throw beyond('components in each other', MOST_LEVELS);
      const begun: Component = { name, properties: [], inside: [] };
      at.inside.push(begun);
      open.push(begun);
    } else if (verb !== undefined) {
      const begun = open.findLastIndex((each) => each.name === name);
      if (begun > 0) unended += open.splice(begun).length - 1;
      else skipped++;
    } else {
      const at = open.at(-1) ?? top;
      const property = propertyIn(line, at);
      if (property === undefined) skipped++;
      else at.properties.push(property);
    }
  }
  return { components: top.inside, skipped, unended: unended + open.length - 1 };
}

/**
 * Before a component of this name begins, closes open ones that cannot contain it: their `END` is missing. In vCard 2.1, an agent's card is inside
 * another card (2.4.1). @returns how many were closed
 */
function closeUnended(open: Component[], name: string): number {
  const isAgent = open.at(-1)?.properties.at(-1)?.name === 'agent';
  const outer = name === 'VCALENDAR' ? 1 : ENTRIES.has(name) && !isAgent ? open.findIndex((each) => ENTRIES.has(each.name)) : -1;
  return outer > 0 ? open.splice(outer).length : 0;
}

/** Lines that begin with a blank belong to the one before; so does what follows `=` in quoted-printable, as vCard 2.1 has it (2.1.3). */
function* unfolded(text: string): Generator<string> {
  let pieces: string[] = [];
  let isQuoted = false;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const last = pieces.at(-1);
    const isSoft = isQuoted && last?.endsWith('=') === true;
    if (last !== undefined && isSoft) pieces.push(line);
    else if (last !== undefined && /^[ \t]/.test(line)) pieces.push(line.slice(1));
    else {
      if (pieces.length > 0) yield joined(pieces, isQuoted);
      isQuoted = /QUOTED-PRINTABLE/i.test(line.slice(0, Math.min(line.indexOf(':'), 300)));
      pieces = line === '' ? [] : [line];
    }
  }
  if (pieces.length > 0) yield joined(pieces, isQuoted);
}

const joined = (pieces: readonly string[], isQuoted: boolean): string =>
  pieces.map((piece, i) => (isQuoted && i < pieces.length - 1 && piece.endsWith('=') ? piece.slice(0, -1) : piece)).join('');

/** @returns undefined for a line that is no property */
function propertyIn(line: string, { name: component, properties }: Component): Property | undefined {
  const colon = endOfHead(line);
  if (colon < 0) return undefined;
  const { head, value: escaped } = modern(line.slice(0, colon), line.slice(colon + 1));
  const value = withoutNeedlessEscapes(escaped, nameIn(head), component === 'VCARD');
  // The version comes first (RFC 6350, 6.7.9).
  const is4 = properties.slice(0, 2).some(({ name, written }) => name === 'version' && written.startsWith('4'));
  const design = component !== 'VCARD' ? ICAL.design.icalendar : is4 ? ICAL.design.vcard : ICAL.design.vcard3;
  try {
    const [name, parameters, type, ...values] = ICAL.parse.property(`${head}:${value}`, design) as [string, Property['parameters'], string];
    return { name, parameters, type, values, written: value };
  } catch {
    return undefined;
  }
}

/** Without a group before it, which vCards may have (RFC 6350, 3.3). */
function nameIn(head: string): string {
  const [name = ''] = head.split(';', 1);
  return name.slice(name.lastIndexOf('.') + 1).toLowerCase();
}

/** The colon before the value: there may be others in quoted parameters. */
function endOfHead(line: string): number {
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at);
    if (character === '"') isQuoted = !isQuoted;
    else if (character === ':' && !isQuoted) return at;
  }
  return -1;
}

/** Values of several parts (RFC 6350, 4). */
const STRUCTURED: ReadonlySet<string> = new Set(['n', 'adr', 'org', 'gender', 'clientpidmap']);

/** Removes backslashes that the library would keep: before a colon, which never needs one, and before separators in a value that has no parts. */
function withoutNeedlessEscapes(value: string, name: string, isCard: boolean): string {
  const isNeeded = (mark: string): boolean => {
    if (mark === ';') return !isCard || STRUCTURED.has(name);
    return mark === '\\' || (mark === ',' && name !== 'url');
  };
  return value.replace(/\\([\\:;,])/g, (written, mark: string) => (isNeeded(mark) ? written : mark));
}

/** Rewrites `TEL;HOME;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:` of vCard 2.1 in the form of later versions. */
function modern(head: string, value: string): { readonly head: string; readonly value: string } {
  if (head.includes('"') || !head.includes(';')) return { head, value };
  const [name = '', ...sent] = head.split(';');
  const parameters = sent.map((each) => (each.includes('=') ? each : `${ENCODINGS.has(each.toUpperCase()) ? 'ENCODING' : 'TYPE'}=${each}`));
  const parameterOf = (key: string) => parameters.find((each) => each.toUpperCase().startsWith(`${key}=`))?.slice(key.length + 1);
  const kept = parameters.filter((each) => !/^(?:ENCODING|CHARSET)=/i.test(each));
  if (parameterOf('ENCODING')?.toUpperCase() !== 'QUOTED-PRINTABLE') return { head: [name, ...parameters].join(';'), value };
  const text = new TextDecoder(encodingOf(parameterOf('CHARSET') ?? '') ?? 'utf-8').decode(unquoted(value));
  return { head: [name, ...kept].join(';'), value: text.replace(/\r\n|\r|\n/g, '\\n').replace(/\\?,/g, '\\,') };
}
const ENCODINGS: ReadonlySet<string> = new Set(['QUOTED-PRINTABLE', 'BASE64', 'B', '7BIT', '8BIT']);

/** Quoted-printable without line ends (RFC 2045, 6.7). */
const unquoted = (text: string): Buffer =>
  Buffer.from(
    Buffer.from(text)
      .toString('latin1')
      .replace(/=([0-9A-F]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
