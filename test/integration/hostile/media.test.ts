/** Sound and video made to open other files, to run for ever, or to be taken for something else. */

import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileTypeBox, latin1, noise } from '../../kit/catalog/bytes.ts';
import { type Wave, waveHead } from '../../kit/catalog/wave.ts';
import { fixtures } from '../../kit/fixtures/media/media.ts';
import { type Case, type Ground, type Mutated, proveHarmless, proveMutationsHarmless, type Trap } from './hostile.ts';

const run = promisify(execFile);

const u32le = (...values: readonly number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);
const u32be = (...values: readonly number[]): Buffer => Buffer.from(u32le(...values)).swap32();
const u16be = (...values: readonly number[]): Buffer => Buffer.from(Uint16Array.from(values).buffer).swap16();

interface Claimed extends Omit<Wave, 'dataBytes'> {
  /** What the header says of the samples. */
  readonly claims?: number;
  readonly data?: Buffer;
}

const wave = ({ rate = 8000, data = Buffer.alloc(16_000), claims = data.length, ...head }: Claimed = {}): Buffer =>
  Buffer.concat([waveHead({ ...head, rate, dataBytes: claims }), data]);

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32be(body.length + 8), latin1(type), body]);
}

interface Movie {
  readonly width?: number;
  readonly height?: number;
  /** In units of `scale` a second. */
  readonly duration?: number;
  readonly scale?: number;
  readonly tracks?: number;
  /** Instead of "in this file". */
  readonly reference?: Buffer;
  readonly coding?: Buffer;
}

const full = (flags = 0): Buffer => u32be(flags);

/** A QuickTime movie whose one frame is declared only. (ISO 14496-12) */
function movie({
  width = 64,
  height = 64,
  duration = 100,
  scale = 100,
  tracks = 1,
  reference = box('url ', full(1)),
  coding = latin1('raw '),
}: Movie = {}): Buffer {
  const matrix = u32be(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000);
  const sample = Buffer.concat([
    Buffer.alloc(6),
    u16be(1),
    Buffer.alloc(16),
    u16be(width, height),
    u32be(0x48_0000, 0x48_0000, 0),
    u16be(1),
    Buffer.alloc(32),
    u16be(24, 0xffff),
  ]);
  const table = box(
    'stbl',
    box('stsd', full(), u32be(1), u32be(sample.length + 8), coding, sample),
    box('stts', full(), u32be(1, 1, duration)),
    box('stsc', full(), u32be(1, 1, 1, 1)),
    box('stsz', full(), u32be(48, 1)),
    box('stco', full(), u32be(1, 0)),
  );
  const track = (id: number) =>
    box(
      'trak',
      box('tkhd', full(7), u32be(0, 0, id, 0, duration, 0, 0, 0, 0), matrix, u16be(width, 0, height, 0)),
      box(
        'mdia',
        box('mdhd', full(), u32be(0, 0, scale, duration, 0)),
        box('hdlr', full(), latin1('mhlrvide'), Buffer.alloc(12), latin1('\0')),
        box('minf', box('vmhd', full(1), Buffer.alloc(8)), box('dinf', box('dref', full(), u32be(1), reference)), table),
      ),
    );
  const header = box(
    'mvhd',
    full(),
    u32be(0, 0, scale, duration, 0x10000),
    u16be(0x100),
    Buffer.alloc(10),
    matrix,
    Buffer.alloc(24),
    u32be(tracks + 1),
  );
  return Buffer.concat([
    fileTypeBox('qt  ', ['qt  ']),
    box('mdat', Buffer.alloc(64)),
    box('moov', header, ...Array.from({ length: tracks }, (_, index) => track(index + 1))),
  ]);
}

/** A QuickTime alias record of an absolute path, as FFmpeg reads it (mov_read_dref). */
function alias(path: string): Buffer {
  const text = latin1(path);
  const head = Buffer.alloc(150 - 8);
  head.writeUInt16BE(2, 4);
  const volume = latin1('v');
  head[10 + 0] = volume.length;
  const paths = [
    [2, text],
    [18, text],
  ] as const;
  return box(
    'alis',
    full(0),
    head,
    ...paths.map(([type, value]) => Buffer.concat([u16be(type, value.length), value, Buffer.alloc(value.length % 2)])),
    u16be(0xffff, 0),
  );
}

