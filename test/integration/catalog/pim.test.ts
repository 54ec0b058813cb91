/** Address cards and calendars as programs write them, in all versions, and as strangers send them. */
import { beforeAll, describe, expect, it } from 'vitest';
import { PNG } from '../../../src/catalog/known-good.ts';
import { convertText, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

let service: Pick<Service, 'url'>;
beforeAll(async () => {
  service = await sharedService();
});

const send = (name: string, content: string | Buffer, target: string) => convertText(service, name, content, target);

type Row = Readonly<Record<string, unknown>>;
/** The fields that are not empty, of each row. */
async function rowsOf(name: string, content: string | Buffer): Promise<readonly Row[]> {
  const { text } = await send(name, content, 'json');
  const isEmpty = (value: unknown) => value === '' || value === false || (Array.isArray(value) && value.length === 0);
  return (JSON.parse(text) as Row[]).map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => !isEmpty(value))));
}

const card = (...lines: readonly string[]): string => ['BEGIN:VCARD', ...lines, 'END:VCARD', ''].join('\r\n');
const calendar = (...entries: readonly string[]): string =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', ...entries, 'END:VCALENDAR', ''].join('\r\n');
const event = (...lines: readonly string[]): string => ['BEGIN:VEVENT', ...lines, 'END:VEVENT'].join('\r\n');

describe('an address card', () => {
  it('of version 2.1 is read with its quoted lines and its encoding', async () => {
    const old = card(
      'VERSION:2.1',
      'N;CHARSET=windows-1252;ENCODING=QUOTED-PRINTABLE:M=FCller;J=F6rg=',
      'en;;;',
      'TEL;CELL;PREF:+49 1',
      'ADR;WORK;ENCODING=QUOTED-PRINTABLE:;;Street 1=0D=0AFloor 2;Berlin;;10115;Germany',
      'ORG:A, Ltd;Sales',
    );
    expect(await rowsOf('a.vcf', old)).toEqual([
      {
        name: 'Jörgen Müller',
        family_name: 'Müller',
        given_name: 'Jörgen',
        organization: 'A, Ltd',
        department: 'Sales',
        phones: [{ type: 'cell', value: '+49 1' }],
        addresses: [{ type: 'work', value: 'Street 1\nFloor 2, 10115 Berlin, Germany' }],
      },
    ]);
  });

  it.each(['2.1', '3.0', '4.0'])('of version %s has no backslashes before what needs none', async (version) => {
    const file = card(
      `VERSION:${version}`,
      'N:O\\;Neil;Ann;;;',
      'FN:Ann\\; at home\\: "here"',
      'item1.URL:http\\://example.org/a?b=1\\,2;c',
      'ORG:Marble\\; Kestrel;Sales',
      'NOTE:a\\; b\\, c \\\\; d',
      ...(version === '2.1' ? ['NOTE;ENCODING=QUOTED-PRINTABLE:e\\; f\\, g, =C3=BC'] : []),
    );
    expect(await rowsOf('a.vcf', file)).toEqual([
      {
        name: 'Ann; at home: "here"',
        family_name: 'O;Neil',
        given_name: 'Ann',
        organization: 'Marble; Kestrel',
        department: 'Sales',
        urls: ['http://example.org/a?b=1,2;c'],
        note: `a; b, c \\; d${version === '2.1' ? '\ne; f, g, ü' : ''}`,
      },
    ]);
  });

  it('of versions 3.0 and 4.0 are rows of one table', async () => {
    const file =
      card(
        'VERSION:3.0',
        'FN:Ann\\, of "the" office',
        'EMAIL;TYPE=INTERNET,WORK:a@example.org',
        'BDAY:19700131',
        'NOTE:one\\ntwo',
        '  lines',
      ) + card('VERSION:4.0', 'FN:Bert', 'item1.TEL;VALUE=uri;TYPE="home,voice":tel:+1-5', 'BDAY:--0131', 'CATEGORIES:x,y');
    const { text, answer } = await send('a.txt', file, 'csv');
    expect(text).toBe(
      'name,family_name,given_name,middle_names,prefixes,suffixes,nickname,organization,department,job_title,role,emails,phones,addresses,urls,birthday,anniversary,categories,note,uid\n' +
        '"Ann, of ""the"" office",,,,,,,,,,,work: a@example.org,,,,1970-01-31,,,"one\ntwo lines",\n' +
        'Bert,,,,,,,,,,,,home: +1-5,,,--01-31,,"x, y",,\n',
    );
    expect(answer.data?.warnings.map(({ code }) => code)).toContain('content_differs');
  });

  it('may be folded inside a letter, and say its name twice', async () => {
    const letters = Buffer.from(card('VERSION:4.0', 'FN:Zoë', 'N:A;B;;;', 'N;ALTID=1:C;D;;;', 'ORG:One;x', 'ORG:Two'));
    const at = letters.indexOf('ë') + 1;
    const folded = Buffer.concat([letters.subarray(0, at), Buffer.from('\r\n '), letters.subarray(at)]);
    expect(await rowsOf('a.vcf', folded)).toEqual([
      { name: 'Zoë', family_name: 'A', given_name: 'B', organization: 'One; Two', department: 'x' },
    ]);
  });

  it('shows its photo in a page, and loads none', async () => {
    const file =
      card('VERSION:3.0', 'FN:One', `PHOTO;ENCODING=b;TYPE=PNG:${PNG.content}`) +
      card('VERSION:4.0', 'FN:<i>Two</i>', `PHOTO:data:image/png;base64,${PNG.content}`) +
      card('VERSION:4.0', 'FN:Three', 'PHOTO:https://evil.test/a.png', 'PHOTO:data:text/html;base64,PHNjcmlwdD4=');
    const { text } = await send('a.vcf', file, 'html');
    expect(text.match(new RegExp(`<img src="data:image/png;base64,${PNG.content.replace(/[+/=]/g, '\\$&')}" alt="">`, 'g'))).toHaveLength(
      2,
    );
    expect(text).toContain('<h2>&lt;i&gt;Two&lt;/i&gt;</h2>');
    expect(text).not.toMatch(/evil\.test|text\/html;/);
    expect((await send('a.vcf', file, 'txt')).warnings).toContain('Photos are not included in the result: 2.');
  });

  it('says how many of its lines cannot be read', async () => {
    const { text, warnings } = await send('a.vcf', card('VERSION:3.0', 'FN:Ann', 'garbage', 'TEL;=:1'), 'txt');
    expect(text).toBe('Ann\n');
    expect(warnings).toContain('Lines that cannot be read were left out: 2.');
  });
});

