/** Video. `.m4v` is MP4 with another extension. */
import { type Format, format, type Traits } from './format.ts';
import { riff } from './riff.ts';

const video = (id: string, mime: string, traits?: Traits) => format('video', id, mime, traits);

export const videos: readonly Format[] = [
  video('mp4', 'video/mp4', { kin: 'iso media', also: ['m4v'] }),
  video('m4v', 'video/x-m4v', { kin: 'iso media' }),
  video('mov', 'video/quicktime', { aliases: ['qt'], kin: 'iso media' }),
  video('mkv', 'video/x-matroska', { kin: 'matroska' }),
  video('webm', 'video/webm', { kin: 'matroska' }),
  video('avi', 'video/x-msvideo', { signatures: ['RIFF', 'RIFX', 'RF64', 'BW64'].map((container) => riff(container, 'AVI ')) }),
  video('flv', 'video/x-flv', { signatures: ['FLV\x01'] }),
  video('wmv', 'video/x-ms-wmv', { aliases: ['asf'], kin: 'windows media' }),
  video('mpg', 'video/mpeg', { aliases: ['mpeg', 'vob'], kin: 'mpeg' }),
  video('ts', 'video/mp2t', { aliases: ['m2ts', 'mts'], kin: 'mpeg' }),
  video('3gp', 'video/3gpp', { aliases: ['3g2'], kin: 'iso media' }),
  video('ogv', 'video/ogg', { kin: 'xiph' }),
];
