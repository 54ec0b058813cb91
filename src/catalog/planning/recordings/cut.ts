/**
 * Whether the end of a recording is missing, as when a download or a camera stopped: programs convert what is left, and say nothing.
 * Read from the sizes that the container states; where it states none, from the last frame or page.
 */
import type { Facts } from '../../engine.ts';
import type { Pieces } from '../pieces.ts';
import { aiffIsCut, asfIsCut, auIsCut, boxesAreCut, cafIsCut, flvIsCut, matroskaIsCut, riffIsCut, w64IsCut } from './chunks.ts';
import { flacIsCut, framesAreCut, oggIsCut } from './tails.ts';

/** Undefined: no. */
type IsCut = (file: Pieces) => boolean;

const of = (formats: string, isCut: IsCut) => formats.split(' ').map((format) => [format, isCut] as const);
const CUT: ReadonlyMap<string, IsCut> = new Map([
  ...of('mp4 m4v mov m4a m4b 3gp 3g2 f4v ismv mj2', boxesAreCut),
  ...of('mkv webm mka', matroskaIsCut),
  ...of('wav avi amv', riffIsCut),
  ...of('aiff', aiffIsCut),
  ...of('au', auIsCut),
  ...of('caf', cafIsCut),
  ...of('w64', w64IsCut),
  ...of('wma wmv', asfIsCut),
  ...of('flv', flvIsCut),
  ...of('flac', flacIsCut),
  ...of('ogg opus spx ogv', oggIsCut),
  ...of('mp3 mp2 aac ac3 eac3', framesAreCut),
]);

/** @returns `cutOff` where the file is shorter than it says */
export const cutOffIn = (format: string, file: Pieces): Facts => (CUT.get(format)?.(file) === true ? { cutOff: true } : {});
