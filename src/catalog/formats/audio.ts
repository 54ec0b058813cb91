/** Sound. An Ogg file may contain any of Xiph's audio codecs. */
import { type Format, format, type Traits } from './format.ts';
import { riff } from './riff.ts';

const audio = (id: string, mime: string, traits?: Traits) => format('audio', id, mime, traits);

export const sounds: readonly Format[] = [
  audio('mp3', 'audio/mpeg', { kin: 'mpeg audio' }),
  audio('wav', 'audio/wav', { signatures: ['RIFF', 'RIFX', 'RF64', 'BW64'].map((container) => riff(container, 'WAVE')) }),
  audio('flac', 'audio/flac', { signatures: ['fLaC'] }),
  audio('ogg', 'audio/ogg', { aliases: ['oga'], kin: 'xiph' }),
  audio('opus', 'audio/opus', { kin: 'xiph', also: ['ogg'] }),
  audio('m4a', 'audio/mp4', { tie: 'm4a', kin: 'iso media' }),
  audio('m4b', 'audio/mp4', { tie: 'm4a', kin: 'iso media' }),
  audio('aac', 'audio/aac'),
  audio('ac3', 'audio/ac3', { kin: 'dolby' }),
  audio('eac3', 'audio/eac3', { kin: 'dolby' }),
  audio('aiff', 'audio/aiff', { aliases: ['aif', 'aifc'], signatures: [riff('FORM', 'AIFF'), riff('FORM', 'AIFC')] }),
  audio('wma', 'audio/x-ms-wma', { kin: 'windows media' }),
  audio('mka', 'audio/x-matroska', { kin: 'matroska' }),
  audio('au', 'audio/basic', { aliases: ['snd'], signatures: ['.snd\0\0'] }),
  audio('caf', 'audio/x-caf', { signatures: ['caff\0\x01'] }),
  audio('amr', 'audio/amr', { signatures: ['#!AMR\n', '#!AMR-WB\n'] }),
  audio('wv', 'audio/x-wavpack', { signatures: ['wvpk'] }),
  audio('tta', 'audio/x-tta', { signatures: ['TTA1'] }),
  audio('mp2', 'audio/mpeg', { tie: 'mp2', kin: 'mpeg audio' }),
  audio('w64', 'audio/x-w64', { signatures: ['riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0'] }),
  audio('spx', 'audio/ogg', { tie: 'speex', kin: 'xiph', also: ['ogg'] }),
];
