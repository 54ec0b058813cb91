/** Entries of a calendar (iCalendar, RFC 5545) as records: events, tasks and journal entries. */
import ICAL from 'ical.js';
import type { Component, Property } from './lines.ts';
import { firstText, named, type PimRecord, valueText } from './record.ts';

const KINDS: Readonly<Record<string, string>> = { VEVENT: 'event', VTODO: 'task', VJOURNAL: 'journal' };
/** Ten years. */
const LONGEST_SECONDS = 10 * 366 * 86_400;
const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)Z?$/;

export const entriesIn = (calendar: Component): readonly Component[] => calendar.inside.filter(({ name }) => KINDS[name] !== undefined);

/** Times are ISO 8601, as they are at the place of `time_zone`; the end of an event that takes whole days is its last day. */
export function entryRecord(entry: Component): PimRecord {
  const [start] = named(entry, 'dtstart');
  const begins = start === undefined ? '' : momentOf(start);
  const isAllDay = DATE.test(begins);
  const zone = start === undefined ? '' : zoneOf(start, begins);
  const [end] = ended(entry);
  const endZone = end === undefined ? '' : zoneOf(end, momentOf(end));
  const title = firstText(entry, 'summary');
  return {
    title,
    fields: {
      kind: KINDS[entry.name] ?? '',
      summary: title,
      start: begins,
      end: endOf(entry, begins),
      all_day: isAllDay,
      time_zone: zone,
      // A flight lands in another one.
      end_time_zone: endZone === zone ? '' : endZone,
      location: firstText(entry, 'location'),
      description: firstText(entry, 'description'),
      organizer: named(entry, 'organizer').map(personOf).join(', '),
      attendees: named(entry, 'attendee').map(personOf),
      recurrence: named(entry, 'rrule')
        .map(({ written }) => written)
        .join('; '),
      additional_dates: named(entry, 'rdate').flatMap(({ values }) => values.map(String)),
      exceptions: named(entry, 'exdate').flatMap(({ values }) => values.map(String)),
      occurrence: named(entry, 'recurrence-id').map(momentOf).join(', '),
      status: firstText(entry, 'status').toLowerCase(),
      categories: named(entry, 'categories').map(valueText).join(', '),
      url: firstText(entry, 'url'),
      uid: firstText(entry, 'uid'),
    },
  };
}

/** What is no date stays as it is written. */
function momentOf(property: Property): string {
  const moment = String(property.values[0] ?? '').replace(/T::$/, '');
  return DATE.test(moment) || TIME.test(moment) ? moment : property.written;
}

function zoneOf({ parameters }: Property, moment: string): string {
  return moment.endsWith('Z') ? 'UTC' : String(parameters['tzid'] ?? '');
}

const ended = (entry: Component): readonly Property[] => [...named(entry, 'dtend'), ...named(entry, 'due')];

function endOf(entry: Component, begins: string): string {
  const [end] = ended(entry);
  if (end !== undefined) {
    const ends = momentOf(end);
    return DATE.test(ends) && ends > begins && entry.name === 'VEVENT' ? moved(ends, '-P1D') : ends;
  }
  const duration = firstText(entry, 'duration');
  if (duration === '' || (!DATE.test(begins) && !TIME.test(begins))) return DATE.test(begins) && entry.name === 'VEVENT' ? begins : '';
  const after = moved(begins, duration);
  return DATE.test(after) && after > begins ? moved(after, '-P1D') : after;
}

/** @param by a duration (RFC 5545, 3.3.6) @returns nothing where it is none, or where it is too long to be meant */
function moved(moment: string, by: string): string {
  try {
    const [time, duration] = [ICAL.Time.fromString(moment, null), ICAL.Duration.fromString(by)];
    // The library counts month by month.
    if (Math.abs(duration.toSeconds()) > LONGEST_SECONDS) return '';
    time.addDuration(duration);
    const after = time.toString();
    return moment.endsWith('Z') && !after.endsWith('Z') ? `${after}Z` : after;
  } catch {
    return '';
  }
}

function personOf(property: Property): string {
  const address = valueText(property).replace(/^mailto:/i, '');
  const name = String(property.parameters['cn'] ?? '');
  return name === '' || name === address ? address : `${name} <${address}>`;
}