function chunk(type: string, data: Buffer): Buffer {
  return Buffer.concat([latin1(type), u32le(data.length), data, Buffer.alloc(data.length % 2)]);
}

/** An AVI whose subtitle stream holds a separate file, as FFmpeg's GAB2 reads it. */
function gab2(inner: string): Buffer {
  const video = chunk(
    'LIST',
    Buffer.concat([
      latin1('strl'),
      chunk('strh', Buffer.concat([latin1('vidsRGB '), u32le(0, 0, 0, 1, 25, 0, 50, 0, 0, 0), Buffer.alloc(8)])),
      chunk('strf', Buffer.concat([u32le(40, 16, 16), latin1('\x01\0\x18\0'), u32le(0, 768, 0, 0, 0, 0)])),
    ]),
  );
  const text = chunk(
    'LIST',
    Buffer.concat([
      latin1('strl'),
      chunk('strh', Buffer.concat([latin1('txts\0\0\0\0'), u32le(0, 0, 0, 1, 25, 0, 50, 0, 0, 0), Buffer.alloc(8)])),
      chunk('strf', Buffer.alloc(0)),
    ]),
  );
  const headers = chunk(
    'LIST',
    Buffer.concat([latin1('hdrl'), chunk('avih', u32le(40_000, 0, 0, 0x10, 50, 0, 2, 0, 16, 16, 0, 0, 0, 0)), video, text]),
  );
  const name = Buffer.from('a\0', 'utf16le');
  const sub = Buffer.concat([
    latin1('GAB2\0'),
    Buffer.from([2, 0]),
    u32le(name.length),
    name,
    Buffer.from([4, 0]),
    u32le(inner.length),
    latin1(inner),
  ]);
  const frames = Array.from({ length: 50 }, (_, index) => chunk('00db', Buffer.alloc(768, index)));
  const movi = chunk('LIST', Buffer.concat([latin1('movi'), chunk('01tx', sub), ...frames]));
  return chunk('RIFF', Buffer.concat([latin1('AVI '), headers, movi]));
}

const playlist = ({ url, text }: Trap): string =>
  `#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10.0,\nconcat:${url}/head.m3u8|file://${text}\n#EXTINF:1,\n${url}/seg.ts\n#EXTINF:1,\nfile://${text}\n#EXT-X-ENDLIST\n`;

const SCRIPTS: readonly (readonly [string, (trap: Trap) => string, readonly string[]])[] = [
  ['a playlist', playlist, ['a.m3u8', 'a.mp4', 'a.avi', 'a.mp3', 'a.txt']],
  ['a playlist behind blanks', (trap) => `\ufeff\n  ${playlist(trap)}`, ['a.mp4']],
  ['a concat script', ({ text, url }) => `ffconcat version 1.0\nfile '${text}'\nfile '${url}/a'\n`, ['a.mp4', 'a.ffconcat']],
  ['metadata for FFmpeg', ({ text }) => `;FFMETADATA1\ntitle=${text}\n`, ['a.mp4', 'a.mkv']],
  [
    'a session description',
    ({ port }) => `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=a\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio ${port} RTP/AVP 0\n`,
    ['a.sdp', 'a.mp4'],
  ],
  [
    'a DASH manifest',
    ({ url }) =>
      `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet><Representation id="1"><BaseURL>${url}/a.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>`,
    ['a.mpd', 'a.mp4'],
  ],
  ['a smooth-streaming manifest', ({ url }) => `<SmoothStreamingMedia Url="${url}"/>`, ['a.mp4']],
  ['a list of stations', ({ url }) => `[playlist]\nFile1=${url}/a\n`, ['a.pls', 'a.mp3']],
  ['a playlist of Windows', ({ url }) => `<ASX version="3.0"><Entry><Ref href="${url}/a"/></Entry></ASX>`, ['a.asx', 'a.wmv']],
];

