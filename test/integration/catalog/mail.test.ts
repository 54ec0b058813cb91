/** E-mail as people have it: pictures in the text, attached files, other encodings, mailboxes, and what strangers send. */
import { beforeAll, describe, expect, it } from 'vitest';
import { PNG } from '../../../src/catalog/known-good.ts';
import { contentOf } from '../../kit/catalog/content.ts';
import { message, outlook } from '../../kit/fixtures/documents/mail.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { convert, convertText, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

let service: Pick<Service, 'url'>;
beforeAll(async () => {
  service = await sharedService();
});

const send = (name: string, content: string | Buffer, target: string) => convertText(service, name, content, target);

/** RFC 1489, by the decoder of the runtime. */
function koi8(text: string): Buffer {
  const decoder = new TextDecoder('koi8-r');
  const codes = new Map(Array.from({ length: 256 }, (_, code) => [decoder.decode(Uint8Array.of(code)), code]));
  return Buffer.from(Array.from(text, (letter) => codes.get(letter) ?? 0x3f));
}

const HEAD = 'From: a@example.org\nTo: b@example.org\nSubject: s\nMIME-Version: 1.0\n';
const part = (head: string, body: string): string => `--mixed\n${head}\n\n${body}\n`;
const picture = part('Content-Type: image/png\nContent-Transfer-Encoding: base64\nContent-ID: <pic@example.org>', PNG.content);
/** @param parts of a message with attached files */
const mixed = (...parts: readonly string[]): string =>
  `${HEAD}Content-Type: multipart/mixed; boundary=mixed\n\n${parts.join('')}--mixed--\n`;
const page = (html: string): string => part('Content-Type: text/html; charset=utf-8', html);

