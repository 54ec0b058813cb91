/** The languages that text in pictures is read in. */

/** Tesseract's codes of the languages that every installation has. Of several it would leave out one that it lacks, and say nothing. */
export const OCR_LANGUAGES: readonly string[] = 'eng deu fra spa ita por nld pol rus ukr tur ara hin jpn kor chi_sim chi_tra'.split(' ');
