/** Every option's bounds, through HTTP: just inside passes, just outside and malformed is refused with what is allowed, and what has no effect is told. */
import { beforeAll, describe, expect, it } from 'vitest';
import { isDefault } from '../../../src/catalog/options/defaults.ts';
import { type FormOption, formOptionNames, readOptions } from '../../../src/catalog/options/options.ts';
import { convert, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

let service: Pick<Service, 'url'>;
beforeAll(async () => {
  service = await sharedService();
});

const TABLE = { name: 'table.csv', bytes: Buffer.from('name,size\nkestrel,7\n') };
const send = (fields: Readonly<Record<string, string>>) => convert(service.url, TABLE, 'html', fields);

interface Bounds {
  readonly inside: readonly string[];
  readonly outside: readonly string[];
  /** What a refused client reads. */
  readonly allowed: string;
}
const between = (min: number, max: number, unit = ''): Bounds => ({
  inside: [`${min}`, `${max}`],
  outside: [`${min - 1}`, `${max + 1}`, `${min}.5`, 'many', `${max}0000000000`],
  allowed: `${min} to ${max}${unit}`,
});
const oneOf = (values: readonly string[], outside: readonly string[], unit = ''): Bounds => ({
  inside: values,
  outside,
  allowed: `one of ${values.join(', ')}${unit}`,
});
const time = (allowed: string): Bounds => ({
  inside: ['0.001', '999999', '12.5', '00:00:01', '99:59:59.999', '1:00:00'],
  outside: ['-1', '1.2345', '1:30', '00:60:00', '00:00:60', '1e3', '1,5', '00:00:01.', 'soon', 'NaN'],
  allowed,
});

/** Decided where nothing else is: see README.md, "Options". */
const BOUNDS: Readonly<Record<string, Bounds>> = {
  img_quality: between(0, 100),
  img_resize_w: between(16, 7680, ' px'),
  img_resize_h: between(16, 7680, ' px'),
  img_rotate: oneOf(['90', '180', '270', 'flip-h', 'flip-v'], ['0', '89', '360', '-90', 'flip', 'left']),
  img_crop_x: between(0, 1_000_000, ' px'),
  img_crop_y: between(0, 1_000_000, ' px'),
  img_crop_w: between(1, 1_000_000, ' px'),
  img_crop_h: between(1, 1_000_000, ' px'),
  mp3_mode: oneOf(['vbr', 'cbr', 'abr'], ['mbr', '1']),
  mp3_quality: between(0, 9),
  mp3_bitrate: oneOf(
    ['32', '40', '48', '56', '64', '80', '96', '112', '128', '160', '192', '224', '256', '320'],
    ['31', '33', '321', '8', '128k', '-128'],
    ' kbit/s',
  ),
  wav_rate: between(8000, 192_000, ' Hz'),
  wav_depth: oneOf(['8', '16', '24', '32'], ['0', '20', '64', '16.0'], ' bit'),
  wav_channels: between(1, 8),
  audio_bitrate: between(32, 512, ' kbit/s'),
  audio_rate: between(8000, 192_000, ' Hz'),
  audio_channels: between(1, 8),
  loudness: {
    inside: ['-36', '-5', '-23', '-16.5', '-14.25'],
    outside: ['-37', '-4', '0', '-16.555', '-5.5e0', 'EBU', '--14'],
    allowed: '-36 to -5 LUFS',
  },
  true_peak: {
    inside: ['-9', '0', '-1.5'],
    outside: ['-9.1', '0.1', '1', '-1.555', 'none'],
    allowed: '-9 to 0 dBTP',
  },
  audio_track: between(1, 99),
  video_codec: oneOf(['h264', 'h265', 'vp8', 'vp9', 'av1', 'mpeg4', 'mpeg2', 'theora', 'wmv2'], ['h263', 'libx264', 'copy', 'h.264']),
  video_crf: between(0, 51),
  video_width: between(16, 7680, ' px'),
  video_height: between(16, 7680, ' px'),
  video_fps: between(1, 120, ' frames a second'),
  deinterlace: oneOf(['auto', 'on', 'off'], ['yes', '1', 'bwdif']),
  tone_map: oneOf(['auto', 'mobius', 'hable', 'reinhard', 'off'], ['on', 'clip', 'bt2390']),
  burn_subtitles: between(1, 99),
  fit: oneOf(['fill', 'cover', 'contain'], ['stretch', 'crop', 'inside']),
  start_time: time('seconds or HH:MM:SS(.mmm)'),
  end_time: time('seconds or HH:MM:SS(.mmm), after start_time'),
  track: between(1, 99),
  dpi: between(36, 600),
  background: {
    inside: ['#000000', '#FfFfFf'],
    outside: ['#fff', '000000', '#00000g', '#0000000', 'red', 'rgb(0,0,0)'],
    allowed: '#rrggbb',
  },
  strip_metadata: oneOf(['true', 'false', '1', '0', 'on', 'off', 'yes', 'no'], ['y', 'enabled', '2', 'truefalse']),
  password: {
    inside: ['x', ' ', 'é'.repeat(63), 'x'.repeat(127)],
    outside: ['x'.repeat(128), 'é'.repeat(64), 'a\nb', 'a\0b'],
    allowed: '1 to 127 bytes',
  },
  pages: {
    inside: ['1', '2000', '1-2000', '2-5,8', 'all', 'ALL', ' 3 , 1 - 2 ', '8,8', '1,'.repeat(249).concat('1')],
    outside: ['0', '2001', '5-2', '1-', '-1', '1,,2', '1;2', '1.5', 'first', '1-2-3', '1,'.repeat(250).concat('1')],
    allowed: 'pages from 1 on',
  },
  worksheet: { inside: ['1', 'Sheet2', 'x'.repeat(100)], outside: ['x'.repeat(101)], allowed: 'a number from 1 on' },
  sheet_fit: oneOf(['as_set', 'width', 'page'], ['fit', 'height', 'as set']),
  hidden_slides: oneOf(['true', 'false', '1', '0', 'on', 'off', 'yes', 'no'], ['y', '2']),
  notes: oneOf(['true', 'false', '1', '0', 'on', 'off', 'yes', 'no'], ['y', '2']),
  comments: oneOf(['annotations', 'none'], ['yes', 'margin']),
  tracked_changes: oneOf(['as_set', 'accept', 'reject'], ['all', 'accepted']),
  pdfa: oneOf(['2b'], ['2', '1b', '2B.', 'true', 'pdf/a']),
  csv_types: oneOf(['as_written', 'auto'], ['text', 'number', 'as written']),
  charset: { inside: ['utf-8', 'koi8-r', 'Latin1', 'big5'], outside: ['utf-7', 'klingon', '-'], allowed: 'Encoding Standard' },
  chunks: between(64, 8192, ' tokens'),
  chunk_overlap: between(0, 4096, ' tokens'),
  ocr_lang: {
    inside: ['eng', 'deu+fra', 'eng+chi_sim+chi_tra', 'ENG+Deu'],
    outside: ['en', 'xyz', 'eng+xyz', 'english', 'eng+', '+eng', 'eng+deu+fra+spa', 'eng deu', 'eng/../deu', '../eng'],
    allowed: 'up to three',
  },
};

it('every option has its bounds here', () => expect(Object.keys(BOUNDS)).toEqual(formOptionNames));

/** Options sent together: fewer than a job has room for warnings, and never a start with an end. */
const GROUPS = 4;
const most = Math.max(...Object.values(BOUNDS).map(({ inside }) => inside.length));
const together = Array.from({ length: GROUPS * most }, (_, at) =>
  Object.entries(BOUNDS).flatMap(([option, { inside }], place): (readonly [string, string])[] => {
    const value = inside[Math.floor(at / GROUPS)];
    return place % GROUPS === at % GROUPS && value !== undefined ? [[option, value]] : [];
  }),
).filter((fields) => fields.length > 0);

it.each(together)('pass just inside their bounds, and where they have no effect their client is told: %s …', async (...fields) => {
  const { status, data } = await settled(service.url, await send(Object.fromEntries(fields as (readonly [string, string])[])));
  expect([status, data?.status]).toEqual([200, 'done']);
  const told = data?.warnings.filter(({ code }) => code === 'option_ignored').map(({ message }) => message);
  expect(told?.toSorted(inOrder)).toEqual(
    (fields as (readonly [string, string])[])
      // Those that do something here.
      .filter(([option, value]) => option !== 'csv_types' && option !== 'charset' && !isDefaultAsSent(option, value))
      .map(([option]) => `The option ${option} has no effect on this conversion.`)
      .toSorted(inOrder),
  );
});
const isDefaultAsSent = (option: string, value: string): boolean =>
  isDefault(option as FormOption, readOptions(new Map([[option, value]]))[option as FormOption]);
const inOrder = (a: string, b: string) => place(a) - place(b);
const place = (sentence: string) => formOptionNames.findIndex((name) => sentence.includes(` ${name} `));

describe.each(Object.entries(BOUNDS))('%s', (option, { outside, allowed }) => {
  it('is refused just outside them, and where it is malformed', async () => {
    for (const value of outside) {
      const { status, error } = await send({ [option]: value });
      expect([status, error?.code], value).toEqual([400, 'INVALID_OPTION']);
      expect(error?.details, value).toMatchObject({
        option,
        received: option === 'password' ? '(hidden)' : value.trim().slice(0, 100),
        allowed: expect.stringContaining(allowed),
      });
    }
  });
});

describe('start_time and end_time together', () => {
  const refused: readonly Readonly<Record<string, string>>[] = [
    { start_time: '5', end_time: '5' },
    { start_time: '5', end_time: '4.999' },
    { start_time: '00:00:05', end_time: '5' },
    { start_time: '61', end_time: '00:01:00' },
    { end_time: '0' },
    { end_time: '00:00:00.000' },
    { start_time: '0', end_time: '0' },
  ];
  it.each(refused)('are refused where the end is not after the start: %o', async (fields) => {
    const { status, error } = await send(fields);
    expect([status, error?.code, error?.details['option'], error?.details['received']]).toEqual([
      400,
      'INVALID_OPTION',
      'end_time',
      fields['end_time'],
    ]);
  });

  it('pass by a millisecond', async () => {
    expect((await send({ start_time: '00:00:05', end_time: '5.001' })).status).toBe(200);
  });
});

describe('from_format', () => {
  const prose = { name: 'words.txt', bytes: Buffer.from('# Kestrel\n\nSeven *birds* of the | night\n') };
  it('settles what the content leaves open', async () => {
    const texts: string[] = [];
    for (const from of ['txt', 'md', 'MD', 'org']) {
      const { data } = await convert(service.url, prose, 'html', { from_format: from });
      texts.push(await (await fetch(data?.output?.url ?? '')).text());
    }
    expect(texts.map((text) => /<h1[^>]*>Kestrel<\/h1>/.test(text))).toEqual([false, true, true, false]);
  });

  it.each(['png', 'pdf', 'docx', 'mp3', 'nonsense', '../md'])('does not make a %s of what is plain words', async (from_format) => {
    const { status, error } = await convert(service.url, prose, 'html', { from_format });
    expect([status, error?.code]).toEqual([400, 'INVALID_OPTION']);
    expect(error?.details).toMatchObject({ option: 'from_format', received: from_format, allowed: expect.arrayContaining(['txt', 'md']) });
  });
});
