/** Web pages that were saved with their pictures in one file: by a real browser, by a word processor, and by strangers. */
import { beforeAll, describe, expect, it } from 'vitest';
import { PNG } from '../../../src/catalog/known-good.ts';
import { archived, webArchive } from '../../kit/fixtures/documents/mail.ts';
import { convertText, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';
import { openBrowser } from '../page/browser.ts';

let service: Pick<Service, 'url'>;
beforeAll(async () => {
  service = await sharedService();
});

const send = (name: string, content: string | Buffer, target: string) => convertText(service, name, content, target);

const BYTES = Buffer.from(PNG.content, 'base64');
const DATA = `data:image/png;base64,${PNG.content}`;

/** As Chromium itself saves it. @param files what is on the web, by path */
async function saved(files: Readonly<Record<string, readonly [type: string, body: string | Buffer]>>): Promise<string> {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    await page.route('**/*', (route) => {
      const [contentType, body] = files[new URL(route.request().url()).pathname] ?? ['text/plain', ''];
      return route.fulfill({ contentType, body });
    });
    await page.goto('https://saved.example.org/a/page.html');
    const session = await page.context().newCDPSession(page);
    const { data } = await session.send('Page.captureSnapshot', { format: 'mhtml' });
    return data;
  } finally {
    await browser.close();
  }
}

