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

const video = (id: string, name: string, mime: string, traits?: Traits) => format('video', id, name, mime, traits);
const rare = (id: string, name: string, mime: string, traits?: Traits) => video(id, name, mime, { use: 'rare', ...traits });

export const videos: readonly Format[] = [
  video('mp4', 'MPEG-4 video', 'video/mp4', {
    search: { en: 'film, movie, clip, youtube, whatsapp', de: 'Film, Clip, YouTube, WhatsApp', es: 'película, clip, YouTube, WhatsApp' },
    aliases: ['mpg4', 'mp4v'],
    use: 'common',
    kin: 'iso media',
    also: ['m4v'],
  }),
  video('m4v', 'Apple MPEG-4 video', 'video/x-m4v', { kin: 'iso media' }),
  video('mov', 'Apple QuickTime', 'video/quicktime', {
    search: { en: 'film, iphone video, apple', de: 'Film, iPhone-Video, Apple', es: 'película, vídeo de iPhone, Apple' },
    aliases: ['qt', 'mqv'],
    use: 'common',
    kin: 'iso media',
  }),
  video('mkv', 'Matroska video', 'video/x-matroska', {
    search: { en: 'film, movie', de: 'Film', es: 'película' },
    aliases: ['mk3d'],
    use: 'common',
    kin: 'matroska',
  }),
  video('webm', 'WebM', 'video/webm', {
    search: { en: 'film, website video', de: 'Film, Video für Webseiten', es: 'película, vídeo para la web' },
    use: 'common',
    kin: 'matroska',
  }),
  video('avi', 'Audio Video Interleave', 'video/x-msvideo', {
    search: { en: 'film, movie, old video', de: 'Film, altes Video', es: 'película, vídeo antiguo' },
    aliases: ['divx', 'xvid'],
    use: 'common',
    signatures: ['RIFF', 'RIFX', 'RF64', 'BW64'].map((container) => riff(container, 'AVI ')),
  }),
  video('flv', 'Flash video', 'video/x-flv', { signatures: ['FLV\x01'] }),
  video('wmv', 'Windows Media video', 'video/x-ms-wmv', { aliases: ['asf', 'wm'], kin: 'windows media' }),
  video('mpg', 'MPEG video', 'video/mpeg', {
    search: { en: 'film, dvd', de: 'Film, DVD', es: 'película, DVD' },
    aliases: ['mpeg', 'mpe', 'vob', 'm2p', 'tod'],
    kin: 'mpeg',
  }),
  video('ts', 'MPEG transport stream', 'video/mp2t', { aliases: ['m2t', 'trp', 'tp'], kin: 'mpeg' }),
  video('m2ts', 'Blu-ray and AVCHD stream', 'video/mp2t', {
    search: { en: 'camcorder', de: 'Camcorder', es: 'videocámara' },
    aliases: ['mts'],
    kin: 'mpeg',
  }),
  video('3gp', 'Mobile phone video (3GPP)', 'video/3gpp', { aliases: ['3gpp'], kin: 'iso media' }),
  video('3g2', 'Mobile phone video (3GPP2)', 'video/3gpp2', { aliases: ['3gp2'], kin: 'iso media' }),
  video('ogv', 'Ogg video', 'video/ogg', { aliases: ['ogm', 'ogx'], kin: 'xiph' }),
  video('m2v', 'MPEG-2 video stream', 'video/mpeg', { aliases: ['mpv'], kin: 'mpeg', looks: isMpeg2Stream }),
  rare('m1v', 'MPEG-1 video stream', 'video/mpeg', { kin: 'mpeg', looks: isMpeg1Stream }),
  rare('f4v', 'Flash MPEG-4 video', 'video/x-f4v', { kin: 'iso media' }),
  // SMPTE 377-1: the label of a partition pack.
  rare('mxf', 'Material Exchange Format', 'application/mxf', { signatures: ['\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02'] }),
  // IEC 61834: the header block, and the first subcode block behind it.
  rare('dv', 'Digital video camera', 'video/x-dv', {
    signatures: [
      [
        [0, '\x1f\x07\0'],
        [80, '\x3f\x07\0'],
      ],
    ],
  }),
  // SMPTE 360: the map packet.
  rare('gxf', 'General Exchange Format', 'application/gxf', {
    signatures: [
      [
        [0, '\0\0\0\0\x01\xbc'],
        [14, '\xe1\xe2'],
      ],
    ],
  }),
  rare('nut', 'NUT container', 'video/x-nut', { signatures: ['nut/multimedia container\0'] }),
  rare('ivf', 'VP8 and VP9 stream', 'video/x-ivf', { signatures: ['DKIF\0\0'] }),
  rare('y4m', 'YUV4MPEG2', 'video/x-yuv4mpeg', { signatures: ['YUV4MPEG2 '] }),
  rare('swf', 'Adobe Flash', 'application/vnd.adobe.flash.movie', { looks: isSwf }),
  rare('rm', 'RealMedia', 'application/vnd.rn-realmedia', { aliases: ['rmvb'], signatures: ['.RMF\0\0\0'] }),
  rare('wtv', 'Windows recorded TV', 'video/x-ms-wtv', { signatures: ['\xb7\xd8\0\x20\x37\x49\xda\x11\xa6\x4e\0\x07\xe9\x5e\xad\x8d'] }),
  rare('h264', 'H.264 stream', 'video/h264', { aliases: ['264', 'avc'], looks: isAnnexB }),
  rare('hevc', 'H.265 stream', 'video/h265', { aliases: ['h265', '265'], looks: isHevcStream }),
  rare('obu', 'AV1 stream', 'video/av1', { looks: isAv1Stream }),
  rare('ismv', 'Smooth Streaming video', 'video/vnd.ms-sstr-ismv', { kin: 'iso media' }),
  rare('h261', 'H.261 stream', 'video/h261', { looks: isH261Stream }),
  rare('h263', 'H.263 stream', 'video/h263', { looks: isH263Stream }),
  rare('m4e', 'MPEG-4 part 2 stream', 'video/mp4v-es', { aliases: ['mpeg4'], looks: isMpeg4Stream }),
  // ISO 15444-3: the signature box of JPEG 2000, then the brand.
  rare('mj2', 'Motion JPEG 2000', 'video/mj2', {
    aliases: ['mjp2'],
    kin: 'iso media',
    signatures: [
      [
        [0, '\0\0\0\x0cjP  \r\n\x87\n'],
        [16, 'ftypmjp2'],
      ],
    ],
  }),
  rare('amv', 'AMV player video', 'video/x-amv', { signatures: [riff('RIFF', 'AMV ')] }),
  rare('roq', 'id Software RoQ', 'video/x-roq', { signatures: ['\x84\x10\xff\xff\xff\xff'] }),
  rare('flc', 'Autodesk FLIC', 'video/x-flic', { aliases: ['fli', 'flic'], looks: isFlc }),
  rare('smj', 'Loki SMJPEG', 'video/x-smjpeg', { signatures: ['\0\x0aSMJPEG'] }),
  rare('cpk', 'Sega FILM', 'video/x-film-cpk', {
    aliases: ['film'],
    signatures: [
      [
        [0, 'FILM'],
        [16, 'FDSC'],
      ],
    ],
  }),
  rare('mjpeg', 'Motion JPEG', 'video/x-motion-jpeg', { aliases: ['mjpg'] }),
];
