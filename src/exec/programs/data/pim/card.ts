/** An address card (vCard 2.1, 3.0: RFC 2426, 4.0: RFC 6350) as a record. */
import type { Component, Property } from './lines.ts';
import { firstText, named, type PimRecord, type Typed, valueParts, valueText } from './record.ts';

/** Types that say nothing of what a number or an address is for. */
const IDLE: ReadonlySet<string> = new Set(['pref', 'internet', 'voice', 'x-internet']);
/** Parts of a structured address, in the order in which people write one (RFC 6350, 6.3.1). */
const [BOX, ROOM, STREET, CITY, REGION, CODE, COUNTRY] = [0, 1, 2, 3, 4, 5, 6] as const;

export function cardRecord(card: Component): PimRecord {
  const all = (name: string) => named(card, name);
  const [family = '', given = '', middle = '', prefixes = '', suffixes = ''] = all('n').slice(0, 1).flatMap(valueParts);
  const organizations = all('org').map(valueParts);
  const organization = organizations
    .map(([first]) => first)
    .filter(Boolean)
    .join('; ');
  const departments = organizations.flatMap(([, ...units]) => units);
  const [emails, phones] = [all('email').map(typed), all('tel').map(typed)];
  const full = [prefixes, given, middle, family, suffixes].filter(Boolean).join(' ');
  const title =
    [firstText(card, 'fn'), full, organization, firstText(card, 'nickname'), emails[0]?.value, phones[0]?.value].find(Boolean) ?? '';
  const picture = all('photo').map(pictureIn).find(Boolean);
  return {
    title,
    fields: {
      name: title,
      family_name: family,
      given_name: given,
      middle_names: middle,
      prefixes,
      suffixes,
      nickname: firstText(card, 'nickname'),
      organization,
      department: departments.filter(Boolean).join(', '),
      job_title: firstText(card, 'title'),
      role: firstText(card, 'role'),
      emails,
      phones,
      addresses: all('adr').map((each) => ({ type: typeOf(each), value: addressOf(valueParts(each)) })),
      urls: all('url').map(valueText),
      birthday: firstText(card, 'bday'),
      anniversary: firstText(card, 'anniversary') || firstText(card, 'x-anniversary'),
      categories: all('categories').map(valueText).join(', '),
      note: all('note').map(valueText).join('\n'),
      uid: firstText(card, 'uid'),
    },
    ...(picture === undefined ? {} : { picture }),
  };
}

const typed = (property: Property): Typed => ({ type: typeOf(property), value: valueText(property).replace(/^(?:tel|mailto):/i, '') });

function typeOf({ parameters }: Property): string {
  const types = [parameters['type'] ?? []].flat().flatMap((each) => each.toLowerCase().split(','));
  return [...new Set(types)].filter((each) => !IDLE.has(each)).join(', ');
}

function addressOf(parts: readonly string[]): string {
  const place = [parts[CODE], parts[CITY]].filter(Boolean).join(' ');
  return [parts[BOX], parts[ROOM], parts[STREET], place, parts[REGION], parts[COUNTRY]].filter(Boolean).join(', ');
}

/** What is on the web is not loaded. */
function pictureIn(photo: Property): string | undefined {
  const { parameters } = photo;
  const [value] = photo.values;
  if (typeof value !== 'string') return undefined;
  const data = /^data:image\/(png|jpeg|gif|webp);base64,/i.exec(value.slice(0, 40));
  const [named = ''] = [parameters['type'] ?? parameters['mediatype'] ?? []].flat();
  const [, kind] = data ?? /^(?:image\/)?(png|jpe?g|gif|webp)$/i.exec(named) ?? [];
  if (kind === undefined || (data === null && photo.type !== 'binary' && parameters['encoding'] === undefined)) return undefined;
  const bytes = Buffer.from(data === null ? value : value.slice(data[0].length), 'base64');
  return bytes.length === 0 ? undefined : `data:image/${kind.toLowerCase().replace('jpg', 'jpeg')};base64,${bytes.toString('base64')}`;
}