describe('a page that Chromium saved', () => {
  const COMPONENT =
    "customElements.define('x-y', class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = '<p>in the component</p>'; } })";
  const FILES = {
    '/a/page.html': [
      'text/html; charset=utf-8',
      `<!doctype html><title>Kestrel ü</title><link rel="stylesheet" href="../s/a.css"><h1>Marble ü</h1><img src="p.png" srcset="p.png 2x"><iframe src="f.html"></iframe><a href="b.html#c">on</a> <a href="#d">down</a><x-y></x-y><script>${COMPONENT}</script>`,
    ],
    '/s/a.css': ['text/css', '@import "b.css" screen;\nbody { background: url(../a/p.png) }'],
    '/s/b.css': ['text/css', 'h1 { color: rgb(1, 2, 3) }'],
    '/a/p.png': ['image/png', BYTES],
    '/a/f.html': ['text/html', '<p>framed'],
  } as const;

  it('becomes one page with its pictures and style sheets inside, and without programs', async () => {
    const archive = await saved(FILES);
    expect(archive).toContain('From: <Saved by Blink>');
    const { text, warnings } = await send('page.mhtml', archive, 'html');
    expect(text).toContain('<title>Kestrel ü</title>');
    expect(text).toContain('<h1>Marble ü</h1>');
    expect(text).toContain(`<img src="${DATA}">`);
    expect(text).toContain(`background: url("${DATA}")`);
    expect(text).toMatch(/@media screen \{\s*h1 \{ color: rgb\(1, 2, 3\); \}/);
    expect(text).toContain('<a href="https://saved.example.org/a/b.html#c">on</a> <a href="#d">down</a>');
    expect(text).toContain('<p>in the component</p>');
    expect(text).toContain(`content="default-src 'none';`);
    expect(text).not.toMatch(/<script|<iframe|framed|srcset|<link|cid:/);
    expect(warnings).toContain('Frames of the page are not included in the result: 1.');
  });

  it('becomes the text that its reader sees', async () => {
    const { text } = await send('page.mht', await saved(FILES), 'txt');
    expect(text).toBe('Marble ü\non down\n\nin the component\n');
  });
});

describe('the style sheets of a page', () => {
  const at = (name: string) => `https://saved.example.org/a/${name}`;
  /** The style that takes the place of a link to `a.css`. @param others style sheets by name */
  async function styleOf(css: string, others: Readonly<Record<string, string>> = {}): Promise<string> {
    const sheets = Object.entries({ 'a.css': css, ...others }).map(([name, content]) => archived('text/css', at(name), content));
    const pictures = ["x'y.png", 'p.png'].map((name) => archived('image/png', at(encodeURI(name)), 'PNG'));
    const page = webArchive('<link rel=stylesheet href=a.css>text', ...sheets, ...pictures);
    return /<style>([\s\S]*)<\/style>/.exec((await send('a.mhtml', page, 'html')).text)?.[1] ?? '';
  }
  const PICTURE = /url\("data:image\/png;base64,[^"]*"\)/;

  it('keep their comments and strings as they are, and are read past both', async () => {
    const css = await styleOf(
      `/* url(p.png) @import "b.css"; ' */ a { content: "url(p.png) /*"; background: url('x\\'y.png') } b { c: url(p\\2e png) }`,
      {
        'b.css': 'never {}',
      },
    );
    expect(css).toMatch(
      RegExp(
        `^/\\* url\\(p.png\\) @import "b.css"; ' \\*/ a \\{ content: "url\\(p.png\\) /\\*"; background: ${PICTURE.source} \\} b \\{ c: ${PICTURE.source} \\}$`,
      ),
    );
  });

  it('have those that they import inside, under the conditions of the import', async () => {
    const css = await styleOf(
      '@import/* ; */"b.css"/* ; */layer(base.x) supports((display: grid) and (not (a: b(c)))) screen;@import url(c.css) layer;@import ; d { }',
      {
        'b.css': 'b { }',
        'c.css': 'c { }',
      },
    );
    expect(css.replaceAll('\n', '')).toBe(
      '@media screen {@supports ((display: grid) and (not (a: b(c)))) {@layer base.x {b { }}}}@layer {c { }}@import ; d { }',
    );
  });

  it('are read in time whatever marks they have without an end', async () => {
    for (const mark of ['/*', '"', "'", '"\\\n', 'url(', 'url("', '@import '])
      expect(await styleOf(mark.repeat(2 ** 20 / mark.length))).not.toBe('');
  });
});

describe('a page that a word processor saved', () => {
  const part = (head: string, body: string | Buffer): Buffer =>
    Buffer.concat([Buffer.from(`\r\n--_NextPart\r\n${head}\r\n\r\n`), Buffer.from(body)]);
  const pages = (html: Buffer, ...others: readonly Buffer[]): Buffer =>
    Buffer.concat([
      Buffer.from(
        'MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary="_NextPart"; start="<main>"\r\n\r\nThis document is a Single File Web Page.\r\n',
      ),
      part('Content-Location: file:///C:/B1/doc_files/header.htm\r\nContent-Type: text/html; charset="us-ascii"', '<p>the header'),
      part(
        'Content-Location: file:///C:/B1/doc.htm\r\nContent-ID: <main>\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Type: text/html; charset="windows-1251"',
        html,
      ),
      part(
        `Content-Location: file:///C:/B1/doc_files/image%20001.png\r\nContent-Transfer-Encoding: base64\r\nContent-Type: image/png`,
        `${PNG.content.slice(0, 40)}\r\n${PNG.content.slice(40)}`,
      ),
      ...others,
      Buffer.from('\r\n--_NextPart--\r\n'),
    ]);

  it('is known without a sender, and its first page is the one that it names', async () => {
    const html = Buffer.from(
      '<html xmlns:v=3D"urn:schemas-microsoft-com:vml"><head><link rel=3DFile-List href=3D"doc_files/filelist.xml"></head><body><!--[if gte vml 1]><v:shape>old</v:shape><![endif]-->=CF=F0=E8=E2=E5=F2<img src=3D"doc_files/image =\r\n001.png"></body></html>',
    );
    const { text } = await send('doc.mht', pages(html), 'html');
    expect(text).toContain(`Привет<img src="${DATA}">`);
    expect(text).not.toMatch(/the header|v:shape|filelist/);
  });

  it('is refused where it consists of frames', async () => {
    const { answer } = await send('book.mht', pages(Buffer.from('<frameset><frame src=3D"a.htm"></frameset>')), 'html');
    expect(answer.error?.details).toMatchObject({ reason: 'unsupported_variant' });
  });
});

describe('a message that a mail program saved as a web archive', () => {
  const message = `From: Anna <anna@example.org>\nTo: bert@example.net\nSubject: =?utf-8?Q?M=C3=A4rz?=\n${webArchive(
    '<p>See <img src="CID:pic"></p>',
    `--limit\r\nContent-Type: image/png\r\nContent-ID: <pic>\r\nContent-Transfer-Encoding: base64\r\n\r\n${PNG.content}\r\n`,
  ).replace(/^[\s\S]*?(?=MIME-Version)/, '')}`;

  it('has its fields above the text, in a page and in a text', async () => {
    const { text } = await send('a.mht', message, 'html');
    expect(text).toContain('<tr><th>Subject</th><td>März</td></tr>');
    expect(text).toContain(`See <img src="${DATA}">`);
    expect((await send('a.mht', message, 'txt')).text).toBe('From: Anna <anna@example.org>\nTo: bert@example.net\nSubject: März\n\nSee\n');
  });

  it('is an e-mail where its name says so', async () => {
    expect((await send('a.eml', message, 'html')).text).toContain('.mail-head {');
    expect((await send('a.mht', message, 'html')).text).not.toContain('.mail-head {');
  });
});

describe('a web archive that is made to do harm', () => {
  it('becomes a page that runs no script and fetches nothing', async () => {
    const css = '@import "https://evil.test/a.css"; p { color: red } </style><script>alert(1)</script>';
    const { text } = await send(
      'a.mhtml',
      webArchive(
        '<body onload="alert(2)"><base href="https://evil.test/"><link rel="stylesheet" href="https://saved.example.org/x.css"><script src="https://saved.example.org/x.js"></script><a href=" java\tscript:alert(3)">a</a><meta http-equiv=refresh content="0;url=https://evil.test">safe<template><img src=x onerror=alert(4)></template>',
        archived('text/css', 'https://saved.example.org/x.css', css),
        archived('text/javascript', 'https://saved.example.org/x.js', 'alert(5)'),
      ),
      'html',
    );
    expect(text).toContain('safe');
    expect(text).toContain('p { color: red } \\3c /style>');
    expect(text.match(/<\/style>/g)).toHaveLength(1);
    expect(text).not.toMatch(/evil\.test|onload|onerror|script:|<template|alert\([2345]/);
  });

  it('has no style sheet that ends its element, also inside a drawing', async () => {
    const css = '</svg><meta http-equiv=refresh content="0;url=https://evil.test/"><!--';
    const link = '<link rel=stylesheet href=x.css>';
    const page = (html: string) => webArchive(html, archived('text/css', 'https://saved.example.org/a/x.css', css));
    expect((await send('a.mhtml', page(`<svg>${link}</svg>safe`), 'html')).text).not.toContain('evil.test');
    const { text } = await send('a.mhtml', page(`${link}<svg><style>${css.replaceAll('<', '&lt;')}</style></svg>safe`), 'html');
    expect(text).toContain('<style>\\3c /svg>\\3c meta http-equiv');
    expect(text).not.toMatch(/<meta http-equiv=refresh|<!--/);
  });

  it('has the inside of a component without its styles, and nothing of a drawing that is named as one', async () => {
    const inside = '<template shadowrootmode=open><p><style>p { color: red }</style>inside</p></template>';
    const { text } = await send('a.mhtml', webArchive(`<div>${inside}</div><svg>${inside}</svg><math>${inside}</math>safe`), 'html');
    expect(text).toContain('<div><div shadowrootmode="open"><p>inside</p></div></div>');
    expect(text).toContain('safe');
  });

  it('repeats no long base in each of its links', async () => {
    const page = webArchive(`<base href="https://evil.test/${'a'.repeat(3000)}/">${'<a href="b">c</a>'.repeat(1000)}`);
    expect((await send('a.mhtml', page, 'html')).text).toContain('<a href="b">c</a><a href="b">c</a>');
  });

  it('may name two parts alike: the first one counts', async () => {
    const { text } = await send(
      'a.mhtml',
      webArchive(
        '<img src="../p.png">',
        archived('image/png', 'https://saved.example.org/p.png', BYTES),
        archived('image/png', 'https://saved.example.org/b/../p.png#x', 'other'),
      ),
      'html',
    );
    expect(text).toContain(`<img src="${DATA}">`);
  });

  it.each([
    [
      'parts in each other',
      `MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\n${Array.from({ length: 60 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\n\n--b${i}\n`).join('')}\nx`,
    ],
    ['parts', webArchive('<p>x', '--limit\r\n\r\nx\r\n'.repeat(100_000))],
    [
      'style sheets that import themselves',
      webArchive(
        '<link rel=stylesheet href=a.css>',
        archived('text/css', 'https://saved.example.org/a/a.css', '@import "a.css";'.repeat(100)),
      ),
    ],
    [
      'pictures that are shown again and again',
      webArchive('<img src=p.png>'.repeat(200_000), archived('image/png', 'https://saved.example.org/a/p.png', Buffer.alloc(4096))),
    ],
    ['links with a base', webArchive(`<base href="https://evil.test/${'a'.repeat(1900)}/">${'<a href=b>c</a>'.repeat(20_000)}`)],
    ['elements in each other', webArchive('<div>'.repeat(5000))],
  ])('is refused for too many %s', async (_, content) => {
    expect((await send('a.mhtml', content, 'html')).answer.error?.details).toMatchObject({ reason: 'input_limit' });
  });

  it('is read where a line has no end, a header names nothing, or the file was cut off', async () => {
    const endless = webArchive(
      '<p>first</p>',
      `--limit\r\nContent-Type: text/css\r\nContent-Location: a.css\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${'=41'.repeat(3_000_000)}`,
    );
    expect((await send('a.mhtml', endless, 'html')).text).toContain('<p>first</p>');
    const cut = webArchive(`<p>second<p>${'x'.repeat(1000)}`);
    expect((await send('a.mhtml', cut.slice(0, -300), 'txt')).text).toMatch(/^second\nx+\n$/);
    const far = webArchive(
      `<base href="https://${'a/'.repeat(100_000)}"><img src="b.png">third`,
      '--limit\r\nContent-Location: %zz\r\n\r\nx\r\n',
    );
    expect((await send('a.mhtml', far, 'txt')).text).toBe('third\n');
  });

  it('has no page, and that is said', async () => {
    const { answer } = await send('a.mhtml', webArchive('').replace('text/html; charset', 'text/css; charset'), 'html');
    expect(answer.error?.details).toMatchObject({ reason: 'corrupt_input' });
  });
});
