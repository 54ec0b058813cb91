/** PDFs made to inflate, to run in circles, to act, or to be taken for something else. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';

import { expect } from 'vitest';
import { latin1, noise } from '../../kit/catalog/bytes.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { type Case, type Ground, proveHarmless, proveMutationsHarmless, type Trap } from './hostile.ts';

type Obj = string | Buffer;

/** Objects numbered from 1, of which the first is the catalogue. */
function file(
  objects: readonly Obj[],
  { trailer = '', startxref, version = '1.7' }: { trailer?: string; startxref?: number; version?: string } = {},
): Buffer {
  const parts: Buffer[] = [latin1(`%PDF-${version}\n`)];
  let at = parts[0]?.length ?? 0;
  const offsets = objects.map((object, index) => {
    const bytes = Buffer.concat([latin1(`${index + 1} 0 obj\n`), Buffer.from(object as string, 'latin1'), latin1('\nendobj\n')]);
    parts.push(bytes);
    at += bytes.length;
    return at - bytes.length;
  });
  parts.push(
    latin1(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${startxref ?? at}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}

const stream = (data: Buffer | string, dict = ''): Buffer => {
  const bytes = Buffer.from(data as string, 'latin1');
  return Buffer.concat([latin1(`<< /Length ${bytes.length} ${dict} >>\nstream\n`), bytes, latin1('\nendstream')]);
};

interface Page {
  readonly content?: Buffer | string;
  readonly dict?: string;
  readonly catalog?: string;
  readonly page?: string;
  readonly resources?: string;
  readonly more?: readonly Obj[];
}

/** One page; further objects count from 6. */
const onePage = ({
  content = 'BT /F1 24 Tf 20 100 Td (kestrel) Tj ET',
  dict = '',
  catalog = '',
  page = '',
  resources = '',
  more = [],
}: Page = {}): Buffer =>
  file([
    `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> ${resources} >> ${page} >>`,
    stream(content, dict),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...more,
  ]);

const nested = (times: number): Buffer => {
  let data: Buffer = deflateSync(Buffer.alloc(200_000_000, ' '), { level: 9 });
  for (let time = 1; time < times; time++) data = deflateSync(data, { level: 9 });
  return data;
};

const TARGETS = ['png', 'txt', 'pdf', 'docx', 'svg', 'tiff'] as const;
const toEach = (targets: readonly string[], one: Omit<Case, 'to' | 'as'>): Case[] => targets.map((to) => ({ ...one, to, as: 'a.pdf' }));

const BOMBS: readonly Case[] = [
  ...toEach(['png', 'txt', 'pdf', 'docx'], {
    name: 'a page that inflates to 200 MB in two steps',
    file: () => onePage({ content: nested(2), dict: '/Filter [/FlateDecode /FlateDecode]' }),
    ends: ['neutral', 'fail'],
  }),
  ...toEach(['png', 'pdf'], {
    name: 'a picture that inflates beyond all bounds',
    file: () =>
      onePage({
        content: 'q 300 0 0 200 0 0 cm /X Do Q',
        resources: '/XObject << /X 6 0 R >>',
        more: [
          stream(
            nested(3),
            '/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter [/FlateDecode /FlateDecode /FlateDecode]',
          ),
        ],
      }),
    ends: ['neutral', 'fail'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'an object stream that inflates to 200 MB',
    file: () => onePage({ more: [stream(nested(1), '/Type /ObjStm /N 10000000 /First 10 /Filter /FlateDecode'), '<< /A 7 0 R >>'] }),
    ends: ['neutral', 'fail'],
  }),
  ...toEach(['png', 'txt', 'pdf', 'svg', 'docx'], {
    name: 'a PDF of 100 000 pages',
    file: file([
      '<< /Type /Catalog /Pages 2 0 R >>',
      `<< /Type /Pages /Kids [${'3 0 R '.repeat(100_000)}] /Count 100000 >>`,
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 10 10] >>',
    ]),
    ends: 'fail',
    why: ['input_limit', 'corrupt_input'],
  }),
  ...toEach(['txt', 'pdf', 'docx'], {
    name: 'a PDF of 100 000 pages by doubling',
    file: file([
      '<< /Type /Catalog /Pages 2 0 R >>',
      ...Array.from(
        { length: 17 },
        (_, level) => `<< /Type /Pages /Kids [${level + 3} 0 R ${level + 3} 0 R] /Count ${2 ** (17 - level)} >>`,
      ),
      '<< /Type /Page /Parent 18 0 R /MediaBox [0 0 10 10] >>',
    ]),
    ends: ['fail', 'neutral'],
    why: ['input_limit', 'corrupt_input', 'memory', 'timeout', 'engine_crashed', 'output_invalid'],
  }),
  ...toEach(['png', 'tiff'], {
    name: 'a page of a kilometre',
    file: onePage({ page: '/MediaBox [0 0 3000000 3000000] /CropBox [0 0 3000000 3000000] /UserUnit 75000' }),
    ends: 'fail',
    why: ['input_limit', 'memory'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'the same for OCR',
    file: onePage({ content: '', page: '/MediaBox [0 0 3000000 3000000]' }),
    fields: { ocr_lang: 'eng' },
    ends: ['neutral', 'fail'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'a scan without extent for OCR',
    file: onePage({ content: '', page: '/MediaBox [0 0 0 0]' }),
    fields: { ocr_lang: 'eng' },
    ends: ['neutral', 'fail'],
  }),
];

const DRAWING = ['png', 'svg', 'tiff', 'docx'] as const;

/** A picture object whose dictionary or own header declares far more than its bytes could hold. */
const picture = (dict: string, data: Buffer, size = '/Width 60000 /Height 60000'): Buffer =>
  stream(data, `/Type /XObject /Subtype /Image ${size} /ColorSpace /DeviceGray /BitsPerComponent 1 ${dict}`);
const FAX = '/Filter /CCITTFaxDecode /DecodeParms << /K -1 /Columns 60000 /Rows 60000 >>';
const fax = (): Buffer => picture(FAX, Buffer.alloc(1000));

const be16 = (...values: number[]): Buffer => Buffer.from(values.flatMap((value) => [value >> 8, value & 255]));
const be32 = (...values: number[]): Buffer =>
  Buffer.concat(values.map((value) => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value])));

/** ITU-T T.88: page information, and a generic region over all of it. */
function jbig2(side: number): Buffer {
  const segment = (number: number, type: number, data: Buffer) =>
    Buffer.concat([be32(number), Buffer.from([type, 0, 1]), be32(data.length), data]);
  const page = Buffer.concat([be32(side, side, 0, 0), Buffer.alloc(3)]);
  const region = Buffer.concat([be32(side, side, 0, 0), Buffer.from([0, 8, 3, 255, 253, 255, 2, 254, 254, 254]), Buffer.alloc(200)]);
  return Buffer.concat([segment(0, 48, page), segment(1, 38, region)]);
}

/** ITU-T T.800: a code stream of one tile with nothing in it. */
function jpeg2000(side: number): Buffer {
  const size = Buffer.concat([be16(0), be32(side, side, 0, 0, side, side, 0, 0), be16(3), Buffer.from([7, 1, 1, 7, 1, 1, 7, 1, 1])]);
  const segment = (marker: number, data: Buffer) => Buffer.concat([be16(marker, data.length + 2), data]);
  return Buffer.concat([
    be16(0xff4f),
    segment(0xff51, size),
    segment(0xff52, Buffer.from([0, 0, 0, 1, 0, 5, 4, 4, 0, 1])),
    segment(0xff5c, Buffer.alloc(17, 0x40)),
    segment(0xff90, Buffer.concat([be16(0), be32(0), Buffer.from([0, 1])])),
    be16(0xff93),
    Buffer.alloc(100),
    be16(0xffd9),
  ]);
}

/** ITU-T T.81: a progressive frame of the largest size there is. */
const jpeg = Buffer.concat([be16(0xffd8, 0xffc2, 11), Buffer.from([8]), be16(65_535, 65_535), Buffer.from([1, 1, 0x11, 0]), be16(0xffd9)]);

const SMALL = '/Width 100 /Height 100';
/** Words that are each a line by itself: Poppler takes the square of their number to put them into order. */
const words = (count: number, word = 'a'): Buffer => {
  const places = Array.from(
    { length: count },
    (_, at) => `1 0 0 1 ${((at * 300) / count).toFixed(3)} ${(at * 7919) % 200} Tm (${word}) Tj`,
  );
  return onePage({ content: deflateSync(`BT /F1 8 Tf ${places.join(' ')} ET`), dict: '/Filter /FlateDecode' });
};

const onX = { content: 'q 300 0 0 200 0 0 cm /X Do Q', resources: '/XObject << /X 6 0 R >>' };

/** Kilobytes that would hold a slot for minutes. */
const DECLARED: readonly Case[] = [
  {
    name: 'a page of 200,000 words',
    file: () => words(200_000),
    as: 'a.pdf',
    to: 'txt',
    ends: 'neutral',
    judge: (output, { data }) => {
      expect(output.toString().split(/\s+/).filter(Boolean)).toHaveLength(200_000);
      expect(data?.warnings.map(({ code }) => code)).toContain('reading_order');
    },
  },
  ...toEach(['md', 'html'], {
    name: 'a page of 90,000 words',
    file: () => words(90_000),
    ends: 'fail',
    why: 'input_limit',
    limit: 'words of a page',
  }),
  ...toEach(['html'], {
    name: 'a page of 200,000 blanks, which are no words',
    file: () => words(200_000, ' '),
    ends: 'fail',
    why: 'input_limit',
    limit: 'strings of a page',
  }),
  ...toEach(['html'], {
    name: 'a page of a form of 1,000 blanks, drawn 300 times',
    file: () =>
      onePage({
        content: '/X Do '.repeat(300),
        resources: '/XObject << /X 6 0 R >>',
        more: [stream('( ) Tj '.repeat(1_000), '/Type /XObject /Subtype /Form /BBox [0 0 9 9]')],
      }),
    ends: 'fail',
    why: 'input_limit',
    limit: 'strings of a page',
  }),
  ...toEach(['png', 'tiff'], {
    name: 'a page of units of ten points',
    file: onePage({ page: '/MediaBox [0 0 14400 14400] /UserUnit 10' }),
    ends: 'fail',
    why: 'input_limit',
  }),
  ...toEach(['png', 'tiff'], {
    name: 'a page whose unit stands elsewhere',
    file: onePage({ page: '/MediaBox [0 0 100 14400] /UserUnit 6 0 R /Rotate 90', more: ['75000'] }),
    ends: 'fail',
    why: 'input_limit',
  }),
  ...toEach(DRAWING, { name: 'a fax of 3.6 gigapixels', file: onePage({ ...onX, more: [fax()] }), ends: 'fail', why: 'input_limit' }),
  ...toEach(['pdf'], {
    name: 'a fax of 3.6 gigapixels to be sampled down',
    file: onePage({ ...onX, more: [fax()] }),
    fields: { img_quality: '20' },
    ends: 'fail',
    why: 'input_limit',
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'a fax of 3.6 gigapixels to be read',
    file: onePage({ ...onX, more: [fax()] }),
    fields: { ocr_lang: 'eng' },
    ends: 'fail',
    why: 'input_limit',
  }),
  ...Object.entries({
    'a fax within the instructions': onePage({
      content: `q 300 0 0 200 0 0 cm BI /W 60000 /H 60000 /CS /G /BPC 1 /F /CCF /DP << /K -1 /Columns 60000 >> ID ${'\0'.repeat(500)}\nEI Q`,
    }),
    'a fax within deflated instructions': onePage({
      content: deflateSync(latin1(`q 300 0 0 200 0 0 cm BI /H 60000 /W 60000 /F /CCF ID ${'\0'.repeat(500)}\nEI Q`)),
      dict: '/Filter /FlateDecode',
    }),
    'a JBIG2 that is larger than it says': onePage({ ...onX, more: [picture('/Filter /JBIG2Decode', jbig2(46_000), SMALL)] }),
    'a JPEG 2000 that is larger than it says': onePage({ ...onX, more: [picture('/Filter /JPXDecode', jpeg2000(20_000), SMALL)] }),
    'a deflated JPEG 2000': onePage({
      ...onX,
      more: [picture('/Filter [/FlateDecode /JPXDecode]', deflateSync(jpeg2000(20_000)), SMALL)],
    }),
    'a JPEG that is larger than it says': onePage({ ...onX, more: [picture('/Filter /DCTDecode', jpeg, SMALL)] }),
    'a picture whose sides stand elsewhere': onePage({
      ...onX,
      more: [
        picture('/Filter 9 0 R /DecodeParms [10 0 R]', Buffer.alloc(1000), '/Width 7 0 R /Height 8 0 R'),
        '9000',
        '100',
        '[/CCITTFaxDecode]',
        '<< /K -1 /Columns 11 0 R /Rows 60000 >>',
        '60000',
      ],
    }),
    'a picture in a form in a form': onePage({
      content: '/X Do',
      resources: '/XObject << /X 6 0 R >>',
      more: [
        stream('/Y Do', '/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /Y 7 0 R >> >>'),
        stream('9 0 0 9 0 0 cm /Z Do', '/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /Z 8 0 R >> >>'),
        fax(),
      ],
    }),
    'a soft mask': onePage({
      ...onX,
      more: [
        stream(
          Buffer.alloc(1),
          '/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /SMask 7 0 R',
        ),
        fax(),
      ],
    }),
    'a picture in a pattern': onePage({
      content: '/Pattern cs /P scn 0 0 300 200 re f',
      resources: '/Pattern << /P 6 0 R >>',
      more: [
        stream(
          '300 0 0 200 0 0 cm /X Do',
          '/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 300 200] /XStep 300 /YStep 200 /Resources << /XObject << /X 7 0 R >> >>',
        ),
        fax(),
      ],
    }),
    'a letter that is a picture': onePage({
      content: 'BT /F2 24 Tf 20 100 Td (a) Tj ET',
      resources: '/Font << /F2 6 0 R >>',
      more: [
        '<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [1 0 0 1 0 0] /CharProcs << /a 7 0 R >> /Encoding << /Differences [97 /a] >> /FirstChar 97 /LastChar 97 /Widths [9] >>',
        stream('9 0 0 0 9 9 d1 9 0 0 9 0 0 cm BI /W 60000 /H 60000 /IM true /F /CCF /DP << /K -1 /Columns 60000 >> ID \0\0\0 EI'),
      ],
    }),
    'forty pictures that are just small enough each': onePage({
      content: Array.from({ length: 40 }, (_, index) => `/X${index} Do`).join(' '),
      resources: `/XObject << ${Array.from({ length: 40 }, (_, index) => `/X${index} ${index + 6} 0 R`).join(' ')} >>`,
      more: Array.from({ length: 40 }, () =>
        picture('/Filter /CCITTFaxDecode /DecodeParms << /K -1 /Columns 9000 >>', Buffer.alloc(100), '/Width 9000 /Height 9000'),
      ),
    }),
  }).map(([name, bytes]): Case => ({ name, file: bytes, as: 'a.pdf', to: 'png', ends: 'fail', why: 'input_limit' })),
  {
    name: 'a locked fax of 3.6 gigapixels',
    file: () => locked((text) => text, '256', onePage({ ...onX, more: [fax()] })),
    as: 'a.pdf',
    to: 'png',
    fields: { password: 'secret' },
    ends: 'fail',
    why: 'input_limit',
  },
  {
    name: 'a page of units of ten points that is to be read',
    file: onePage({ page: '/MediaBox [0 0 14400 14400] /UserUnit 10' }),
    as: 'a.pdf',
    to: 'txt',
    ends: 'neutral',
  },
  {
    name: 'a page of which a unit is two points',
    file: onePage({ page: '/UserUnit 2' }),
    as: 'a.pdf',
    to: 'png',
    ends: 'neutral',
  },
];

const CIRCLES: readonly Case[] = [
  ...toEach(TARGETS, {
    name: 'a page tree that is its own child',
    file: file([
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 /Parent 2 0 R >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>',
    ]),
    ends: ['fail', 'neutral'],
  }),
  ...toEach(['png', 'txt', 'pdf'], {
    name: 'a page tree 100 000 deep',
    file: () =>
      file([
        '<< /Type /Catalog /Pages 2 0 R >>',
        ...Array.from({ length: 100_000 }, (_, depth) => `<< /Type /Pages /Kids [${depth + 3} 0 R] /Count 1 >>`),
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>',
      ]),
    ends: ['fail', 'neutral'],
  }),
  ...toEach(['png', 'txt', 'pdf'], {
    name: 'a list that is 100 000 deep',
    file: onePage({ page: `/Deep ${'['.repeat(100_000)}${']'.repeat(100_000)}` }),
    ends: ['fail', 'neutral'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'cross-references that point at themselves',
    file: Buffer.concat([onePage(), latin1('xref\n0 0\ntrailer\n<< /Size 6 /Root 1 0 R /Prev 9 /XRefStm 9 >>\nstartxref\n9\n%%EOF')]),
    ends: ['fail', 'neutral'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'cross-references of ten million objects',
    file: file(
      [
        '<< /Type /Catalog /Pages 2 0 R >>',
        '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>',
      ],
      { trailer: '/Size 2147483647 /Prev 2147483646' },
    ),
    ends: ['fail', 'neutral'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'a length that is its own stream',
    file: file([
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>',
      '<< /Length 4 0 R >>\nstream\nq Q\nendstream',
    ]),
    ends: ['fail', 'neutral'],
  }),
  ...toEach(['png', 'pdf', 'svg', 'docx'], {
    name: 'a form that draws itself',
    file: onePage({
      content: '/X Do',
      resources: '/XObject << /X 6 0 R >>',
      more: [stream('/X Do /X Do', '/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>')],
    }),
    ends: ['neutral', 'fail'],
  }),
  ...toEach(['png', 'svg', 'docx', 'tiff'], {
    name: 'forms that draw forms, ten million times',
    file: onePage({
      content: '/X Do',
      resources: '/XObject << /X 6 0 R >>',
      more: Array.from({ length: 8 }, (_, level) =>
        stream(
          level === 7 ? '0 0 1 1 re f' : '/X Do '.repeat(10),
          `/Type /XObject /Subtype /Form /BBox [0 0 300 200] ${level === 7 ? '' : `/Resources << /XObject << /X ${level + 7} 0 R >> >>`}`,
        ),
      ),
    }),
    ends: ['neutral', 'fail'],
  }),
  ...toEach(['png', 'svg'], {
    name: 'a pattern that paints itself',
    file: onePage({
      content: '/Pattern cs /P scn 0 0 300 200 re f',
      resources: '/Pattern << /P 6 0 R >>',
      more: [
        stream(
          '/Pattern cs /P scn 0 0 9 9 re f',
          '/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 .001 .001] /XStep .001 /YStep .001 /Resources << /Pattern << /P 6 0 R >> >>',
        ),
      ],
    }),
    ends: ['neutral', 'fail'],
  }),
  ...toEach(['png', 'tiff'], {
    name: 'a shading by an endless function',
    file: onePage({
      content: '/S sh',
      resources:
        '/Shading << /S << /ShadingType 1 /ColorSpace /DeviceGray /Domain [0 1 0 1] /Matrix [300 0 0 200 0 0] /Function 6 0 R >> >>',
      more: [stream(`{ ${'dup mul 1 exch sub sqrt '.repeat(20_000)} pop }`, '/FunctionType 4 /Domain [0 1 0 1] /Range [0 1]')],
    }),
    ends: ['neutral', 'fail'],
  }),
  ...toEach(['png'], {
    name: 'a million nested states',
    file: onePage({ content: 'q 1 0 0 1 1 1 cm '.repeat(1_000_000) }),
    ends: ['neutral', 'fail'],
  }),
];

const action = (trap: Trap): string =>
  `/OpenAction << /S /JavaScript /JS (app.launchURL("${trap.url}/js"); this.exportDataObject\\({cName:"a", nLaunch:2}\\);) /Next [<< /S /Launch /F (${trap.text}) /Win << /F (cmd.exe) /P (/c touch ${trap.folder}/made) >> >> << /S /URI /URI (${trap.url}/uri) >> << /S /GoToR /F (${trap.text}) /D [0 /Fit] >> << /S /SubmitForm /F (${trap.url}/form) >> << /S /ImportData /F (${trap.text}) >>] >>`;

const REACHING: readonly Case[] = [
  ...toEach(TARGETS, {
    name: 'actions of every kind',
    file: (trap) =>
      onePage({
        catalog: action(trap),
        page: `/AA << /O << /S /URI /URI (${trap.url}/page) >> >> /Annots [<< /Type /Annot /Subtype /Link /Rect [0 0 300 200] /A << /S /Launch /F (${trap.text}) >> >>]`,
      }),
    ends: 'neutral',
  }),
  ...toEach(TARGETS, {
    name: 'a page whose content lies in a file',
    file: (trap) => onePage({ content: '', dict: `/F (${trap.text}) /FFilter [] ` }),
    ends: ['neutral', 'fail'],
    ocr: true,
  }),
  ...toEach(['png', 'pdf', 'txt'], {
    name: 'a page whose content lies in an address',
    file: (trap) => onePage({ content: '', dict: `/F << /FS /URL /F (${trap.url}/content) >>` }),
    ends: ['neutral', 'fail'],
  }),
  ...toEach(TARGETS, {
    name: 'a picture that lies elsewhere',
    file: (trap) =>
      onePage({
        content: '/X Do /Y Do',
        resources: '/XObject << /X 6 0 R /Y 7 0 R >>',
        more: [
          stream('', `/Type /XObject /Subtype /Image /Width 64 /Height 64 /ColorSpace /DeviceRGB /BitsPerComponent 8 /F (${trap.picture})`),
          stream(
            '',
            `/Type /XObject /Subtype /Form /BBox [0 0 300 200] /Ref << /F << /Type /Filespec /F (${trap.text}) /UF (${trap.url}/ref) /FS /URL >> /Page 0 >>`,
          ),
        ],
      }),
    ends: ['neutral', 'fail'],
  }),
  ...toEach(['pdf', 'txt', 'docx'], {
    name: 'an embedded program',
    file: (trap) =>
      onePage({
        catalog:
          '/Names << /EmbeddedFiles << /Names [(a.exe) << /Type /Filespec /F (../../../../tmp/filemill-was-here) /EF << /F 6 0 R >> >>] >> >>',
        more: [stream(`MZ ${trap.folder}`, '/Type /EmbeddedFile')],
      }),
    ends: 'neutral',
  }),
  ...toEach(['pdf', 'png', 'docx'], {
    name: 'a form of XFA',
    file: (trap) =>
      onePage({
        catalog: '/AcroForm << /Fields [] /XFA 6 0 R >>',
        more: [
          stream(
            `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file://${trap.text}"><!ENTITY f SYSTEM "${trap.url}/x">]><xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/">&e;&f;</xdp:xdp>`,
          ),
        ],
      }),
    ends: 'neutral',
  }),
  ...toEach(['pdf', 'txt', 'docx'], {
    name: 'metadata with entities',
    file: (trap) =>
      onePage({
        catalog: '/Metadata 6 0 R',
        more: [
          stream(`<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file://${trap.text}">]><x>&e;</x>`, '/Type /Metadata /Subtype /XML'),
        ],
      }),
    ends: 'neutral',
  }),
  ...toEach(['png', 'tiff', 'docx'], {
    name: 'a font that lies in a file',
    file: (trap) =>
      onePage({
        resources: '',
        more: [],
        content: 'BT /F1 24 Tf 20 100 Td (kestrel) Tj ET',
        page: `/X << /Type /FontDescriptor /FontFile3 << /F (${trap.text}) >> >>`,
      }),
    ends: 'neutral',
  }),
  ...toEach(['tiff', 'pdf'], {
    name: 'PostScript inside a PDF',
    file: (trap) =>
      onePage({
        content: '/X Do',
        resources: '/XObject << /X 6 0 R >>',
        more: [
          stream(
            `(${trap.text}) (r) file 1000 string readstring pop show (${trap.folder}/made) (w) file closefile (%pipe%touch ${trap.folder}/piped) (w) file`,
            '/Type /XObject /Subtype /PS',
          ),
        ],
      }),
    fields: { img_quality: '20' },
    ends: ['neutral', 'fail'],
  }),
];

const inFolder = (act: (folder: string) => Buffer): Buffer => {
  const folder = mkdtempSync('/tmp/hostile-pdf-');
  try {
    return act(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Encrypted by qpdf, then its number of rounds or its keys changed. */
const locked = (change: (text: string) => string, bits = '256', open = pdf([['kestrel']])): Buffer =>
  inFolder((folder) => {
    const [plain, out] = [join(folder, 'in.pdf'), join(folder, 'out.pdf')];
    writeFileSync(plain, open);
    execFileSync('/usr/bin/qpdf', ['--allow-weak-crypto', '--encrypt', 'secret', 'owner', bits, '--', plain, out]);
    return latin1(change(readFileSync(out, 'latin1')));
  });

const LOCKED: readonly Case[] = [
  ...toEach(TARGETS, { name: 'a locked PDF without password', file: () => locked((text) => text), ends: 'fail', why: 'password_required' }),
  ...toEach(['png', 'txt', 'pdf'], {
    name: 'a locked PDF with a wrong password',
    file: () => locked((text) => text),
    fields: { password: 'guess' },
    ends: 'fail',
    why: 'wrong_password',
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'a locked PDF with a password that is an option',
    file: () => locked((text) => text),
    fields: { password: '--decrypt\n@/etc/passwd' },
    ends: ['fail', 'reject'],
    why: ['wrong_password', 'INVALID_OPTION'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'a locked PDF with a password of 10 000 letters',
    file: () => locked((text) => text),
    fields: { password: 'x'.repeat(10_000) },
    ends: ['fail', 'reject'],
    why: ['wrong_password', 'INVALID_OPTION'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'a locked PDF whose keys are of another length',
    file: () => locked((text) => text.replace(/\/Length 256/, '/Length 2147483647').replace(/\/R 6/, '/R 99999')),
    fields: { password: 'secret' },
    ends: ['fail', 'neutral'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'a locked PDF of negative keys',
    file: () => locked((text) => text.replace(/\/Length 128/, '/Length -128').replace(/\/V \d/, '/V -4'), '128'),
    fields: { password: 'secret' },
    ends: ['fail', 'neutral'],
  }),
];

const PASSED_OFF: readonly Case[] = [
  {
    name: 'a PDF behind a page',
    file: Buffer.concat([Buffer.from(`<html><script>1</script>${' '.repeat(500)}`), onePage()]),
    as: 'a.pdf',
    to: 'png',
    ends: ['reject', 'neutral'],
  },
  {
    name: 'a PDF behind an archive',
    file: Buffer.concat([latin1('PK\x03\x04'), noise(300, 1), onePage()]),
    as: 'a.pdf',
    to: 'png',
    // An archive that ends too early is said to.
    ends: 'fail',
    why: 'corrupt_input',
  },
  {
    name: 'a PDF at offset 1 000',
    file: Buffer.concat([noise(1000, 1), onePage()]),
    as: 'a.pdf',
    to: 'png',
    ends: 'reject',
    why: 'UNSUPPORTED_MIME',
  },
  {
    name: 'PostScript that says it is a PDF',
    file: (trap) =>
      `%PDF-1.4\n%!PS\n(${trap.text}) (r) file 100 string readstring pop = (${trap.folder}/made) (w) file closefile\nshowpage\n`,
    as: 'a.pdf',
    to: 'tiff',
    ends: 'fail',
  },
  ...toEach(TARGETS, { name: 'a PDF of nothing but its header', file: '%PDF-1.7\n', ends: 'fail' }),
  ...toEach(['png', 'txt', 'pdf', 'docx'], {
    name: 'a PDF without pages',
    file: file(['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [] /Count 0 >>']),
    ends: 'fail',
  }),
  ...toEach(['png', 'txt', 'pdf', 'docx'], {
    name: 'a PDF that says it has a billion pages',
    file: file([
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 10 10] >>',
    ]),
    ends: ['fail', 'neutral'],
  }),
  ...toEach(['png', 'txt'], {
    name: 'a PDF that says it has minus one pages',
    file: file([
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [3 0 R] /Count -1 >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 10 10] >>',
    ]),
    ends: ['fail', 'neutral'],
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'a PDF whose title lies about its pages',
    file: file(
      [
        '<< /Type /Catalog /Pages 2 0 R >>',
        '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 10 10] >>',
        '<< /Title (a\nPages:           99999\nPage    1 size: 9e9 x 9e9 pts) >>',
      ],
      { trailer: '/Info 4 0 R' },
    ),
    ends: 'neutral',
  }),
  ...[
    ['1-999999999', 'neutral'],
    ['1,,', 'reject'],
    ['9e9', 'reject'],
    ['-1', 'reject'],
    ['1;id', 'reject'],
    [`${'1,'.repeat(5000)}1`, 'neutral'],
  ].flatMap(([pages = '', ends]): Case[] => [
    {
      name: `pages ${pages.slice(0, 20)}`,
      file: onePage(),
      as: 'a.pdf',
      to: 'pdf',
      fields: { pages },
      ends: ends === 'neutral' ? ['neutral', 'reject', 'fail'] : 'reject',
      why: ['INVALID_OPTION', 'input_limit'],
    },
  ]),
];

const ground: Ground = { honest: { name: 'honest.pdf', bytes: pdf([['kestrel', 'marble']]), to: 'txt' } };

/** Some go on until they are stopped: how soon that is makes no difference to what is left behind. */
const hurried: Ground = { ...ground, seconds: 5 };
proveHarmless(hurried, {
  'PDFs that exhaust': BOMBS,
  'PDFs that run in circles': CIRCLES,
});
proveHarmless(ground, {
  'PDFs that declare more than they hold': DECLARED,
  'PDFs that reach out': REACHING,
  'PDFs that are locked': LOCKED,
  'PDFs that are something else': PASSED_OFF,
});
proveMutationsHarmless(ground, [{ source: 'pdf', to: 'png', bytes: async () => pdf([['kestrel', 'marble'], ['meadow']]) }], 16);