describe('an e-mail', () => {
  it('becomes a page with the pictures that its text shows; what is only attached is named', async () => {
    const report = 'Content-Type: application/pdf\nContent-Disposition: attachment; filename="=?utf-8?Q?M=C3=A4rz?= <1>.pdf"';
    const { text, warnings } = await send(
      'a.eml',
      mixed(page('<p>See <img src="cid:pic%40example.org"> here</p>'), picture, part(report, 'x'.repeat(2048))),
      'html',
    );
    expect(text).toContain(`See <img src="data:image/png;base64,${PNG.content}"> here`);
    expect(text).toContain('<tr><th>Attachments</th><td>März &lt;1&gt;.pdf (2 KB)</td></tr>');
    expect(warnings).toContain('Attached files are listed, but not included in the result: 1.');
  });

  it.each([
    ['windows-1252', 'Schöne Grüße an alle Müller und für die nächste Übung.', (text: string) => Buffer.from(text, 'latin1')],
    ['KOI8-R', 'Добрый день, посылаем вам новые сведения о поставках.', koi8],
  ])('in %s without saying so is read by what fits, and it is said', async (charset, words, encode) => {
    const head = 'From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=mixed\n';
    const unnamed = part('Content-Type: text/plain\nContent-Transfer-Encoding: 8bit', `${words}\n`);
    const named = Buffer.from(part('Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit', 'naïve – ω'));
    const mail = Buffer.concat([encode(`Subject: ${words}\n${head}\n${unnamed}`), named, Buffer.from(`${picture}--mixed--\n`)]);
    const { text, warnings } = await send('a.eml', mail, 'txt');
    expect(text.split(words)).toHaveLength(3);
    expect(text).toContain('naïve – ω');
    expect(text).not.toContain('\ufffd');
    expect(warnings.join(' ').toLowerCase()).toContain(`it was read as ${charset.toLowerCase()}.`);
  });

  it('becomes a page that runs no script and fetches nothing', async () => {
    const hostile =
      '<body onload="alert(1)"><script>alert(2)</script><base href="https://evil.test/"><link rel=stylesheet href=https://evil.test/a.css><a href=" java\tscript:alert(3)" onclick=x>a</a><a href="https://example.org/">b</a><svg onload=alert(4)></svg><iframe src=file:///etc/passwd></iframe><meta http-equiv=refresh content="0;url=https://evil.test">safe</body>';
    const { text } = await send('a.eml', mixed(page(hostile)), 'html');
    expect(text).toContain('safe');
    expect(text).toContain('<a href="https://example.org/">b</a>');
    expect(text).not.toMatch(/alert|evil\.test|iframe|onload|onclick|script:/);
    expect(text).toContain(`content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"`);
  });

  it.each([
    [
      'is another when it is read again',
      '<form><math><mtext></form><form><mglyph><style></math><meta http-equiv=refresh content="0;url=https://evil.test/"><img src=x onerror=alert(1)></style></mglyph></form>',
    ],
    [
      'hides an end in an attribute',
      '<form><math><mtext></form><form><mglyph><textarea><a title="</textarea><img src=x onerror=alert(1)>"></a></textarea></mglyph></form>',
    ],
    ['is written as it stands', '<xmp><b></xmp><noembed><script>alert(1)</script></noembed>'],
    ['has a link behind 200 spaces', `<a href="${' '.repeat(200)}javascript:alert(1)">a</a>`],
    ['has a link with 200 line ends', `<a href="java${'\n'.repeat(200)}script:alert(1)">a</a>`],
    [
      'changes a link later',
      '<svg><a><set attributeName=href to="javascript:alert(1)"/><animateMotion values="javascript:alert(1)"/><animate values="javascript:alert(1)"/></a></svg>',
    ],
    ['has a template in a drawing', '<svg><template shadowrootmode=open></template></svg>'],
  ])('becomes a page that runs nothing, also where it %s', async (_, hostile) => {
    const { text } = await send('a.eml', mixed(page(`<p>safe</p>${hostile}`)), 'html');
    expect(text).toContain('<p>safe</p>');
    expect(text).not.toMatch(/alert|<meta http-equiv=refresh|<xmp|<set|<animate/i);
  });

  it('becomes a page of listed elements and attributes: of others only the text inside is left', async () => {
    const drawing =
      '<svg viewBox="0 0 1 1" onend="x"><path d="M0 0" fill="red"></path><foreignObject><p>label</p></foreignObject><handler>never</handler></svg>';
    const { text } = await send(
      'a.eml',
      mixed(
        page(
          `<p align="left" fresh="1"><o:p onnew="x">office</o:p> <x-y data-a="1" aria-label="b" is="c">own</x-y></p><fencedframe src="https://evil.test/">later</fencedframe><img alt="c" longdesc="https://evil.test/" lowsrc="https://evil.test/">${drawing}<math><mi mathvariant="bold" actiontype="x">x</mi></math>`,
        ),
      ),
      'html',
    );
    expect(text).toContain(
      '<p align="left"><span>office</span> <x-y data-a="1" aria-label="b" is="c">own</x-y></p><span>later</span><img alt="c"><svg viewBox="0 0 1 1"><path d="M0 0" fill="red"></path><foreignObject><p>label</p></foreignObject></svg><math><mi mathvariant="bold">x</mi></math>',
    );
    expect(text).not.toMatch(/evil\.test|never/);
  });

  it('keeps what old programs write around their styles', async () => {
    const { text } = await send('a.eml', mixed(page('<style><!-- p { color: red } --></style><p>x')), 'html');
    expect(text).toMatch(/<style>\s+p \{ color: red \} --><\/style>/);
  });

  it.each([
    ['comments', 'x<!-->'.repeat(170_000)],
    ['programs', `${'<i></i>'.repeat(100_000)}${'<script></script>'.repeat(50_000)}`],
    ['styles', `<head>${'<style></style>'.repeat(100_000)}<body>`],
  ])('is read in time where it has very many %s', async (_, html) => {
    expect((await send('a.eml', mixed(page(`${html}last`)), 'txt')).text).toMatch(/last\n$/);
    expect((await send('a.eml', mixed(page(`${html}last`)), 'html')).text).toContain('last');
  });

  it('becomes a ZIP of the page and of all its files, by names that no folder and no system minds', async () => {
    const attached = (name: string, body: string) =>
      part(`Content-Type: text/plain\nContent-Disposition: attachment; filename="${name}"`, body);
    const files = [attached('../../a.txt', '1'), attached('A.TXT', '2'), attached('con.txt', '3'), attached('x:<y>?.txt', '4')];
    // Other devices, and two names that are one in capital letters.
    files.push(attached('CONIN$', '6'), attached('com¹ .log', '7'), attached('ï.txt', '8'), attached('ı\u0308.txt', '9'));
    const content = mixed(page('<p>See <img src="cid:pic@example.org"></p>'), picture, ...files, attached('message.html', '5'));
    const answer = await settled(service.url, await convert(service.url, { name: 'a.eml', bytes: Buffer.from(content) }, 'zip'));
    const entries = await unzip(Buffer.from(await (await fetch(answer.data?.output?.url ?? '')).arrayBuffer()));
    const names = ['_CONIN$', '_com¹ .log', 'ï.txt', 'ı\u0308-2.txt'];
    expect([...entries.keys()]).toEqual([
      ...['message.html', 'part-1.png', 'a.txt', 'A-2.TXT', '_con.txt', 'x__y__.txt'],
      ...names,
      'message-2.html',
    ]);
    expect(entries.get('message.html')?.toString()).toContain(`See <img src="data:image/png;base64,${PNG.content}">`);
    expect(entries.get('part-1.png')?.toString('base64')).toBe(PNG.content);
    expect(['a.txt', 'A-2.TXT', '_con.txt', 'x__y__.txt', 'message-2.html'].map((name) => entries.get(name)?.toString().trim())).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
    expect(answer.data?.warnings.map(({ message }) => message)).toContain(
      '3 files or folders had the name of another one: each has a number in the result.',
    );
    expect(answer.data?.warnings.map(({ message }) => message)).not.toContain(
      'Attached files are listed, but not included in the result: 5.',
    );
  });

  it('shows the messages that are attached to it, and what it invites to', async () => {
    const inner = mixed(part('Content-Type: text/plain', 'Inside.'), part('Content-Disposition: attachment; filename="b.bin"', 'x'));
    const invitation =
      'BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Fair\nDTSTART;TZID=Europe/Athens:20260302T100000\nDURATION:PT1H\nLOCATION:Hall\nEND:VEVENT\nEND:VCALENDAR';
    const content = mixed(
      part('Content-Type: text/plain', 'Outside.'),
      part('Content-Type: message/rfc822', inner.replace('Subject: s', 'Subject: inner').replaceAll('mixed', 'other')),
      part('Content-Type: text/calendar; charset=utf-8; method=REQUEST', invitation),
    );
    const { text, warnings } = await send('a.eml', content, 'txt');
    expect(text).toMatch(
      /^From: a@example\.org\nTo: b@example\.org\nSubject: s\nEvent: Fair, 2026-03-02T10:00:00 to 2026-03-02T11:00:00 \(Europe\/Athens\), Hall\nAttachments: part-2\.ics \(\d+ B\)\n\nOutside\.\n/,
    );
    expect(text).toMatch(/\n\fFrom: a@example\.org\nTo: b@example\.org\nSubject: inner\nAttachments: b\.bin \(\d+ B\)\n\nInside\.\n$/);
    expect(warnings).toContain('Attached files are listed, but not included in the result: 2.');
    const page = (await send('a.eml', content, 'html')).text;
    expect([page.match(/<table class="mail-head">/g)?.length, page.match(/<hr>/g)?.length]).toEqual([2, 1]);
  });

  it('that cannot be read do not cost the message', async () => {
    const nested = `${'BEGIN:VEVENT\r\n'.repeat(5000)}${'BEGIN:X\r\n'.repeat(5000)}`;
    const content = mixed(part('Content-Type: text/plain', 'Outside.'), part('Content-Type: text/calendar; charset=utf-8', nested));
    expect((await send('a.eml', content, 'txt')).text).toMatch(/\nAttachments: part-1\.ics \(\d+ KB\)\n\nOutside\.\n$/);
  });

  it('may have 10,000 files in a ZIP', async () => {
    const { answer } = await send('a.eml', mixed(part('Content-Type: application/octet-stream', 'x').repeat(20_000)), 'zip');
    expect(answer.error?.details).toMatchObject({ reason: 'input_limit', limit: 'files', max: 10_000 });
  });

  it('is read in the encoding that it names, and its names too', async () => {
    // "Привет" in KOI8-R.
    const koi = Buffer.concat([
      Buffer.from(
        'From: =?koi8-r?B?8NLJ18XU?= <a@example.org>\nTo: b@example.org\nMIME-Version: 1.0\nContent-Type: text/plain; charset=koi8-r\n\n',
      ),
      Buffer.from('f0d2c9d7c5d4', 'hex'),
    ]);
    const { text } = await send('koi.eml', koi, 'txt');
    expect(text).toBe('From: Привет <a@example.org>\nTo: b@example.org\n\nПривет\n');
  });

  it('becomes text where it is only HTML, as a reader sees it', async () => {
    const { text } = await send(
      'a.eml',
      mixed(page('<style>p{}</style><h1>Title</h1><p>One<br>two &amp; three</p><table><tr><td>a<td>b</table>')),
      'txt',
    );
    expect(text.split('\n\n').slice(1).join('\n\n')).toBe('Title\nOne\ntwo & three\n\na\tb\n');
  });

  it('is known by its content, whatever it is named, and is read to its end where it was cut off', async () => {
    const whole = message(contentOf('kestrel'));
    expect((await send('a.txt', whole, 'html')).text).toContain('<tr><th>Subject</th>');
    const cut = await send('a.eml', whole.slice(0, -200), 'html');
    expect(cut.answer.error).toBeUndefined();
    expect(cut.text).toContain('<h1>');
  });

  it('is refused where its parts or its elements are nested deeper than any real message', async () => {
    const nested = Array.from({ length: 60 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\n\n--b${i}`).join('\n');
    expect((await send('a.eml', `${HEAD}${nested}\n\nx`, 'html')).answer.error?.details).toMatchObject({ reason: 'input_limit' });
    const deep = await send('a.eml', mixed(page('<div>'.repeat(5000))), 'html');
    expect(deep.answer.error?.details).toMatchObject({ reason: 'input_limit', limit: 'elements in each other', max: 500 });
  });
});

describe('a message of Outlook whose text is only RTF', () => {
  /** Not compressed, as [MS-OXRTFCP] (2.1.3.1) allows. */
  const stored = (rtf: string): Buffer => {
    const header = Buffer.alloc(16);
    header.writeUInt32LE(rtf.length + 12, 0);
    header.writeUInt32LE(rtf.length, 4);
    header.write('MELA', 8);
    return Buffer.concat([header, Buffer.from(rtf, 'latin1')]);
  };
  const mailed = (rtf: Buffer): Buffer => outlook(contentOf('kestrel'), [['10090102', rtf]]);

  it('has the HTML that is inside it', async () => {
    const rtf =
      "{\\rtf1\\ansi\\ansicpg1251\\fromhtml1 \\deff0{\\fonttbl{\\f0\\fswiss\\fcharset204 Arial;}}{\\*\\htmltag64 <p onclick=\"x\">}\\htmlrtf \\par \\htmlrtf0 \\'cf\\'f0\\'e8 {\\*\\htmltag84 <b>}bold{\\*\\htmltag92 </b>}{\\*\\htmltag72 </p>}}";
    expect((await send('a.msg', mailed(stored(rtf)), 'html')).text).toContain('<p>При <b>bold</b></p>');
    expect((await send('a.msg', mailed(stored(rtf)), 'txt')).text).toMatch(/\n\nПри bold\n$/);
  });

  it('has the plain text that is inside it, or the words of the RTF', async () => {
    expect((await send('a.msg', mailed(stored("{\\rtf1\\ansi\\ansicpg1252\\fromtext hello\\par th\\'e9re}")), 'txt')).text).toMatch(
      /\n\nhello\nthére\n$/,
    );
    const own =
      '{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Arial;}}{\\info{\\author Marble}}\\pard one {\\b two}{\\pict 0102}\\par three \\u8364?}';
    expect((await send('a.msg', mailed(stored(own)), 'txt')).text).toMatch(/\n\none two\nthree €\n$/);
  });

  it('is unpacked as Outlook packs it', async () => {
    // The example of [MS-OXRTFCP], 3.1.
    const packed = '2d0000002b0000004c5a4675f1c5c7a703000a00726370673132354232' + '0af32068656c090020627705b06c647d0a800fa0';
    expect((await send('a.msg', mailed(Buffer.from(packed, 'hex')), 'txt')).text).toMatch(/\n\nhello world\n$/);
  });

  it.each([
    ['groups in each other', stored(`{\\rtf1${'{'.repeat(100_000)}x`)],
    ['groups beside binary data', stored(`{\\rtf1${`${'{'.repeat(100)}\\bin100 ${'}'.repeat(100)}`.repeat(10)}x`)],
    ['bytes', stored(`{\\rtf1 ${'x'.repeat(9 << 20)}}`)],
  ])('is refused for too many %s', async (_, rtf) => {
    expect((await send('a.msg', mailed(rtf), 'txt')).answer.error?.details).toMatchObject({ reason: 'input_limit' });
  });

  it.each([
    [
      'says that it is longer than it is',
      Buffer.concat([Buffer.from('ffffff7fffffff7f4c5a467500000000', 'hex'), Buffer.from('00', 'hex')]),
      true,
    ],
    ['is no RTF', stored('x'), true],
    ['names bytes without end', stored(`{\\rtf1\\ansi\\ansicpg1252 a\\bin2000000000 b${"\\'zz".repeat(100_000)}}`), false],
    ['is cut off', Buffer.from('2d00', 'hex'), true],
  ])('loses its text at most where it %s, and says so', async (_, rtf, isDamaged) => {
    const { text, warnings } = await send('a.msg', mailed(rtf), 'txt');
    expect(text).toContain('Subject: ');
    const said = 'Texts in RTF that are damaged are not part of the result: 1.';
    expect(warnings).toEqual(isDamaged ? expect.arrayContaining([said]) : expect.not.arrayContaining([said]));
  });
});

describe('a mailbox', () => {
  const separator = 'From a@example.org Fri Jan  2 09:00:00 2026\n';
  const letter = (subject: string, body: string): string =>
    `${separator}From: a@example.org\nTo: b@example.org\nSubject: ${subject}\n\n${body}\n\n`;

  it('becomes one page or one text of all its messages', async () => {
    const box = letter('one', 'First.\nFrom here on, no new message begins.') + letter('two', 'Second.');
    expect((await send('a.mbox', box, 'txt')).text).toBe(
      'From: a@example.org\nTo: b@example.org\nSubject: one\n\nFirst.\nFrom here on, no new message begins.\n\n\fFrom: a@example.org\nTo: b@example.org\nSubject: two\n\nSecond.\n',
    );
    const { text } = await send('a.mbox', box.replaceAll('\n', '\r\n'), 'html');
    expect([text.match(/<table class="mail-head">/g)?.length, text.match(/<hr>/g)?.length]).toEqual([2, 1]);
  });

  it('shows 128 MiB of pictures at most, all messages together', async () => {
    const large = part('Content-Type: image/png\nContent-ID: <pic@example.org>', 'x'.repeat(200_000));
    const pictures = mixed(page('<img src="cid:pic@example.org">'.repeat(250)), large);
    const { answer } = await send('a.mbox', `${separator}${pictures}\n`.repeat(3), 'html');
    expect(answer.error?.details).toMatchObject({ reason: 'input_limit', limit: 'bytes of the pictures that a page shows' });
  });

  it('has 2,000 messages at most', async () => {
    const { answer } = await send('a.mbox', letter('s', 'b').repeat(2001), 'txt');
    expect(answer.error?.details).toMatchObject({ reason: 'input_limit', limit: 'messages', max: 2000 });
  });
});
