/** What programs note about a file that they convert all the same. */
import type { EngineWarning, Facts } from '../engine.ts';

export const CUT_JPEG: EngineWarning = {
  code: 'file_cut_off',
  message: 'The end of the JPEG is missing: the missing part of the picture is grey or coarse.',
};

const CUT_RECORDING: EngineWarning = {
  code: 'file_cut_off',
  message: 'The end of the file is missing: the result has what is left of the recording.',
};

/** @param facts of a file that was looked through */
export const noticedIn = ({ cutOff }: Facts): readonly EngineWarning[] => (cutOff === true ? [CUT_RECORDING] : []);

/** Whether a program says so, in libjpeg's words, whatever program has loaded that. */
export const saysCutJpeg = (words: string): boolean => words.toLowerCase().includes('premature end of jpeg');

/** @param stderr of a program that has succeeded */
export const noticedBy = (stderr: string): readonly EngineWarning[] => (saysCutJpeg(stderr) ? [CUT_JPEG] : []);