/** Texts that some reader of media would take for its own. */
const TEXTS: readonly (readonly [string, (trap: Trap) => string, string])[] = [
  ['a filter graph', ({ text }) => `movie=${text}[out0]\namovie=${text}[out1]\ntestsrc=duration=1`, 'a.lavfi'],
  [
    'subtitles with links',
    ({ url, text }) => `1\n00:00:00,000 --> 00:00:09,000\n<img src="${url}/a.png">{\\pict file://${text}}\n`,
    'a.srt',
  ],
  ['a list of clips', ({ text }) => `BEGIN\nFILE ${text}\n`, 'a.mp4'],
];

const ground: Ground = { honest: { name: 'honest.wav', bytes: wave(), to: 'flac' } };

const LIES: readonly Case[] = [
  { name: 'a WAV that says it has 4 GB', file: wave({ claims: 0xffff_fff0 }), as: 'a.wav', to: 'mp3', ends: ['neutral', 'fail'] },
  { name: 'a WAV of 65 535 channels', file: wave({ channels: 65_535, bits: 8 }), as: 'a.wav', to: 'mp3', ends: 'fail' },
  {
    name: 'a WAV of 1 sample a second for 9 hours',
    file: wave({ rate: 1, bits: 8, data: Buffer.alloc(32_400, 128) }),
    as: 'a.wav',
    to: 'mp3',
    ends: 'fail',
    why: 'input_limit',
  },
  { name: 'a WAV of no samples a second', file: wave({ rate: 0 }), as: 'a.wav', to: 'flac', ends: 'fail' },
  { name: 'a WAV of 4 billion samples a second', file: wave({ rate: 0xffff_ffff }), as: 'a.wav', to: 'ogg', ends: ['fail', 'neutral'] },
  {
    name: 'a WAV of 1 sample a second blown up',
    file: wave({ rate: 1, bits: 8, data: Buffer.alloc(21_000, 128) }),
    as: 'a.wav',
    to: 'wav',
    fields: { wav_rate: '192000', wav_depth: '32', wav_channels: '8' },
    ends: 'fail',
    why: ['output_limit', 'input_limit', 'timeout', 'memory'],
  },
  {
    name: 'a WAV that holds another codec',
    file: wave({ codec: 0x55, data: noise(8000, 1) }),
    as: 'a.wav',
    to: 'mp3',
    ends: ['fail', 'neutral'],
  },
  {
    name: 'a FLAC of 2³⁶ samples',
    file: Buffer.concat([
      latin1('fLaC\x80\0\0\x22\x10\0\x10\0\0\0\0\0\0\0\x0a\xc4\x42\xff\xff\xff\xff\xff'),
      Buffer.alloc(16),
      noise(2000, 2),
    ]),
    as: 'a.flac',
    to: 'wav',
    ends: ['fail', 'neutral'],
  },
  {
    name: 'a FLAC with a picture of 4 GB',
    file: async () => {
      const good = await built('flac');
      return Buffer.concat([good.subarray(0, 42), latin1('\x06\xff\xff\xff\0\0\0\x03\xff\xff\xff\xff'), good.subarray(42)]);
    },
    as: 'a.flac',
    to: 'mp3',
    ends: ['fail', 'neutral'],
  },
  {
    name: 'a movie of 16 384 by 16 384',
    file: movie({ width: 16_384, height: 16_384 }),
    as: 'a.mov',
    to: 'mp4',
    ends: 'fail',
    // FFmpeg itself gives a picture as large as that no size.
    why: ['input_limit', 'no_stream'],
  },
  {
    name: 'a movie of 65 535 by 65 535 to a picture',
    file: movie({ width: 65_535, height: 65_535 }),
    as: 'a.mov',
    to: 'png',
    ends: 'fail',
  },
  {
    name: 'a movie of ten years',
    file: movie({ duration: 315_360_000, scale: 1 }),
    as: 'a.mov',
    to: 'mp4',
    ends: 'fail',
    why: 'input_limit',
  },
  {
    name: 'a movie of ten years to an animation',
    file: movie({ duration: 315_360_000, scale: 1 }),
    as: 'a.mov',
    to: 'gif',
    ends: 'fail',
    why: 'input_limit',
  },
  {
    name: 'a movie whose clock ticks a billion times a second',
    file: movie({ duration: 1, scale: 1_000_000_000 }),
    as: 'a.mov',
    to: 'mp4',
    ends: ['neutral', 'fail'],
  },
  {
    name: 'a movie whose frame lasts five hours',
    file: movie({ duration: 18_000, scale: 1 }),
    as: 'a.mov',
    to: 'webm',
    fields: { video_fps: '120' },
    ends: ['neutral', 'fail'],
  },
  { name: 'a movie with 1 000 streams', file: movie({ tracks: 1000 }), as: 'a.mov', to: 'mkv', ends: 'fail', why: 'input_limit' },
  {
    name: 'a movie that opens itself for ever',
    file: Buffer.concat([
      fileTypeBox('isom'),
      u32be(8 + 8 * 2000),
      ...Array.from({ length: 2000 }, (_, depth) => Buffer.concat([latin1('moov'), u32be(8 + 8 * (2000 - depth))])),
      latin1('free'),
    ]),
    as: 'a.mp4',
    to: 'mkv',
    ends: ['fail', 'reject'],
  },
  {
    name: 'a transport stream of noise',
    file: Buffer.concat(Array.from({ length: 2000 }, (_, seed) => Buffer.concat([latin1('G'), noise(187, seed)]))),
    as: 'a.ts',
    to: 'mp4',
    ends: 'fail',
  },
  {
    name: 'an animation of 65 535 by 65 535 to video',
    file: latin1('GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;'),
    as: 'a.gif',
    to: 'mp4',
    ends: 'fail',
  },
];

