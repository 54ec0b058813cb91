/** Video. `.m4v` is MP4 with another extension. */
import {
  isAnnexB,
  isAv1Stream,
  isFlc,
  isH261Stream,
  isH263Stream,
  isHevcStream,
  isMpeg1Stream,
  isMpeg2Stream,
  isMpeg4Stream,
  isSwf,
} from '../looks/video.ts';
import { type Format, format, type Traits } from './format.ts';
import { riff } from './riff.ts';

const video = (id: string, mime: string, traits?: Traits) => format('video', id, mime, traits);
const rare = (id: string, mime: string, traits?: Traits) => video(id, mime, { use: 'rare', ...traits });

export const videos: readonly Format[] = [
  video('mp4', 'video/mp4', { aliases: ['mpg4', 'mp4v'], use: 'common', kin: 'iso media', also: ['m4v'] }),
  video('m4v', 'video/x-m4v', { kin: 'iso media' }),
  video('mov', 'video/quicktime', { aliases: ['qt', 'mqv'], use: 'common', kin: 'iso media' }),
  video('mkv', 'video/x-matroska', { aliases: ['mk3d'], use: 'common', kin: 'matroska' }),
  video('webm', 'video/webm', { use: 'common', kin: 'matroska' }),
  video('avi', 'video/x-msvideo', {
    aliases: ['divx', 'xvid'],
    use: 'common',
    signatures: ['RIFF', 'RIFX', 'RF64', 'BW64'].map((container) => riff(container, 'AVI ')),
  }),
  video('flv', 'video/x-flv', { signatures: ['FLV\x01'] }),
  video('wmv', 'video/x-ms-wmv', { aliases: ['asf', 'wm'], kin: 'windows media' }),
  video('mpg', 'video/mpeg', { aliases: ['mpeg', 'mpe', 'vob', 'm2p', 'tod'], kin: 'mpeg' }),
  video('ts', 'video/mp2t', { aliases: ['m2t', 'trp', 'tp'], kin: 'mpeg' }),
  video('m2ts', 'video/mp2t', { aliases: ['mts'], kin: 'mpeg' }),
  video('3gp', 'video/3gpp', { aliases: ['3gpp'], kin: 'iso media' }),
  video('3g2', 'video/3gpp2', { aliases: ['3gp2'], kin: 'iso media' }),
  video('ogv', 'video/ogg', { aliases: ['ogm', 'ogx'], kin: 'xiph' }),
  video('m2v', 'video/mpeg', { aliases: ['mpv'], kin: 'mpeg', looks: isMpeg2Stream }),
  rare('m1v', 'video/mpeg', { kin: 'mpeg', looks: isMpeg1Stream }),
  rare('f4v', 'video/x-f4v', { kin: 'iso media' }),
  // SMPTE 377-1: the label of a partition pack.
  rare('mxf', 'application/mxf', { signatures: ['\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02'] }),
  // IEC 61834: the header block, and the first subcode block behind it.
  rare('dv', 'video/x-dv', {
    signatures: [
      [
        [0, '\x1f\x07\0'],
        [80, '\x3f\x07\0'],
      ],
    ],
  }),
  // SMPTE 360: the map packet.
  rare('gxf', 'application/gxf', {
    signatures: [
      [
        [0, '\0\0\0\0\x01\xbc'],
        [14, '\xe1\xe2'],
      ],
    ],
  }),
  rare('nut', 'video/x-nut', { signatures: ['nut/multimedia container\0'] }),
  rare('ivf', 'video/x-ivf', { signatures: ['DKIF\0\0'] }),
  rare('y4m', 'video/x-yuv4mpeg', { signatures: ['YUV4MPEG2 '] }),
  rare('swf', 'application/vnd.adobe.flash.movie', { looks: isSwf }),
  rare('rm', 'application/vnd.rn-realmedia', { aliases: ['rmvb'], signatures: ['.RMF\0\0\0'] }),
  rare('wtv', 'video/x-ms-wtv', { signatures: ['\xb7\xd8\0\x20\x37\x49\xda\x11\xa6\x4e\0\x07\xe9\x5e\xad\x8d'] }),
  rare('h264', 'video/h264', { aliases: ['264', 'avc'], looks: isAnnexB }),
  rare('hevc', 'video/h265', { aliases: ['h265', '265'], looks: isHevcStream }),
  rare('obu', 'video/av1', { looks: isAv1Stream }),
  rare('ismv', 'video/vnd.ms-sstr-ismv', { kin: 'iso media' }),
  rare('h261', 'video/h261', { looks: isH261Stream }),
  rare('h263', 'video/h263', { looks: isH263Stream }),
  rare('m4e', 'video/mp4v-es', { aliases: ['mpeg4'], looks: isMpeg4Stream }),
  // ISO 15444-3: the signature box of JPEG 2000, then the brand.
  rare('mj2', 'video/mj2', {
    aliases: ['mjp2'],
    kin: 'iso media',
    signatures: [
      [
        [0, '\0\0\0\x0cjP  \r\n\x87\n'],
        [16, 'ftypmjp2'],
      ],
    ],
  }),
  rare('amv', 'video/x-amv', { signatures: [riff('RIFF', 'AMV ')] }),
  rare('roq', 'video/x-roq', { signatures: ['\x84\x10\xff\xff\xff\xff'] }),
  rare('flc', 'video/x-flic', { aliases: ['fli', 'flic'], looks: isFlc }),
  rare('smj', 'video/x-smjpeg', { signatures: ['\0\x0aSMJPEG'] }),
  rare('cpk', 'video/x-film-cpk', {
    aliases: ['film'],
    signatures: [
      [
        [0, 'FILM'],
        [16, 'FDSC'],
      ],
    ],
  }),
  rare('mjpeg', 'video/x-motion-jpeg', { aliases: ['mjpg'] }),
];