describe('a calendar', () => {
  it('has times in ISO 8601, with their zones; an event of whole days ends on its last day', async () => {
    const file = calendar(
      'X-WR-CALNAME:Team',
      event('SUMMARY:Fair', 'DTSTART;VALUE=DATE:20260228', 'DTEND;VALUE=DATE:20260302', 'RRULE:FREQ=YEARLY;COUNT=3'),
      event('SUMMARY:Call', 'DTSTART:20260302T233000Z', 'DURATION:PT90M', 'ATTENDEE;CN="Do, J":mailto:j@example.org'),
      event(
        'SUMMARY:Lunch\\, late',
        'DTSTART;TZID=Europe/Athens:20260302T130000',
        'DTEND;TZID=Europe/Athens:20260302T140000',
        'EXDATE:20260303T130000',
      ),
      'BEGIN:VTODO\r\nSUMMARY:Pay\r\nDUE:20260401\r\nEND:VTODO',
    );
    expect(await rowsOf('a.ics', file)).toEqual([
      { kind: 'event', summary: 'Fair', start: '2026-02-28', end: '2026-03-01', all_day: true, recurrence: 'FREQ=YEARLY;COUNT=3' },
      {
        kind: 'event',
        summary: 'Call',
        start: '2026-03-02T23:30:00Z',
        end: '2026-03-03T01:00:00Z',
        time_zone: 'UTC',
        attendees: ['Do, J <j@example.org>'],
      },
      {
        kind: 'event',
        summary: 'Lunch, late',
        start: '2026-03-02T13:00:00',
        end: '2026-03-02T14:00:00',
        time_zone: 'Europe/Athens',
        exceptions: ['2026-03-03T13:00:00'],
      },
      { kind: 'task', summary: 'Pay', end: '2026-04-01' },
    ]);
    expect((await send('a.ics', file, 'html')).text).toContain('<title>Team</title>');
  });

  it('has the zone of an end where it is another, additional dates, and as written what is no time', async () => {
    const flight = ['DTSTART;TZID=Europe/Berlin:20260302T100000', 'DTEND;TZID=America/New_York:20260302T130000', 'RDATE:20260309T100000'];
    expect(await rowsOf('a.ics', calendar(event(...flight), event('DTSTART:20209999T999999Z')))).toEqual([
      {
        kind: 'event',
        start: '2026-03-02T10:00:00',
        end: '2026-03-02T13:00:00',
        time_zone: 'Europe/Berlin',
        end_time_zone: 'America/New_York',
        additional_dates: ['2026-03-09T10:00:00'],
      },
      { kind: 'event', start: '20209999T999999Z', time_zone: 'UTC' },
    ]);
  });

  it('does not lose what follows an entry without an end', async () => {
    const file = calendar('BEGIN:VEVENT\r\nSUMMARY:one\r\nBEGIN:VALARM', event('SUMMARY:two'), 'END:VTODO', event('SUMMARY:three'));
    expect((await rowsOf('a.ics', file)).map(({ summary }) => summary)).toEqual(['one', 'two', 'three']);
    expect((await send('a.ics', file, 'json')).warnings).toEqual(
      expect.arrayContaining(['Lines that cannot be read were left out: 1.', 'Parts of the file that have no end may lack something: 2.']),
    );
    const cut = calendar(event('SUMMARY:http\\://a\\;b')).replace(/END:[\s\S]*/, '');
    expect((await rowsOf('a.ics', cut)).map(({ summary }) => summary)).toEqual(['http://a;b']);
    expect((await send('a.ics', cut, 'csv')).warnings).toContain('Parts of the file that have no end may lack something: 2.');
    expect((await send('a.ics', calendar(event('SUMMARY:one')), 'csv')).warnings.join()).not.toContain('no end');
    const cards = 'BEGIN:VCARD\nFN:one\nBEGIN:VCARD\nFN:two\nEND:VCARD\n';
    expect((await rowsOf('a.vcf', cards)).map(({ name }) => name)).toEqual(['one', 'two']);
  });

  it('may lack everything, or say what is no time', async () => {
    expect(await rowsOf('a.ics', calendar())).toEqual([]);
    const odd = calendar(event('DTSTART:soon', 'DURATION:P99999999999D'), event('DTSTART:20260302T100000', 'DURATION:P99999999999D'));
    expect(await rowsOf('a.ics', odd)).toEqual([
      { kind: 'event', start: 'soon' },
      { kind: 'event', start: '2026-03-02T10:00:00' },
    ]);
  });
});