const REACHING: readonly Case[] = [
  ...(['url ', 'alis'] as const).flatMap((kind) =>
    [(trap: Trap) => `file://${trap.text}`, (trap: Trap) => trap.text, (trap: Trap) => `${trap.url}/dref`, () => '/etc/passwd'].map(
      (where, index): Case => ({
        name: `a movie whose frames lie elsewhere (${kind.trim()} ${index})`,
        file: (trap) =>
          movie({
            reference: kind === 'url ' ? box('url ', full(0), latin1(`${where(trap)}\0`)) : alias(where(trap)),
            width: 4,
            height: 4,
          }),
        as: 'a.mov',
        to: index % 2 === 0 ? 'png' : 'mp4',
        ends: ['fail', 'neutral'],
      }),
    ),
  ),
  ...['png', 'mp4', 'mkv', 'gif'].map(
    (to): Case => ({
      name: 'an AVI with a playlist for subtitles',
      file: (trap) => gab2(playlist(trap)),
      as: 'a.avi',
      to,
      ends: ['neutral', 'fail'],
      ocr: to === 'png',
    }),
  ),
  {
    name: 'an AVI with drawn subtitles',
    file: ({ url, text }) =>
      gab2(
        `[Script Info]\nScriptType: v4.00+\n[Fonts]\nfontname: ${text}\n[Events]\nDialogue: 0,0:00:00.00,0:00:09.00,Default,,0,0,0,,{\\p1}${'m 0 0 l 9 9 '.repeat(50_000)}${url}\n`,
      ),
    as: 'a.avi',
    to: 'mkv',
    ends: ['neutral', 'fail'],
  },
  { name: 'a Matroska file with attachments and links', file: (trap) => attached(trap), as: 'a.mkv', to: 'mp4', ends: 'neutral' },
  { name: 'the same to Matroska', file: (trap) => attached(trap), as: 'a.mkv', to: 'mkv', fields: { video_width: '32' }, ends: 'neutral' },
];

