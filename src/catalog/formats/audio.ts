/** Sound. An Ogg file may contain any of Xiph's audio codecs. */
import { isAdx, isApe, isGsm } from '../looks/audio.ts';
import { type Format, format, type Traits } from './format.ts';
import { riff } from './riff.ts';

const audio = (id: string, mime: string, traits?: Traits) => format('audio', id, mime, traits);
const rare = (id: string, mime: string, traits?: Traits) => audio(id, mime, { use: 'rare', ...traits });

export const sounds: readonly Format[] = [
  audio('mp3', 'audio/mpeg', { aliases: ['mpga', 'mpa'], use: 'common', kin: 'mpeg audio' }),
  audio('wav', 'audio/wav', {
    aliases: ['wave', 'bwf', 'rf64', 'amb'],
    use: 'common',
    signatures: ['RIFF', 'RIFX', 'RF64', 'BW64'].map((container) => riff(container, 'WAVE')),
  }),
  audio('flac', 'audio/flac', { use: 'common', signatures: ['fLaC'] }),
  audio('ogg', 'audio/ogg', { aliases: ['oga'], use: 'common', kin: 'xiph' }),
  audio('opus', 'audio/opus', { use: 'common', kin: 'xiph', also: ['ogg'] }),
  audio('m4a', 'audio/mp4', { aliases: ['m4r'], use: 'common', tie: 'm4a', kin: 'iso media' }),
  audio('m4b', 'audio/mp4', { tie: 'm4a', kin: 'iso media' }),
  audio('aac', 'audio/aac', { aliases: ['adts'], use: 'common' }),
  audio('ac3', 'audio/ac3', { kin: 'dolby' }),
  audio('eac3', 'audio/eac3', { kin: 'dolby' }),
  audio('aiff', 'audio/aiff', { aliases: ['aif', 'aifc'], signatures: [riff('FORM', 'AIFF'), riff('FORM', 'AIFC')] }),
  audio('wma', 'audio/x-ms-wma', { kin: 'windows media' }),
  audio('mka', 'audio/x-matroska', { aliases: ['weba'], kin: 'matroska' }),
  audio('au', 'audio/basic', { aliases: ['snd'], signatures: ['.snd\0\0'] }),
  audio('caf', 'audio/x-caf', { signatures: ['caff\0\x01'] }),
  audio('amr', 'audio/amr', { aliases: ['awb'], signatures: ['#!AMR\n', '#!AMR-WB\n'] }),
  audio('wv', 'audio/x-wavpack', { signatures: ['wvpk'] }),
  audio('tta', 'audio/x-tta', { signatures: ['TTA1'] }),
  audio('mp2', 'audio/mpeg', { tie: 'mp2', kin: 'mpeg audio' }),
  audio('w64', 'audio/x-w64', { signatures: ['riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0'] }),
  audio('spx', 'audio/ogg', { tie: 'speex', kin: 'xiph', also: ['ogg'] }),
  // ETSI TS 102 114: the sync word as bytes and as 14-bit words, in both orders.
  rare('dts', 'audio/vnd.dts', { signatures: ['\x7f\xfe\x80\x01', '\xfe\x7f\x01\x80', '\x1f\xff\xe8\0', '\xff\x1f\0\xe8'] }),
  rare('thd', 'audio/vnd.dolby.mlp', { aliases: ['truehd'], kin: 'mlp', signatures: [[[4, '\xf8\x72\x6f\xba']]] }),
  rare('mlp', 'audio/vnd.dolby.mlp', { kin: 'mlp', signatures: [[[4, '\xf8\x72\x6f\xbb']]] }),
  rare('mpc', 'audio/x-musepack', { signatures: ['MPCK', 'MP+\x07', 'MP+\x17'] }),
  rare('ape', 'audio/x-ape', { looks: isApe }),
  rare('dsf', 'audio/x-dsf', { kin: 'dsd', signatures: ['DSD \x1c\0\0\0\0\0\0\0'] }),
  rare('dff', 'audio/x-dff', {
    kin: 'dsd',
    signatures: [
      [
        [0, 'FRM8'],
        [12, 'DSD '],
      ],
    ],
  }),
  rare('voc', 'audio/x-voc', { signatures: ['Creative Voice File\x1a'] }),
  rare('gsm', 'audio/x-gsm', { looks: isGsm }),
  rare('sox', 'audio/x-sox', { signatures: ['.SoX', 'XoS.'] }),
  // BICSF: the machine's number, little and big endian.
  rare('sf', 'audio/x-ircam', {
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
  rare('adx', 'audio/x-adx', { looks: isAdx }),
  rare('8svx', 'audio/x-8svx', { aliases: ['svx'], signatures: [riff('FORM', '8SVX')] }),
  rare('avr', 'audio/x-avr', { signatures: ['2BIT'] }),
  rare('sph', 'audio/x-nist', { aliases: ['nist'], signatures: ['NIST_1A\n'] }),
  rare('pvf', 'audio/x-pvf', { signatures: ['PVF1\n'] }),
  rare('hcom', 'audio/x-hcom', {
    signatures: [
      [
        [65, 'FSSD'],
        [128, 'HCOM'],
      ],
    ],
  }),
  rare('mid', 'audio/midi', { aliases: ['midi', 'kar', 'smf'], signatures: ['MThd\0\0\0\x06'] }),
  // ProTracker and its kin: the mark behind 31 samples and 128 positions.
  rare('mod', 'audio/x-mod', {
    kin: 'tracker',
    signatures: ['M.K.', 'M!K!', 'FLT4', '4CHN', '6CHN', '8CHN'].map((mark) => [[1080, mark]] as const),
  }),
  rare('xm', 'audio/x-xm', { kin: 'tracker', signatures: ['Extended Module: '] }),
];