describe('a file that is made to do harm', () => {
  it.each([
    ['cards', 'a.vcf', card('VERSION:3.0', 'FN:x').repeat(100_001)],
    ['components in each other', 'a.ics', calendar('BEGIN:VALARM\r\n'.repeat(1000))],
    ['lines', 'a.vcf', `BEGIN:VCARD\n${'A:\n'.repeat(2_000_001)}`],
    ['bytes', 'a.vcf', card('VERSION:3.0', `NOTE:${'x'.repeat(33 << 20)}`)],
  ])('is refused for too many %s', async (_, name, content) => {
    expect((await send(name, content, 'csv')).answer.error?.details).toMatchObject({ reason: 'input_limit' });
  });

  it('is read in time where it has very many lines, or very long ones', async () => {
    const quoted = card('VERSION:2.1', `NOTE;ENCODING=QUOTED-PRINTABLE:${'=41=\r\n'.repeat(500_000)}end`);
    expect((await send('a.vcf', quoted, 'txt')).text.length).toBeGreaterThan(500_000);
    const many = card('VERSION:3.0', 'FN:x', 'TEL:1\r\n'.repeat(200_000));
    expect((await send('a.vcf', many, 'json')).answer.error).toBeUndefined();
    const folded = card('VERSION:3.0', `FN:x${'\r\n y'.repeat(1_000_000)}`, `X;${'A;'.repeat(100_000)}:1`);
    expect((await send('a.vcf', folded, 'csv')).answer.error).toBeUndefined();
  });

  it('without a card or a calendar is damaged', async () => {
    expect((await send('a.vcf', 'BEGIN:VCARDS\nFN:x\n', 'csv')).answer.error).toBeDefined();
    const { answer } = await send('a.ics', 'BEGIN:VCALENDAR:\n', 'csv');
    expect(answer.error?.details).toMatchObject({ reason: 'corrupt_input' });
  });
});