/** Chapters and tags name what the file must not make anybody open; a playlist is attached. */
async function attached(trap: Trap): Promise<Buffer> {
  const { mkdtemp, writeFile } = await import('node:fs/promises');
  const folder = await mkdtemp('/tmp/hostile-media-');
  try {
    const [list, chapters, out] = ['a.m3u8', 'meta.txt', 'out.mkv'].map((name) => join(folder, name)) as [string, string, string];
    await writeFile(list, playlist({ ...trap, token: '' }));
    await writeFile(chapters, `;FFMETADATA1\ntitle=${trap.url}/t\n[CHAPTER]\nTIMEBASE=1/1\nSTART=0\nEND=1\ntitle=file://${trap.text}\n`);
    await run('/usr/bin/ffmpeg', [
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      'testsrc=duration=1:size=64x64',
      '-i',
      chapters,
      '-map_metadata',
      '1',
      '-attach',
      list,
      '-metadata:s:t',
      'mimetype=application/x-truetype-font',
      '-c:v',
      'libx264',
      out,
    ]);
    return await readFile(out);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function built(format: string, place?: string): Promise<Buffer> {
  const { mkdtemp } = await import('node:fs/promises');
  const folder = place ?? (await mkdtemp('/tmp/hostile-media-'));
  try {
    return await readFile((await fixtures[format]?.('kestrel', folder)) ?? '');
  } finally {
    if (place === undefined) await rm(folder, { recursive: true, force: true });
  }
}

const MAGIC: readonly (readonly [string, string])[] = [
  ['wav', 'RIFF\0\0\0\0WAVE'],
  ['avi', 'RIFF\0\0\0\0AVI '],
  ['flac', 'fLaC'],
  ['mp3', 'ID3\x03\0\0\0\0\0\0'],
  ['mp3', '\xff\xfb\x90\x64'],
  ['ogg', 'OggS'],
  ['aac', '\xff\xf1\x50\x80'],
  ['ac3', '\x0b\x77'],
  ['aiff', 'FORM\0\0\0\0AIFF'],
  ['caf', 'caff\0\x01\0\0'],
  ['au', '.snd\0\0\0\x18'],
  ['amr', '#!AMR\n'],
  ['wv', 'wvpk'],
  ['tta', 'TTA1'],
  ['w64', 'riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0'],
  ['flv', 'FLV\x01'],
  ['wmv', '\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c'],
  ['mkv', '\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska'],
  ['webm', '\x1a\x45\xdf\xa3\x93\x42\x82\x84webm'],
  ['mp4', '\0\0\0\x18ftypisom\0\0\0\0isommp42'],
  ['m4a', '\0\0\0\x14ftypM4A \0\0\0\0M4A '],
  ['3gp', '\0\0\0\x14ftyp3gp5\0\0\0\0isom'],
  ['mpg', '\0\0\x01\xba\x44'],
  ['mpg', '\0\0\x01\xb3\x14\0\xf0\x13'],
];

const isSound = (format: string): boolean =>
  ['wav', 'flac', 'mp3', 'ogg', 'aac', 'ac3', 'aiff', 'caf', 'au', 'amr', 'wv', 'tta', 'w64', 'm4a'].includes(format);
const FRAGMENTS: readonly Case[] = MAGIC.flatMap(([format, magic], index) => {
  const to = isSound(format) ? (format === 'mp3' ? 'wav' : 'mp3') : format === 'mp4' ? 'mkv' : 'mp4';
  return [
    {
      name: `nothing but the signature of ${format} (${index})`,
      file: latin1(magic),
      as: `a.${format}`,
      to,
      ends: ['reject', 'fail'],
    } satisfies Case,
    {
      name: `the signature of ${format} (${index}) and noise`,
      file: Buffer.concat([latin1(magic), noise(4000, index)]),
      as: `a.${format}`,
      to,
      ends: ['reject', 'fail', 'neutral'],
    } satisfies Case,
  ];
});

const mutation = (source: string, to: string): Mutated => ({ source, to, bytes: (place) => built(source, place) });

proveHarmless(ground, {
  'scripts that media players follow': [
    ...SCRIPTS.flatMap(([name, file, names]) =>
      names.map(
        (as): Case => ({
          name: `${name} as ${as}`,
          file,
          as,
          to: as.endsWith('mp3') ? 'wav' : 'mkv',
          ends: 'reject',
          why: 'UNSUPPORTED_MIME',
        }),
      ),
    ),
    ...TEXTS.map(([name, file, as]): Case => ({ name, file, as, to: 'mp4', ends: 'reject', why: ['INVALID_FORMAT', 'UNSUPPORTED_MIME'] })),
    { name: 'a pattern of names', file: wave(), as: '%d%05d.wav', to: 'mp3', ends: 'neutral' },
  ],
  'recordings that lie': LIES,
  'recordings that reach out': REACHING,
  'recordings that hardly begin': FRAGMENTS,
});
proveMutationsHarmless(
  ground,
  [mutation('mp4', 'mkv'), mutation('mkv', 'mp4'), mutation('wav', 'mp3'), mutation('flac', 'wav'), mutation('avi', 'png')],
  15,
);
