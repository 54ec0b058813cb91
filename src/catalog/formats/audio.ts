/** Sound. An Ogg file may contain any of Xiph's audio codecs. */
import { isAdx, isApe, isGsm } from '../looks/audio.ts';
import { type Format, format, type Traits } from './format.ts';
import { riff } from './riff.ts';

const audio = (id: string, name: string, mime: string, traits?: Traits) => format('audio', id, name, mime, traits);
const rare = (id: string, name: string, mime: string, traits?: Traits) => audio(id, name, mime, { use: 'rare', ...traits });

export const sounds: readonly Format[] = [
  audio('mp3', 'MPEG audio, layer 3', 'audio/mpeg', {
    search: { en: 'music, song, sound, audio', de: 'Musik, Lied, Ton, Audio', es: 'música, canción, sonido, audio' },
    aliases: ['mpga', 'mpa'],
    use: 'common',
    kin: 'mpeg audio',
  }),
  audio('wav', 'Waveform audio', 'audio/wav', {
    search: {
      en: 'sound, recording, uncompressed, cd',
      de: 'Ton, Aufnahme, unkomprimiert, CD',
      es: 'sonido, grabación, sin comprimir, CD',
    },
    aliases: ['wave', 'bwf', 'rf64', 'amb'],
    use: 'common',
    signatures: ['RIFF', 'RIFX', 'RF64', 'BW64'].map((container) => riff(container, 'WAVE')),
  }),
  audio('flac', 'Free Lossless Audio Codec', 'audio/flac', {
    search: { en: 'music, lossless', de: 'Musik, verlustfrei', es: 'música, sin pérdida' },
    use: 'common',
    signatures: ['fLaC'],
  }),
  audio('ogg', 'Ogg Vorbis', 'audio/ogg', {
    search: { en: 'music, voice message', de: 'Musik, Sprachnachricht', es: 'música, mensaje de voz' },
    aliases: ['oga'],
    use: 'common',
    kin: 'xiph',
  }),
  audio('opus', 'Opus', 'audio/opus', {
    search: { en: 'voice message, whatsapp', de: 'Sprachnachricht, WhatsApp', es: 'mensaje de voz, WhatsApp' },
    use: 'common',
    kin: 'xiph',
    also: ['ogg'],
  }),
  audio('m4a', 'MPEG-4 audio', 'audio/mp4', {
    search: { en: 'itunes, iphone, apple music, voice memo', de: 'iTunes, iPhone, Sprachmemo', es: 'iTunes, iPhone, nota de voz' },
    aliases: ['m4r'],
    use: 'common',
    tie: 'm4a',
    kin: 'iso media',
  }),
  audio('m4b', 'MPEG-4 audiobook', 'audio/mp4', {
    search: { en: 'audio book', de: 'Hörbuch', es: 'audiolibro' },
    tie: 'm4a',
    kin: 'iso media',
  }),
  audio('aac', 'Advanced Audio Coding', 'audio/aac', { aliases: ['adts'], use: 'common' }),
  audio('ac3', 'Dolby Digital', 'audio/ac3', { kin: 'dolby' }),
  audio('eac3', 'Dolby Digital Plus', 'audio/eac3', { kin: 'dolby' }),
  audio('aiff', 'Apple audio (AIFF)', 'audio/aiff', { aliases: ['aif', 'aifc'], signatures: [riff('FORM', 'AIFF'), riff('FORM', 'AIFC')] }),
  audio('wma', 'Windows Media audio', 'audio/x-ms-wma', { kin: 'windows media' }),
  audio('mka', 'Matroska audio', 'audio/x-matroska', { aliases: ['weba'], kin: 'matroska' }),
  audio('au', 'Sun audio', 'audio/basic', { aliases: ['snd'], signatures: ['.snd\0\0'] }),
  audio('caf', 'Apple Core Audio', 'audio/x-caf', { signatures: ['caff\0\x01'] }),
  audio('amr', 'Adaptive Multi-Rate speech', 'audio/amr', {
    search: { en: 'voice memo, phone', de: 'Sprachmemo, Handy', es: 'nota de voz, móvil' },
    aliases: ['awb'],
    signatures: ['#!AMR\n', '#!AMR-WB\n'],
  }),
  audio('wv', 'WavPack', 'audio/x-wavpack', { signatures: ['wvpk'] }),
  audio('tta', 'True Audio', 'audio/x-tta', { signatures: ['TTA1'] }),
  audio('mp2', 'MPEG audio, layer 2', 'audio/mpeg', { tie: 'mp2', kin: 'mpeg audio' }),
  audio('w64', 'Sony Wave64', 'audio/x-w64', { signatures: ['riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0'] }),
  audio('spx', 'Speex', 'audio/ogg', { tie: 'speex', kin: 'xiph', also: ['ogg'] }),
  // ETSI TS 102 114: the sync word as bytes and as 14-bit words, in both orders.
  rare('dts', 'DTS surround sound', 'audio/vnd.dts', {
    signatures: ['\x7f\xfe\x80\x01', '\xfe\x7f\x01\x80', '\x1f\xff\xe8\0', '\xff\x1f\0\xe8'],
  }),
  rare('thd', 'Dolby TrueHD', 'audio/vnd.dolby.mlp', { aliases: ['truehd'], kin: 'mlp', signatures: [[[4, '\xf8\x72\x6f\xba']]] }),
  rare('mlp', 'Meridian Lossless Packing', 'audio/vnd.dolby.mlp', { kin: 'mlp', signatures: [[[4, '\xf8\x72\x6f\xbb']]] }),
  rare('mpc', 'Musepack', 'audio/x-musepack', { signatures: ['MPCK', 'MP+\x07', 'MP+\x17'] }),
  rare('ape', "Monkey's Audio", 'audio/x-ape', { looks: isApe }),
  rare('dsf', 'DSD stream file', 'audio/x-dsf', { kin: 'dsd', signatures: ['DSD \x1c\0\0\0\0\0\0\0'] }),
  rare('dff', 'DSD interchange file', 'audio/x-dff', {
    kin: 'dsd',
    signatures: [
      [
        [0, 'FRM8'],
        [12, 'DSD '],
      ],
    ],
  }),
  rare('voc', 'Creative Voice', 'audio/x-voc', { signatures: ['Creative Voice File\x1a'] }),
  rare('gsm', 'GSM speech', 'audio/x-gsm', { looks: isGsm }),
  rare('sox', 'SoX audio', 'audio/x-sox', { signatures: ['.SoX', 'XoS.'] }),
  // BICSF: the machine's number, little and big endian.
  rare('sf', 'IRCAM audio', 'audio/x-ircam', {
    aliases: ['ircam'],
    signatures: [
      '\x64\xa3\x01\0',
      '\x64\xa3\x02\0',
      '\x64\xa3\x03\0',
      '\x64\xa3\x04\0',
      '\0\x01\xa3\x64',
      '\0\x02\xa3\x64',
      '\0\x03\xa3\x64',
      '\0\x04\xa3\x64',
    ],
  }),
  rare('adx', 'CRI ADX', 'audio/x-adx', { looks: isAdx }),
  rare('8svx', 'Amiga 8SVX', 'audio/x-8svx', { aliases: ['svx'], signatures: [riff('FORM', '8SVX')] }),
  rare('avr', 'Audio Visual Research', 'audio/x-avr', { signatures: ['2BIT'] }),
  rare('sph', 'NIST SPHERE speech', 'audio/x-nist', { aliases: ['nist'], signatures: ['NIST_1A\n'] }),
  rare('pvf', 'Portable Voice Format', 'audio/x-pvf', { signatures: ['PVF1\n'] }),
  rare('hcom', 'Macintosh HCOM', 'audio/x-hcom', {
    signatures: [
      [
        [65, 'FSSD'],
        [128, 'HCOM'],
      ],
    ],
  }),
  rare('mid', 'MIDI', 'audio/midi', {
    search: { en: 'notes, keyboard, karaoke', de: 'Noten, Keyboard, Karaoke', es: 'notas, teclado, karaoke' },
    aliases: ['midi', 'kar', 'smf'],
    signatures: ['MThd\0\0\0\x06'],
  }),
  // ProTracker and its kin: the mark behind 31 samples and 128 positions.
  rare('mod', 'ProTracker module', 'audio/x-mod', {
    kin: 'tracker',
    signatures: ['M.K.', 'M!K!', 'FLT4', '4CHN', '6CHN', '8CHN'].map((mark) => [[1080, mark]] as const),
  }),
  rare('xm', 'FastTracker 2 module', 'audio/x-xm', { kin: 'tracker', signatures: ['Extended Module: '] }),
];
